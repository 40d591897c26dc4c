import Glibc
public import TestSupport

/// A `model-endpoint` of the benchmarks' own, from the folder in which this program lies.
public final class EndpointProcess: Sendable {
  /// How it is spoken to.
  public enum Speech: Sendable {
    /// Plain HTTP.
    case plain
    /// TLS, with a certificate that this authority signs.
    case secured(Authority)
    /// TLS by `nghttpx` in front of it, as by a provider's proxy, and in it one version of HTTP.
    case proxied(Authority, HTTPVersion)
  }

  /// A version of HTTP, by its name in the TLS handshake; a client that does not take it is refused.
  public enum HTTPVersion: String, Sendable {
    /// A call at a time on each connection.
    case http1 = "http/1.1"
    /// Many calls at once on a connection.
    case http2 = "h2"
  }

  /// Where it is, for instance `http://127.0.0.1:41234`.
  public let url: String
  /// Who signed its certificate; the files are there as long as this is.
  private let signer: Authority?
  /// Whether it speaks HTTP/2 and nothing else.
  private let speaksHTTP2: Bool
  /// The endpoint and, before it, what stands in front of it.
  private let processes: [MeasuredProcess]

  /// Starts an endpoint and waits until it listens.
  ///
  /// - Parameters:
  ///   - delay: From the end of an upload to its answer.
  ///   - threads: Those that serve connections.
  ///   - arguments: More of its options.
  ///   - speech: How it is spoken to.
  public init(
    _ settings: BenchmarkSettings, delay: Duration = .zero, threads: Int = 1, arguments: [String] = [],
    speech: Speech = .plain
  ) async throws {
    var files: (certificate: String, key: String)?
    if case .proxied(_, .http2) = speech { speaksHTTP2 = true } else { speaksHTTP2 = false }
    switch speech {
    case .plain: signer = nil
    case .secured(let authority), .proxied(let authority, _):
      signer = authority
      files = (try await authority.certificate(names: "IP:127.0.0.1"), authority.key)
    }
    var secured: [String] = []
    if case .secured = speech, let files {
      secured = ["--tls-cert", files.certificate, "--tls-key", files.key]
    }
    let endpoint = try MeasuredProcess(
      settings.program("model-endpoint"),
      [
        "--port", "0", "--dialect", "guide", "--no-decode", "--threads", "\(threads)", "--delay",
        "\(Int(delay / .milliseconds(1)))ms",
      ] + secured + arguments)
    try await endpoint.wait(for: "listening") { output, _ in output.contains("\n") }
    let line = endpoint.outputSoFar.split(separator: "\n").first ?? ""
    guard let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      endpoint.send(SIGKILL)
      throw BenchmarkError("The endpoint did not say where it listens: \(line)")
    }
    guard case .proxied(_, let version) = speech, let files else {
      processes = [endpoint]
      url = "\(signer == nil ? "http" : "https")://127.0.0.1:\(port)"
      return
    }
    do {
      let front = try await Self.proxy(to: port, version, certificate: files.certificate, key: files.key)
      processes = [front.process, endpoint]
      url = "https://127.0.0.1:\(front.port)"
    } catch {
      endpoint.send(SIGKILL)
      throw error
    }
  }

  /// The file with the authority that a client has to trust; nil for plain HTTP.
  public var authority: String? { signer?.file }

  /// The options by which a worker calls it.
  public var workerOptions: [String] {
    ["--endpoint", url] + (authority.map { ["--ca-file", $0] } ?? [])
      + (speaksHTTP2 ? ["--endpoint-http", "2"] : [])
  }

  /// User and system seconds so far, of the endpoint and of what stands in front of it.
  public var seconds: Double { processes.reduce(0) { $0 + $1.usage.seconds } }

  /// Ends it.
  public func stop() async {
    for process in processes {
      process.send(SIGTERM)
      _ = await process.ended()
    }
  }

  /// At its defaults: it keeps connections to the endpoint, and takes 100 calls at once on one of HTTP/2.
  private static func proxy(
    to port: UInt16, _ version: HTTPVersion, certificate: String, key: String
  ) async throws -> (process: MeasuredProcess, port: UInt16) {
    guard let program = HelperProgram.find("/usr/sbin/nghttpx", "/usr/bin/nghttpx") else {
      throw BenchmarkError("nghttpx is missing; install the package nghttp2-proxy.")
    }
    let own = try FreePort.find()
    let process = try MeasuredProcess(
      program,
      [
        "--conf=/dev/null", "--single-process", "--frontend=127.0.0.1,\(own)", "--backend=127.0.0.1,\(port)",
        "--npn-list=\(version.rawValue)", "--accesslog-file=/dev/null",
        "--no-ocsp", key, certificate,
      ])
    try await process.wait(for: "listening") { _, errors in errors.contains("Created worker thread") }
    return (process, own)
  }
}
