import CommandLineTool
import HTTPServing
import Images
import PostgreSQL
import Support

/// The options of `analysis-gateway`. Each may also stand in the configuration file under its own name.
enum GatewayOptions {
  /// The version of the program.
  static let version = ProductVersion.current

  static let connections = Option(
    "database-connections", .int(in: 1...100), default: 8, key: "database-connections",
    help:
      "Connections to the database, beside the one that listens and the one that asks whether it is there.")
  static let listen = Option(
    "listen", .listenAddress, default: ListenAddress(host: "127.0.0.1", port: 8090),
    environment: "ANALYSIS_LISTEN", key: "listen", help: "Where to listen; with port 0 on any free port.")
  static let behindTLS = Flag(
    "behind-tls", environment: "ANALYSIS_BEHIND_TLS", key: "behind-tls",
    help: "Say that apps reach it by HTTPS alone, through a proxy: then --listen may name any address.")
  static let certificate = Option<String?>(
    "tls-certificate", .path, environment: "ANALYSIS_TLS_CERTIFICATE", key: "tls-certificate",
    help:
      "File with the certificate and those of its authorities (PEM): apps are spoken to by TLS. Needs --tls-key."
  )
  static let privateKey = Option<String?>(
    "tls-key", .path, environment: "ANALYSIS_TLS_KEY", key: "tls-key",
    help: "File (mode 0600) with the certificate's private key (PEM); a bare name is a service credential.")
  static let deadline = Option(
    "deadline", .duration(in: .zero...(.seconds(120))), default: .seconds(25),
    environment: "ANALYSIS_DEADLINE",
    key: "deadline",
    help: "How long an app waits for its analysis; then it is answered 202 with an address to ask at.")
  static let grace = Option(
    "grace", .duration(in: .zero...(.seconds(3600))), default: .seconds(30), key: "grace",
    help: "Time for requests that were accepted to finish after SIGTERM.")
  static let rate = Option(
    "rate", .int(in: 0...1_000_000), default: 60, key: "rate",
    help:
      "Photos that a user may send at once, and then as many evenly over each minute; 0 for any number. A question counts "
      + "a tenth of one.")
  static let maxImage = Option(
    "max-image", .byteSize(in: 1...10_000_000), default: 10_000_000, key: "max-image",
    help: "Bytes of a photo at most.")
  static let maxDimension = Option(
    "max-dimension", .int(in: 1...65_500), key: "max-dimension",
    help: "Scale photos down to so many pixels on the longer side.")
  static let photoMemory = Option(
    "photo-memory", .byteSize(in: (16 << 20)...(64 << 30)), default: 256 << 20, key: "photo-memory",
    help: "Bytes of photos in memory at most, all apps together; beyond them 503 is answered.")
  static let clients = Option(
    "connections", .int(in: 1...1_000_000), key: "connections",
    help:
      "Connections of apps at once; by default as many as the limit of open files allows, less some of its own."
  )
  static let origins = Option<[String]>(
    repeating: "allow-origin",
    ValueFormat(
      name: "ORIGIN", read: { CrossOrigin.isOrigin($0) ? $0 : nil },
      else: "is not an origin in small letters, such as https://app.example.org", text: { $0 }),
    key: "allow-origin",
    help: "A site whose pages may ask from a browser, such as https://app.example.org; without one none may.")
  static let keyFile = Option(
    "key-file", .path, environment: "ANALYSIS_KEY_FILE", key: "key-file",
    help:
      "File (mode 0600) with the keys under which photos are encrypted and shown to their users, by analysisctl keys; a bare "
      + "name is a service credential.")
  static let hearEnded = Flag(
    "hear-ended", inverted: true, default: true, key: "hear-ended",
    help: "Hear on a connection of its own which jobs have ended, from workers with --notify-ended.")
  static let metrics = ServiceOptions.metrics(port: 9466)

  /// All of them, in the order of the help.
  static let inputs: [any Input] = [
    ServiceOptions.config, ServiceOptions.database, SharedOptions.databaseProof, connections, listen,
    behindTLS, certificate, privateKey,
    deadline, grace, rate, maxImage, maxDimension, photoMemory, clients, origins, keyFile,
    SharedOptions.imageStore, hearEnded, metrics,
    ServiceOptions.metricsFromAnywhere, ServiceOptions.logLevel,
  ]

  /// The command: what it does is the caller's.
  static func command(run: @escaping @Sendable (Context) async throws -> ExitCode) -> Command {
    Command(
      "analysis-gateway",
      abstract: "Takes photos from apps by HTTP, queues them, and answers as the analysis endpoint does.",
      discussion: """
        An app logs in by a code of its user (analysisctl users code), or shows a token (analysisctl users token add), and
        sends a photo to POST /api/analyze. It is cleaned, queued for a worker, and answered within --deadline: with the
        analysis, or 202 and an address to ask at.
        On the loopback apps reach it through a proxy; at another address it speaks TLS itself (--tls-certificate), or
        the proxy is said to do it (--behind-tls).

        SIGTERM lets what was accepted finish within --grace, and new requests are answered 503; then those who still
        wait are given their address, and it ends.
        """,
      examples: [
        Example("analysis-gateway", "apps reach it through a proxy on this machine, until it is stopped"),
        Example(
          "analysis-gateway --listen 0.0.0.0:8443 --tls-certificate a.pem --tls-key a.key",
          "apps reach it by TLS"),
        Example("analysis-gateway --config /etc/analysis/gateway.conf", "read everything from a file"),
      ],
      inputs: inputs,
      exitCodes: [.done, .usage, .unreadableInput, .unreachable, .internalError, .permission],
      run: run)
  }
}
