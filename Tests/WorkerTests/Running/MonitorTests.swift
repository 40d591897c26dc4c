import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support
@testable import Worker

@Suite("What a worker tells a monitoring system")
struct MonitorTests {
  private func metrics(_ worker: Running) async -> MetricsText {
    MetricsText(Exposition.text(await worker.monitor.metrics()))
  }

  @Test("Each attempt is counted by its outcome, each answer by its status, and what they took is measured")
  func counted() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(6)
      let backend = try Backend { call in
        switch call.number {
        case 1: .failure(503, "BUSY")
        case 2: .failure(400, "INVALID_IMAGE_FORMAT")
        default: .analysis(call)
        }
      }
      let worker = try Running(queue, [.throat: backend]) { $0.concurrency = 1 }
      var text = MetricsText("")
      try await eventually("all to end") {
        text = await metrics(worker)
        return text["analysis_worker_attempts_total{outcome=\"completed\"}"] == 5
          && text["analysis_worker_attempts_total{outcome=\"dead\"}"] == 1
      }
      #expect(text["analysis_worker_attempts_total{outcome=\"retried\"}"] == 1)
      #expect(text["analysis_worker_answers_total{status=\"200\"}"] == 5)
      #expect(text["analysis_worker_answers_total{status=\"503\"}"] == 1)
      #expect(text["analysis_worker_answers_total{status=\"400\"}"] == 1)
      #expect(text["analysis_worker_calls_total"] == 7)
      #expect(text["analysis_worker_call_duration_seconds_count{endpoint=\"\(backend.url)\"}"] == 7)
      #expect(
        try #require(text["analysis_worker_call_duration_seconds_sum{endpoint=\"\(backend.url)\"}"]) > 0)
      #expect(try #require(text["analysis_worker_claim_duration_seconds_count"]) >= 1)
      #expect(try #require(text["analysis_worker_store_duration_seconds_count"]) >= 2)
      #expect(try #require(text["analysis_worker_last_success_timestamp_seconds"]) > 1_700_000_000)
      #expect(text["analysis_worker_breaker_open{endpoint=\"\(backend.url)\"}"] == 0)
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test(
    "An endpoint that refuses connections has its breaker open, and the worker is not ready until it answers")
  func breaker() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(20)
      let port = try ReservedPort()
      let worker = try Running(queue.database.configuration, [.throat: port.url])
      try await eventually("the open breaker") {
        await metrics(worker)["analysis_worker_breaker_open{endpoint=\"\(port.url)\"}"] == 1
      }
      let shut = await worker.monitor.readiness()
      #expect(!shut.isReady && shut.facts["database"]?.text == "answers")
      let backend = try Backend(on: port)
      try await eventually("all to end") { try await queue.count("result") == 20 }
      let open = await worker.monitor.readiness()
      #expect(open.isReady && open.facts["stage"]?.text == "running", "\(backend.url)")
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test("A picture that is not sent is counted by the reason")
  func refusedImage() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(1)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        $0.requiresEncryption = true
      }
      try await eventually("the refusal") {
        await metrics(worker)["analysis_worker_images_refused_total{reason=\"not_encrypted\"}"] == 1
      }
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test("Before the database has answered it is not ready, and has metrics")
  func starting() async throws {
    let worker = try Running(ConnectionConfiguration("host=/nonexistent"), [.throat: "http://127.0.0.1:9"])
    let readiness = await worker.monitor.readiness()
    #expect(!readiness.isReady && readiness.facts["stage"]?.text == "starting")
    #expect(await metrics(worker)["analysis_worker_info{version=\"1.0\"}"] == 1)
    worker.cancel()
    _ = try? await worker.summary()
  }

  @Test(
    "All of it is as Prometheus wants it",
    .enabled(if: Promtool.isAvailable, "needs promtool, of Debian's package prometheus"))
  func checked() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(2)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend, .ear: backend])
      try await eventually("the results") { try await queue.count("result") == 2 }
      let text = Exposition.text(await worker.monitor.metrics())
      #expect(try await Promtool.complaints(ofMetrics: text) == "")
      #expect(MetricsText(text).names.isSubset(of: WorkerMetrics.all.map(\.name)))
      worker.stop()
      _ = try await worker.summary()
    }
  }
}
