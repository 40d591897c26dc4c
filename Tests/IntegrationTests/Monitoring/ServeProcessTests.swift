import Foundation
import HTTPTestSupport
import QueueTestSupport
import TestSupport
import Testing

@Suite("analysisctl serve as a process", .onOwnThread)
struct ServeProcessTests {
  private func port(_ serving: Executable) async throws -> UInt16 {
    var found: UInt16?
    try await eventually("the port") {
      if serving.hasEnded { throw TestSupportError("it has ended: \(serving.messagesSoFar)") }
      found = serving.messagesSoFar.firstMatch(of: /Serving http:\/\/127\.0\.0\.1:([0-9]+)\//).flatMap {
        UInt16($0.1)
      }
      return found != nil
    }
    return try #require(found)
  }

  @Test("serves the queue's metrics, is ready, and ends with 0 when it is told to stop")
  func serves() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic")
      _ = try await queue.submit(3, user: "clinic")
      let serving = try Executable(
        "analysisctl", ["serve", "--listen", "localhost:0"], environment: queue.environment)
      let port = try await port(serving)
      let client = try RawClient(port: port)
      let metrics = try client.request("GET", "/metrics")
      #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
      let text = MetricsText(metrics.text)
      #expect(text["analysis_jobs{state=\"waiting\",type=\"throat\",priority=\"normal\"}"] == 3)
      #expect(text["analysis_workers{state=\"alive\"}"] == 0)
      #expect(try client.request("GET", "/healthz").status == 200)
      let ready = try client.request("GET", "/readyz")
      #expect(ready.status == 200 && ready.json["database"] as? String == "answers")
      if Promtool.isAvailable { #expect(try await Promtool.complaints(ofMetrics: metrics.text) == "") }
      serving.send(SIGTERM)
      let ended = await serving.ended()
      #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
      #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }
  }

  @Test(
    "is for the roles that read the status; another is told which it needs, and that ends with 77",
    arguments: [
      ("operator", true), ("auditor", true), ("worker", true), ("submitter", false), ("reporter", false),
      ("clinician", false), ("administrator", false), ("privacy", false), ("retention", false),
    ])
  func permission(role: String, isAllowed: Bool) async throws {
    try await withQueue { queue in
      var environment = queue.environment
      environment["ANALYSIS_DATABASE"]? += " options='-c role=analysis_\(role)'"
      let serving = try Executable(
        "analysisctl", ["serve", "--listen", "127.0.0.1:0"], environment: environment)
      if isAllowed {
        let text = MetricsText(try RawClient(port: try await port(serving)).request("GET", "/metrics").text)
        #expect(
          text["analysis_database_up"] == 1 && text["analysis_submits_refused_total{limit=\"month\"}"] == 0)
        serving.send(SIGTERM)
      }
      let ended = await serving.ended()
      #expect(ended.code == (isAllowed ? 0 : 77), "\(ended.messages)")
      #expect(isAllowed || ended.messages.contains("analysis_operator"), "\(ended.messages)")
    }
  }

  @Test("refuses an address that other machines reach, unless it is told to")
  func loopback() async throws {
    let ended = await (try Executable("analysisctl", ["serve", "--listen", "0.0.0.0:0"])).ended()
    #expect(ended.code == 64 && ended.messages.contains("--listen-from-anywhere"), "\(ended.messages)")
  }
}
