public import CommandLineTool
public import HTTPServing
internal import HTTPTransfer
internal import Support

/// The options of `analysis-worker`. Each may also stand in the configuration file under its own name.
public enum WorkerOptions {
  /// The version of the program.
  public static let version = ProductVersion.current

  /// `--endpoint`.
  public static let endpoint = Option(
    "endpoint", .string, valueName: "url", environment: "ANALYSIS_ENDPOINT", key: "endpoint",
    help: "Base address of the endpoint.")
  static let endpointFor = Option(
    repeating: "endpoint-for", .string, valueName: "type=url", environment: "ANALYSIS_ENDPOINT_FOR",
    key: "endpoint-for", help: "Another endpoint for one type, for instance ear=https://ears.example.org.")
  static let dialect = Option(
    "dialect", .choice(Endpoint.Dialect.self), default: .server, environment: "ANALYSIS_DIALECT",
    key: "dialect",
    help: "Which of the endpoint's two spellings of paths and fields to speak.")
  /// `--credentials`.
  public static let credentials = Option(
    "credentials", .path, environment: "ANALYSIS_CREDENTIALS", key: "credentials",
    help:
      "File (mode 0600) with the service account's email and password; a bare name is a service credential.")
  /// `--key-file`.
  public static let keyFile = Option(
    "key-file", .path, environment: "ANALYSIS_KEY_FILE", key: "key-file",
    help:
      "File (mode 0600) with the keys of encrypted images, by analysisctl keys; a bare name is a service credential."
  )
  /// `--require-encryption`.
  public static let requireEncryption = Flag(
    "require-encryption", key: "require-encryption",
    help: "Send no image that is in plaintext in the database: its job is dead. It needs --key-file.")
  static let kinds = Option(
    repeating: "type", .choice(AnalysisKind.self), environment: "ANALYSIS_TYPES", key: "types",
    help: "Take on only this type of analysis; may be repeated.")
  /// `--concurrency`.
  public static let concurrency = Option(
    "concurrency", short: "c", .int(in: 1...4096), default: 64, environment: "ANALYSIS_CONCURRENCY",
    key: "concurrency",
    help: "Calls in flight at most; of several endpoints each keeps a part for itself.")
  /// `--prefetch`.
  public static let prefetch = Option(
    "prefetch", .int(in: 0...8192), default: 64, environment: "ANALYSIS_PREFETCH", key: "prefetch",
    help: "Jobs held with their images beyond those in flight.")
  /// `--image-memory`, in bytes.
  public static let imageMemory = Option(
    "image-memory", .byteSize(in: (16 << 20)...(16 << 30)), default: 128 << 20, key: "image-memory",
    help: "Bytes of images held at most.")
  /// `--deadline`.
  public static let deadline = Option(
    "deadline", .duration(in: .milliseconds(100)...(.seconds(3600))), default: .seconds(120),
    environment: "ANALYSIS_DEADLINE", key: "deadline", help: "Time that one call may take.")
  static let connectTimeout = Option(
    "connect-timeout", .duration(in: .milliseconds(100)...(.seconds(300))), default: .seconds(10),
    key: "connect-timeout", help: "Time to reach the endpoint or the database.")
  /// `--lease`.
  public static let leaseDuration = Option(
    "lease", .duration(in: .milliseconds(300)...(.seconds(3600))), default: .seconds(15), key: "lease",
    help: "How long a lease is held without a heartbeat, which comes three times as often, every 5s at least."
  )
  /// `--poll`.
  public static let poll = Option(
    "poll", .duration(in: .milliseconds(10)...(.seconds(60))), default: .seconds(1), key: "poll",
    help: "How often an idle worker looks for jobs.")
  /// `--grace`.
  public static let grace = Option(
    "grace", .duration(in: .zero...(.seconds(3600))), default: .seconds(25), key: "grace",
    help: "Time for calls in flight to finish after the first SIGTERM.")
  /// `--drain`.
  public static let drain = Flag("drain", help: "Work until nothing can run before the horizon, then exit.")
  /// `--drain-horizon`.
  public static let horizon = Option(
    "drain-horizon", .duration(in: .zero...(.seconds(86400))), default: .seconds(60), key: "drain-horizon",
    help: "With --drain: wait for jobs that are scheduled to run within this time.")
  /// `--listen`, `--no-listen`.
  public static let listen = Flag(
    "listen", inverted: true, default: true, key: "listen",
    help: "Listen for wake-ups on a connection of its own.")
  /// `--notify-ended`.
  public static let notifyEnded = Flag(
    "notify-ended", key: "notify-ended",
    help: "Notify whoever listens on analysis_ended of the jobs that have ended: their numbers alone.")
  /// `--webhooks-to-private`.
  public static let webhooksToPrivate = Flag(
    "webhooks-to-private", environment: "ANALYSIS_WEBHOOKS_TO_PRIVATE", key: "webhooks-to-private",
    help: "Send to webhooks at private addresses too: this machine's own and those of its network.")
  static let authorities = Option(
    "ca-file", .path, environment: "ANALYSIS_CA_FILE", key: "ca-file",
    help: "Certificate authorities to trust for the endpoint, instead of the system's.")
  static let pins = Option(
    repeating: "endpoint-pin", .string, valueName: "sha256//…", key: "endpoint-pins",
    help:
      "Call only an endpoint with this public key: the SHA-256 of its SubjectPublicKeyInfo in base64. Give the "
      + "next key too before it is changed.")
  /// `--endpoint-certificate`.
  public static let certificate = Option(
    "endpoint-certificate", .path, environment: "ANALYSIS_ENDPOINT_CERTIFICATE", key: "endpoint-certificate",
    help:
      "File (mode 0600) with the certificate and private key (PEM) by which the worker shows itself to the endpoint; a "
      + "bare name is a service credential.")
  static let newestVersion = Option(
    "endpoint-http", .choice(HTTPVersion.self), default: .http1, key: "endpoint-http",
    help:
      "The newest version of HTTP that is offered to the endpoint. 2 needs fewer connections and twice the "
      + "processor.")
  static let plainHTTP = Flag(
    "allow-plain-http", key: "allow-plain-http",
    help: "Allow an endpoint without TLS that is not this machine.")
  static let normalIDs = Option(
    repeating: "normal-id", .string, key: "normal-ids",
    help: "Ids of conditions that mean that nothing was found; default normal, healthy.")
  /// `--metrics`.
  public static let metrics = ServiceOptions.metrics(port: 9464)

  /// All of them, in the order of the help.
  static let inputs: [any Input] = [
    ServiceOptions.config, ServiceOptions.database, SharedOptions.databaseProof, endpoint, endpointFor,
    dialect, credentials, keyFile, SharedOptions.imageStore,
    requireEncryption, kinds, concurrency, prefetch, imageMemory, deadline, connectTimeout, leaseDuration,
    poll, grace, drain, horizon, listen, notifyEnded, webhooksToPrivate,
    authorities,
    pins, certificate, newestVersion, plainHTTP, normalIDs, metrics, ServiceOptions.metricsFromAnywhere,
    ServiceOptions.logLevel,
  ]

  /// The command: what it does is the caller's.
  public static func command(run: @escaping @Sendable (Context) async throws -> ExitCode) -> Command {
    Command(
      "analysis-worker",
      abstract: "Claims jobs from the queue, calls the endpoint, stores the results.",
      discussion: """
        Any number of workers may run, on any number of machines. SIGTERM stops the claims and lets calls in
        flight finish within --grace; a second one releases their jobs at once. A database that goes away is waited
        for: calls go on and their results are stored when it is back. A worker holds six connections to it, five
        with --no-listen.
        """,
      examples: [
        Example(
          "analysis-worker --endpoint https://model.example.org --credentials endpoint.credentials",
          "run until stopped"),
        Example("analysis-worker --drain --endpoint http://127.0.0.1:8080", "empty the queue and exit"),
        Example("analysis-worker --config /etc/analysis/worker.conf", "read everything from a file"),
      ],
      inputs: inputs,
      exitCodes: [.done, .usage, .unreadableInput, .unreachable, .internalError, .tryLater, .permission],
      run: run)
  }
}
