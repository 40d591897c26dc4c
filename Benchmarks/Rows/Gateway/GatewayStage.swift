import BenchmarkKit
import Control
import Glibc
import Images
import PostgreSQL
import Queue
import TestSupport

/// An `analysis-gateway` with a worker behind it, and the endpoint that both ways lead to.
final class GatewayStage: Sendable {
  /// As many apps as the row has at once at most, each of a user of its own.
  static let mostApps = 1000

  private let endpoint: EndpointProcess
  private let template: BenchmarkDatabase
  private let photos: [[UInt8]]
  /// One for each user: of one the gateway takes few photos at once.
  private let tokens: [String]

  /// Makes users with tokens, and photos that a decoder takes; untimed.
  init(_ bench: Bench, photos count: Int) async throws {
    let drawn = try DrawnPictures(width: 480, height: 360, bytes: QueueFixture.usualBytes)
    photos = try (0..<count).map { try drawn.jpeg($0) }
    template = try await bench.cluster.freshDatabase(named: "gateway")
    _ = try await QueueFixture.make(in: template, pictures: [])
    let users = (0..<Self.mostApps).map { "app-\($0)" }
    tokens = try users.map { _ in try UserToken(shard: 0).text }
    let directory = UserDirectory(template.pool)
    for (user, token) in zip(users, tokens) {
      _ = try await directory.add(
        NewUser(reference: user, plan: "premium", zone: "UTC", name: nil, email: nil))
      _ = try await template.pool.query(
        "SELECT analysis.add_token(0::smallint, $1, sha256($2::text::bytea), NULL, NULL)",
        [.text(user), .text(token)])
    }
    endpoint = try await EndpointProcess(bench.settings)
  }

  /// Ends the endpoint; the databases are the runner's to drop.
  func end() async { await endpoint.stop() }

  /// So many apps send photos to the gateway, each its next when it was answered.
  func throughGateway(_ bench: Bench, apps: Int) async throws -> Sample {
    try await bench.withDatabase(named: "gateway_run", from: template) { database in
      try await bench.cluster.settle(database)
      let worker = try MeasuredProcess(
        bench.settings.program("analysis-worker"),
        [
          "--database", database.conninfo, "--endpoint", endpoint.url, "--notify-ended", "--concurrency",
          "256",
        ])
      defer { worker.send(SIGKILL) }
      let (gateway, port) = try await Self.start(bench, database, ["--rate", "0", "--deadline", "60s"])
      defer { gateway.send(SIGKILL) }
      let (uploads, meter) = try await bench.cluster.metered {
        try await self.uploads(bench, apps: apps, to: "http://127.0.0.1:\(port)", with: self.tokens)
      }
      gateway.send(SIGTERM)
      let ended = try await gateway.succeeded()
      worker.send(SIGTERM)
      _ = try await worker.succeeded()
      // An answer counts where it is an analysis: what is not would be a faster one.
      let stored = try await database.number("SELECT count(*) FROM analysis.result WHERE outcome = 1")
      guard stored >= uploads.uploads else {
        throw BenchmarkError("\(uploads.uploads) photos were answered, and \(stored) analyses are stored.")
      }
      return Sample(
        amount: Double(uploads.uploads), seconds: uploads.seconds, workerSeconds: ended.usage.seconds,
        serverSeconds: meter.serverSeconds, peakMemory: ended.usage.peakMemory, further: uploads.times)
    }
  }

  /// Starts a gateway, and waits until it listens.
  static func start(
    _ bench: Bench, _ database: BenchmarkDatabase, _ options: [String]
  ) async throws -> (MeasuredProcess, port: UInt16) {
    let gateway = try MeasuredProcess(
      bench.settings.program("analysis-gateway"),
      ["--database", database.conninfo, "--listen", "127.0.0.1:0"] + options)
    var port: UInt16?
    try await gateway.wait(for: "listening") { _, errors in
      port = errors.firstMatch(of: /Apps are served","address":"127\.0\.0\.1:([0-9]+)"/).flatMap {
        UInt16($0.1)
      }
      return port != nil
    }
    guard let port else { throw BenchmarkError("The gateway does not say where it listens.") }
    return (gateway, port)
  }

  /// The same photos to the endpoint itself.
  func direct(_ bench: Bench, apps: Int) async throws -> Sample {
    let uploads = try await uploads(bench, apps: apps, to: endpoint.url, with: [])
    return Sample(amount: Double(uploads.uploads), seconds: uploads.seconds, further: uploads.times)
  }

  private func uploads(
    _ bench: Bench, apps: Int, to url: String, with tokens: [String]
  ) async throws -> UploadReport {
    guard let program = HelperProgram.find("/usr/bin/wrk", "/usr/local/bin/wrk") else {
      throw BenchmarkError("wrk is missing; install the package wrk.")
    }
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let script = try UploadScript.write(photos, to: folder.url, tokens: tokens)
    // Long enough that all are answered.
    let seconds = bench.size(20, quick: 2) + apps / 40
    let ended = try await MeasuredProcess.run(
      program,
      [
        "--threads", "1", "--connections", "\(apps)", "--duration", "\(seconds)s",
        "--timeout",
        "60s", "--latency", "--script", script, url,
      ])
    return try UploadReport(output: ended.output)
  }
}
