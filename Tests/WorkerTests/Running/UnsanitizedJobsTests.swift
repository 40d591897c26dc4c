import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Images
@testable import Queue
@testable import Support
@testable import Worker

@Suite("Jobs whose images a worker has to clean")
struct UnsanitizedJobsTests {
  private func submit(_ width: Int, of user: String, in queue: QueueFixture) async throws {
    _ = try await queue.pool.query(
      "SELECT * FROM analysis.submit_image($1, 'throat', $2, NULL, 'urgent')",
      [.text(user), .bytes(GatedDecoder.picture(width))])
  }

  @Test("are claimed as far as they can be decoded, hold up no other, and are decoded by user in turn")
  func turns() async throws {
    try await withQueue { queue in
      for user in ["clinic", "other", "third"] { try await queue.addUser(user) }
      for width in 1000..<1016 { try await submit(width, of: "clinic", in: queue) }
      let program = try GatedDecoder(greeting: DecodingExchange.greeting)
      let decoders = ImageDecoders(slots: 1, program: program.program, arguments: program.arguments)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        ($0.concurrency, $0.prefetch) = (16, 16)
        $0.imageDecoders = decoders
      }
      try await eventually("as many to be held as may be") {
        program.decoded == [1000] && decoders.waiting == 3
      }
      try await submit(2000, of: "other", in: queue)
      try await eventually("the other user's to be held") { decoders.waiting == 4 }
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready") == 12)
      #expect(try await queue.number("SELECT sum(cardinality(job_ids))::int FROM analysis.lease") == 5)

      // While all that waits has to be cleaned, a clean one is called for at once.
      _ = try await queue.submit(1, user: "third", priority: .urgent)
      try await eventually("the clean one to be done") { backend.calls.count == 1 }
      #expect(program.decoded == [1000])

      try await program.open()
      try await eventually("all to be done") {
        try await queue.number("SELECT count(*)::int FROM analysis.dead") == 17
      }
      #expect(program.decoded.prefix(2) == [1000, 2000])
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.completed == 1 && summary.dead == 17 && summary.released == 0)
      try await queue.expectSound()
    }
  }
}
