import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("Stopping")
struct StopTests {
  /// A worker with four calls under way that the gate holds, of twelve jobs.
  private func withCalls(
    _ body: (QueueFixture, Running, Backend, Gate) async throws -> Void
  ) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(12)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend])
      try await eventually("four calls") { backend.calls.count == 4 }
      try await body(queue, worker, backend, gate)
      for _ in 0..<4 { gate.open() }
      try await queue.expectSound()
    }
  }

  @Test("The first request lets calls in flight finish, and hands the others back at once")
  func first() async throws {
    try await withCalls { queue, worker, backend, gate in
      worker.stop()
      try await eventually("the others' return") {
        try await queue.number("SELECT count(*)::int FROM analysis.ready") == 8
      }
      for _ in 0..<4 { gate.open() }
      let summary = try await worker.summary()
      #expect(summary.completed == 4 && summary.released == 4 && summary.unstored == 0)
      #expect(backend.calls.count == 4)
      #expect(try await queue.results == 4)
    }
  }

  @Test("The second request hands calls in flight back too")
  func second() async throws {
    try await withCalls { queue, worker, _, _ in
      worker.stop()
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.completed == 0 && summary.released == 8 && summary.unstored == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0") == 12)
      // The four calls that were cut off may have been counted by the backend.
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE calls = 1 AND maybe_counted AND NOT consumed"
        )
          == 4)
    }
  }

  @Test("Calls that do not finish within the grace time are released")
  func grace() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend]) { $0.grace = .milliseconds(50) }
      try await eventually("calls") { backend.calls.count == 3 }
      worker.stop()
      let summary = try await worker.summary()
      for _ in 0..<3 { gate.open() }
      #expect(summary.released == 3)
      try await queue.expectSound()
    }
  }

  @Test("A cancelled task stops as by the second request: everything is released and stored")
  func cancelled() async throws {
    try await withCalls { queue, worker, _, _ in
      worker.cancel()
      let summary = try await worker.summary()
      #expect(summary.released == 8 && summary.unstored == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0") == 12)
    }
  }

  @Test("A worker that still waits for its database stops when asked to", arguments: [false, true])
  func withoutDatabase(drains: Bool) async throws {
    let nobody = try RawServer { $0.close() }
    defer { nobody.stop() }
    let worker = try Running(
      ConnectionConfiguration("host=127.0.0.1 port=\(nobody.port) user=nobody dbname=nothing"),
      [.throat: "http://127.0.0.1:9"]
    ) { if drains { $0.drainHorizon = .seconds(60) } }
    try await eventually("a connection") { nobody.connectionCount > 0 }
    worker.stop()
    let summary = try await worker.summary()
    #expect(summary.completed == 0)
    #expect(summary.left.isEmpty == !drains && summary.isParked == drains)
  }

  @Test("A drain does not wait for what others do with kinds that it does not serve")
  func othersKinds() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit()
      let gate = Gate()
      let slow = try Backend(holding: gate)
      let other = try Running(queue, [.throat: slow])
      try await eventually("the other's call") { slow.calls.count == 1 }
      try await queue.submit(3, kind: .ear)
      let backend = try Backend()
      let summary = try await Running(queue, [.ear: backend]) { $0.drainHorizon = .seconds(1) }.summary()
      #expect(summary.completed == 3)
      gate.open()
      other.stop()
      #expect(try await other.summary().completed == 1)
      try await queue.expectSound()
    }
  }
}
