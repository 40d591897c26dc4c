import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control

/// What an erased person must not have is among the invariants (I11), which `withCheckedQueue` checks at its end.
@Suite("The erasure of a person with many jobs")
struct ErasurePartTests {
  /// How many parts the audit has recorded.
  private func parts(_ queue: QueueFixture) async throws -> Int {
    try await queue.number(
      "SELECT count(*) FROM analysis.audit_entry WHERE action = 'erase' AND detail ->> 'part' = 'true'")
  }

  @Test("It is done in parts that are committed, and goes on where it was interrupted")
  func interrupted() async throws {
    try await withCheckedQueue { queue in
      for user in ["user", "other"] { try await queue.addUser(user) }
      let jobs = try await queue.create((0..<10).map { Ask("user", image: "photo \($0)", key: "key \($0)") })
      _ = try await queue.complete(try await queue.claim(2))
      let failed = try await queue.claim(1, lease: 200)
      _ = try await queue.fail([failed[0].job], leases: [failed[0].lease], delay: nil)
      _ = try await queue.create([Ask("other")])
      // Who is erasing is interrupted after the first part.
      let first = try await queue.pool.query(
        "SELECT o_cancelled, o_images FROM analysis.erase_part(0::smallint, 'user', NULL, true, NULL, NULL, 4)"
      ).single()
      let gone = [try first.int64(0), try first.int64(1)]
      #expect(gone == [1, 4])
      #expect(try await queue.submit([Ask("user", image: "late")])[0].reason == "unknown_user")
      #expect(try await queue.retryDead([failed[0].job]) == [failed[0].job: "image_gone"])
      #expect(try await queue.uncancel([jobs[3]]) == [jobs[3]: "erased"])

      let erasure = try await PersonEraser(queue.pool, partSize: 4).erase(
        .reference("user"), cancelling: true, as: nil)
      #expect(erasure.open == 0 && erasure.cancelled == 6 && erasure.images == 6)
      #expect(erasure.keys == 10 && erasure.profiles == 1)
      #expect(try await parts(queue) == 4, "one before, and three after it")
      #expect(
        try await queue.texts("SELECT user_ref FROM analysis.account ORDER BY user_id") == [
          "erased-\(erasure.userID)", "other",
        ])
      let again = try await PersonEraser(queue.pool, partSize: 4).erase(
        .number(erasure.userID), cancelling: true, as: nil)
      #expect(again.cancelled + again.images + again.keys + again.jobs + again.results == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.image") == 1)
    }
  }

  @Test("Nothing is begun while jobs are open that are not to be cancelled, and few jobs are one transaction")
  func whole() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create((0..<5).map { Ask("user", image: "photo \($0)") })
      let refused = try await PersonEraser(queue.pool, partSize: 4).erase(
        .reference("user"), cancelling: false, as: nil)
      #expect(refused.open == 5 && refused.images == 0)
      #expect(try await queue.submit([Ask("user", image: "sixth")])[0].outcome == "created")
      let erasure = try await PersonEraser(queue.pool, partSize: 6).erase(
        .reference("user"), cancelling: true, as: nil)
      #expect(erasure.cancelled == 6 && erasure.images == 6)
      #expect(try await parts(queue) == 0)
    }
  }
}
