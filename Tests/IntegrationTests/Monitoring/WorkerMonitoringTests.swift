import Foundation
import HTTPTestSupport
import QueueTestSupport
import TestSupport
import Testing

@Suite("A worker with --metrics", .onOwnThread)
struct WorkerMonitoringTests {
  /// The port that the program names in its log.
  private func port(_ worker: Executable) async throws -> UInt16 {
    var found: UInt16?
    try await eventually("the listener's port") {
      if worker.hasEnded { throw TestSupportError("it has ended: \(worker.messagesSoFar)") }
      found = worker.messagesSoFar.firstMatch(of: /"address":"127\.0\.0\.1:([0-9]+)"/).flatMap {
        UInt16($0.1)
      }
      return found != nil
    }
    return try #require(found)
  }

  @Test("serves its metrics while it works, and says that it drains when it is told to stop")
  func metrics() async throws {
    try await Installation.with(jobs: 12) { installation in
      let worker = try installation.worker(["--metrics", "127.0.0.1:0"])
      let port = try await port(worker)
      try await eventually("the results") { try await installation.hasEnded(jobs: 12) }
      let client = try RawClient(port: port)
      var text = MetricsText("")
      try await eventually("what it counted") {
        text = MetricsText(try client.request("GET", "/metrics").text)
        return text["analysis_worker_attempts_total{outcome=\"completed\"}"] == 12
      }
      #expect(text["analysis_worker_answers_total{status=\"200\"}"] == 12)
      #expect(
        text["analysis_worker_call_duration_seconds_count{endpoint=\"\(installation.endpoint.url)\"}"] == 12)
      #expect(try client.request("GET", "/healthz").status == 200)
      let ready = try client.request("GET", "/readyz")
      #expect(ready.status == 200 && ready.json["database"] as? String == "answers")
      if Promtool.isAvailable {
        #expect(
          try await Promtool.complaints(ofMetrics: client.request("GET", "/metrics").text) == "")
      }
      await installation.stop(worker)
      #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }
  }

  @Test("serves while it drains, and is not ready then")
  func drains() async throws {
    try await Installation.with(jobs: 4, endpoint: ["--delay", "600s"]) { installation in
      let worker = try installation.worker(["--metrics", "127.0.0.1:0", "--grace", "600s"])
      let port = try await port(worker)
      try await eventually("the calls") { try await installation.endpoint.inFlight == 4 }
      worker.send(SIGTERM)
      let client = try RawClient(port: port)
      try await eventually("that it drains") {
        let ready = try client.request("GET", "/readyz")
        return ready.status == 503 && ready.json["stage"] as? String == "draining"
      }
      #expect(try client.request("GET", "/healthz").status == 200)
      let text = MetricsText(try client.request("GET", "/metrics").text)
      #expect(
        text["analysis_worker_calls_in_flight{endpoint=\"\(installation.endpoint.url)\"}"] == 4)
      worker.send(SIGTERM)
      let ended = await worker.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }
  }

  @Test("serves before the database answers, and is not ready")
  func withoutDatabase() async throws {
    let worker = try Executable(
      "analysis-worker", ["--endpoint", "http://127.0.0.1:9", "--metrics", "127.0.0.1:0"],
      environment: ["ANALYSIS_DATABASE": "host=/nonexistent"])
    let client = try RawClient(port: try await port(worker))
    #expect(try client.request("GET", "/healthz").status == 200)
    let ready = try client.request("GET", "/readyz")
    #expect(ready.status == 503 && ready.json["stage"] as? String == "starting")
    worker.send(SIGTERM)
    #expect(await worker.ended().code == 0)
  }

  @Test("takes the address from the environment and the configuration file too")
  func sources() async throws {
    let folder = try TemporaryFolder()
    let file = folder.path("worker.conf")
    try "metrics = 127.0.0.1:0\nendpoint = http://127.0.0.1:9\n".write(
      toFile: file, atomically: true, encoding: .utf8)
    let away = ["ANALYSIS_DATABASE": "host=/nonexistent"]
    let workers = [
      try Executable("analysis-worker", ["--config", file], environment: away),
      try Executable(
        "analysis-worker", ["--endpoint", "http://127.0.0.1:9"],
        environment: away.merging(["ANALYSIS_METRICS": "127.0.0.1:0"]) { $1 }),
    ]
    for worker in workers {
      #expect(try RawClient(port: try await port(worker)).request("GET", "/healthz").status == 200)
      worker.send(SIGTERM)
      #expect(await worker.ended().code == 0)
    }
  }

  @Test("refuses an address that other machines reach, unless it is told to, and then warns")
  func loopback() async throws {
    let options = ["--endpoint", "http://127.0.0.1:9", "--metrics", "0.0.0.0:0"]
    let away = ["ANALYSIS_DATABASE": "host=/nonexistent"]
    let refused = await (try Executable("analysis-worker", options, environment: away)).ended()
    #expect(refused.code == 64 && refused.messages.contains("--metrics-from-anywhere"), "\(refused.messages)")
    let allowed = try Executable(
      "analysis-worker", options + ["--metrics-from-anywhere"], environment: away)
    try await eventually("the listener") { allowed.messagesSoFar.contains("\"address\":\"0.0.0.0:") }
    #expect(allowed.messagesSoFar.contains("warning: --metrics 0.0.0.0:0 lets other machines in"))
    allowed.send(SIGTERM)
    #expect(await allowed.ended().code == 0)
  }

  @Test("that cannot listen says where, and ends with 64")
  func taken() async throws {
    let port = try ReservedPort()
    let backend = try Backend(on: port)
    let ended = await
      (try Executable(
        "analysis-worker", ["--endpoint", "http://127.0.0.1:9", "--metrics", "127.0.0.1:\(port.port)"],
        environment: ["ANALYSIS_DATABASE": "host=/nonexistent"])).ended()
    #expect(ended.code == 64, "\(backend.url)")
    #expect(
      ended.messages.contains("cannot listen on 127.0.0.1:\(port.port): another program listens there"),
      "\(ended.messages)")
  }
}
