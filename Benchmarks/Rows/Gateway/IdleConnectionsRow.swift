import BenchmarkKit
import Glibc
import Support
import TestSupport

/// How many requests the gateway answers, alone and beside connections that ask for nothing.
struct IdleConnectionsRow: BenchmarkRow {
  let name = "idle-connections"
  let sentence = "answers of the gateway's health page, alone and beside connections that ask for nothing"
  let headline = Headline.rate(of: "answers")

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let many = bench.size(10_000, quick: 200)
    guard DescriptorLimit.raise() >= many + 200 else {
      throw BenchmarkError("\(many) connections need as many open files; raise the limit (ulimit -n).")
    }
    return [0, many].map { idle in
      Contender(idle == 0 ? "alone" : "beside \(idle) idle connections") {
        try await Self.run($0, beside: idle)
      }
    }
  }

  private static func run(_ bench: Bench, beside idle: Int) async throws -> Sample {
    guard let wrk = HelperProgram.find("/usr/bin/wrk", "/usr/local/bin/wrk") else {
      throw BenchmarkError("wrk is missing; install the package wrk.")
    }
    let database = try await bench.cluster.freshDatabase(named: "idle")
    _ = try await QueueFixture.make(in: database, pictures: [])
    let (gateway, port) = try await GatewayStage.start(bench, database, [])
    defer { gateway.send(SIGKILL) }
    // Each has been answered once: who has never asked is closed after 10 s.
    let clients = try (0..<idle).map { _ in
      let client = try RawClient(port: port)
      _ = try client.request("GET", "/api/health")
      return client
    }
    let seconds = bench.size(10, quick: 1)
    let ended = try await MeasuredProcess.run(
      wrk,
      [
        "--threads", "1", "--connections", "32", "--duration", "\(seconds)s", "--latency",
        "http://127.0.0.1:\(port)/api/health",
      ])
    for client in clients { client.close() }
    guard let found = ended.output.firstMatch(of: /([0-9]+) requests in ([0-9.]+)s/),
      let amount = Double(found.1), let taken = Double(found.2), !ended.output.contains("Non-2xx")
    else { throw BenchmarkError("wrk did not end with a report but with: \(ended.output.prefix(500))") }
    gateway.send(SIGTERM)
    let usage = try await gateway.succeeded().usage
    try await bench.cluster.drop(database)
    return Sample(
      amount: amount, seconds: taken, workerSeconds: usage.seconds, peakMemory: usage.peakMemory)
  }
}
