import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("Two endpoints of one worker")
struct EndpointTests {
  @Test(
    "One that hangs holds up its own jobs only, whatever is short: calls, jobs held or bytes of images",
    arguments: [(4, 4, 128 << 20), (2, 0, 128 << 20), (8, 32, 2500)])
  func hanging(concurrency: Int, prefetch: Int, imageBytes: Int) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(100, kind: .throat)
      let gate = Gate()
      let hanging = try Backend(holding: gate)
      let healthy = try Backend()
      let worker = try Running(queue, [.throat: hanging, .ear: healthy]) {
        $0.concurrency = concurrency
        $0.prefetch = prefetch
        $0.imageBytes = imageBytes
      }
      try await eventually("calls that hang") { hanging.calls.count >= 1 }
      try await queue.submit(60, kind: .ear)
      try await eventually("the other endpoint's results") { try await queue.results == 60 }
      #expect(healthy.calls.count == 60)
      worker.stop()
      for _ in 0..<100 { gate.open() }
      let summary = try await worker.summary()
      #expect(summary.dead == 0 && summary.unstored == 0)
      try await queue.expectSound()
    }
  }

  @Test("A single type may use all that its endpoint's silence leaves, and each job is called for once")
  func one() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(80, kind: .throat)
      let throats = try Backend()
      let ears = try Backend()
      let summary = try await Running(queue, [.throat: throats, .ear: ears]) {
        $0.drainHorizon = .seconds(60)
      }.summary()
      #expect(summary.completed == 80 && summary.left == [])
      #expect(throats.calls.count == 80 && ears.calls.isEmpty)
      #expect(throats.mostOpen <= 3)
      try await queue.expectSound()
    }
  }
}
