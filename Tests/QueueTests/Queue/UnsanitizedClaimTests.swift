import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("A claim that wants few jobs whose images have to be cleaned")
struct UnsanitizedClaimTests {
  private func submit(_ user: String, in queue: QueueFixture) async throws -> JobID {
    let image = [0xFF, 0xD8, 0xFF] + (0..<32).map { _ in UInt8.random(in: 0...255) }
    return try await queue.pool.query(
      "SELECT job_id FROM analysis.submit_image($1, 'throat', $2)", [.text(user), .bytes(image)]
    ).single().jobID(0)
  }

  private func claim(
    _ unsanitized: LaneClaim.Unsanitized, lease: Int64, in queue: QueueFixture
  ) async throws -> [JobID] {
    let lane = LaneClaim(lane: Lane(.throat, .normal), from: 0, limit: 10, unsanitized: unsanitized)
    return try await queue.statements.claim(
      firstLease: lease, lanes: [lane], count: 10, leaseDuration: .seconds(60)
    ).run(on: queue.pool).flatMap(\.jobs).map(\.id)
  }

  @Test("leaves the others in their places, and takes one of a user of whom the worker has none")
  func passedOver() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic")
      try await queue.addUser("other")
      let first = try await submit("clinic", in: queue)
      let clean = try await queue.submit(1)
      let second = try await submit("clinic", in: queue)
      let others = [try await submit("other", in: queue), try await submit("other", in: queue)]
      let places = "SELECT array_agg(vt::text || ' ' || job_id ORDER BY vt, job_id)::text FROM analysis.ready"
      #expect(try await claim(.none, lease: 100, in: queue) == clean)
      let before = try await queue.text(places)
      #expect(try await claim(.none, lease: 200, in: queue) == [])
      #expect(try await queue.text(places) == before)
      #expect(try await claim(.oneOfAnother, lease: 300, in: queue) == [others[0]])
      #expect(try await claim(.oneOfAnother, lease: 400, in: queue) == [])
      #expect(try await Set(claim(.any, lease: 500, in: queue)) == [first, second, others[1]])
      try await queue.expectInvariants()
    }
  }
}
