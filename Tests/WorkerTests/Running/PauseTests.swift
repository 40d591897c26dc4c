import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support
@testable import Worker

@Suite("What operators have paused")
struct PauseTests {
  private func withJobs(_ body: (QueueFixture, PauseDirectory, Backend) async throws -> Void) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3, kind: .throat)
      try await queue.submit(3, kind: .ear)
      try await body(queue, PauseDirectory(queue.pool), try Backend())
    }
  }

  private func waiting(_ queue: QueueFixture, _ kind: AnalysisKind) async throws -> Int {
    try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE lane / 4 = \(kind.code)")
  }

  /// Pauses something for two seconds from when the statement is carried out, by the server's clock.
  private func pauseForAMoment(_ queue: QueueFixture, _ scope: String, _ name: String) async throws {
    _ = try await queue.pool.query(
      "SELECT analysis.pause($1, $2, NULL, clock_timestamp() + interval '2 seconds')",
      [.text(scope), .text(name)])
  }

  private func kinds(_ backend: Backend) -> Set<String> { Set(backend.calls.map(\.kind)) }

  @Test("A worker that is started later claims nothing that was paused before, until it is resumed")
  func before() async throws {
    try await withJobs { queue, pauses, backend in
      _ = try await pauses.pause(.kind(.ear), reason: "model upgrade", until: nil)
      let worker = try Running(queue, [.throat: backend, .ear: backend])
      try await eventually("the throats") { try await queue.results == 3 }
      #expect(kinds(backend) == ["throat"])
      #expect(try await waiting(queue, .ear) == 3)
      #expect(try await pauses.resume(.kind(.ear)))
      try await eventually("the ears") { try await queue.results == 6 }
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.released == 0)
      try await queue.expectSound()
    }
  }

  @Test("A running worker obeys: calls in flight finish, jobs that it holds go back, and none is failed")
  func running() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(12)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let pauses = PauseDirectory(queue.pool)
      let worker = try Running(queue, [.throat: backend])
      try await eventually("four calls") { backend.calls.count == 4 }
      _ = try await pauses.pause(.everything, reason: nil, until: nil)
      try await eventually("the others' return") { try await waiting(queue, .throat) == 8 }
      for _ in 0..<12 { gate.open() }
      try await eventually("the four") { try await queue.results == 4 }
      #expect(backend.calls.count == 4)
      #expect(try await pauses.resume(.everything))
      try await eventually("the others") { try await queue.results == 12 }
      worker.stop()
      _ = try await worker.summary()
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.attempt_error") == 0)
      try await queue.expectSound()
    }
  }

  @Test("A pause of an endpoint stops what is sent there, by its address with or without a slash at the end")
  func endpoint() async throws {
    try await withJobs { queue, pauses, throats in
      let ears = try Backend()
      _ = try await pauses.pause(.endpoint(ears.url + "/"), reason: nil, until: nil)
      let worker = try Running(queue, [.throat: throats, .ear: ears])
      try await eventually("the throats") { try await queue.results == 3 }
      #expect(ears.calls.isEmpty)
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test("A pause that has an end is over by itself, by the server's clock")
  func ends() async throws {
    try await withJobs { queue, _, backend in
      try await pauseForAMoment(queue, "all", "")
      let worker = try Running(queue, [.throat: backend, .ear: backend])
      try await eventually("all") { try await queue.results == 6 }
      #expect(
        try await queue.number(
          """
          SELECT count(*)::int FROM analysis.result r JOIN analysis.pause p ON r.finished_at < p.until_at
          """) == 0)
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test("A drain ends parked when what is left is paused beyond its horizon, and says by whom and why")
  func drain() async throws {
    try await withJobs { queue, pauses, backend in
      _ = try await pauses.pause(.kind(.ear), reason: "model upgrade", until: nil)
      let summary = try await Running.drain(queue, backend)
      #expect(summary.completed == 3 && summary.isParked)
      #expect(
        summary.left == [
          "waiting in ear/normal: 3", "not called: ear: paused by an operator (postgres): model upgrade",
        ])
      try await queue.expectSound()
    }
  }

  @Test("A drain waits for a pause that ends within its horizon")
  func drainWaits() async throws {
    try await withJobs { queue, _, backend in
      try await pauseForAMoment(queue, "type", "ear")
      let summary = try await Running.drain(queue, backend)
      #expect(summary.completed == 6 && !summary.isParked && summary.left == [])
    }
  }

  @Test("A worker whose role may not read pauses works all the same, and says so")
  func unreadable() async throws {
    try await withJobs { queue, _, backend in
      try await withLoginRole(on: queue.pool, named: "worker", in: ["analysis_worker"]) { role in
        _ = try await queue.pool.query("REVOKE ALL ON analysis.pause FROM analysis_worker")
        _ = try await queue.pool.query("REVOKE ALL ON FUNCTION analysis.record_report FROM analysis_worker")
        let worker = try Running(queue, [.throat: backend, .ear: backend]) {
          $0.database.keywords["user"] = role
        }
        try await eventually("all") { try await queue.results == 6 }
        worker.stop()
        _ = try await worker.summary()
        #expect(worker.log.lines.contains { $0.contains("Cannot read the operators' pauses") })
      }
    }
  }
}
