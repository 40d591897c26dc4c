import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Promotion")
struct PromotionTests {
  /// Submits jobs of a user for later; they are due when all are.
  private func submit(_ count: Int, of user: String, priority: Int16, to queue: QueueFixture) async throws {
    let at = try await queue.now(plus: 3600)
    for first in stride(from: 0, to: count, by: 1000) {
      let part = Ask(user, priority: priority, at: at) * min(1000, count - first)
      #expect(try await queue.create(part).count == part.count)
    }
  }

  private func letAllBeDue(_ queue: QueueFixture) async throws {
    try await queue.execute("UPDATE analysis.scheduled SET run_at = '2020-01-01'")
  }

  @Test("An urgent job is promoted by the next call, whatever else is due")
  func byLane() async throws {
    try await withCheckedQueue { queue in
      for user in ["a", "b"] { try await queue.addUser(user) }
      try await submit(3000, of: "a", priority: 2, to: queue)
      try await submit(1, of: "b", priority: 0, to: queue)
      try await letAllBeDue(queue)
      #expect(try await queue.promote(limit: 100) == 100)
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready WHERE lane = 4") == 1)
      // The bulk jobs go on too: so many by age, and a few by the turns of the users.
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready WHERE lane = 6") == 104)
    }
  }

  @Test("A user whose job is due behind another's thousands has a turn with the next call")
  func byUser() async throws {
    try await withCheckedQueue { queue in
      for user in ["a", "b", "c"] { try await queue.addUser(user) }
      try await submit(3000, of: "b", priority: 2, to: queue)
      try await submit(1, of: "a", priority: 2, to: queue)
      try await submit(1, of: "c", priority: 2, to: queue)
      try await letAllBeDue(queue)
      _ = try await queue.promote(limit: 50)
      let users = try await queue.texts(
        """
        SELECT DISTINCT a.user_ref FROM analysis.ready r JOIN analysis.job j ON j.id = r.job_id
        JOIN analysis.account a ON a.user_id = j.user_id ORDER BY 1
        """)
      #expect(users == ["a", "b", "c"])
      // And they are next in the lane.
      let first = try await queue.claim(3, lanes: [6])
      #expect(Set(first.map(\.user)).count == 3)
    }
  }

  @Test("The turns go round all users, however many there are")
  func manyUsers() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("mass")
      let users = (1...600).map { "u\($0)" }
      for user in users { try await queue.addUser(user) }
      try await queue.execute("SELECT analysis.tick(0::smallint, '{6}', '{0}')")
      try await submit(3000, of: "mass", priority: 2, to: queue)
      let at = try await queue.now(plus: 3600)
      _ = try await queue.create(users.map { Ask($0, priority: 2, at: at) })
      // Of the others three are due, behind all of the first; the rest is looked at in its turn all the same.
      try await queue.execute(
        """
        UPDATE analysis.scheduled s SET run_at = CASE a.user_ref WHEN 'mass' THEN '2020-01-01' ELSE '2020-01-02' END::timestamptz
        FROM analysis.account a
        WHERE a.user_id = (SELECT j.user_id FROM analysis.job j WHERE j.id = s.job_id)
          AND a.user_ref IN ('mass', 'u1', 'u300', 'u600')
        """)
      for _ in 0..<3 { _ = try await queue.promote(limit: 10) }
      let others = try await queue.number(
        """
        SELECT count(*) FROM analysis.ready r JOIN analysis.job j ON j.id = r.job_id
        JOIN analysis.account a ON a.user_id = j.user_id WHERE a.user_ref <> 'mass'
        """)
      #expect(others == 3)
    }
  }

  @Test("A job that an open cancellation holds is passed over, and those behind it are not")
  func openCancellation() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user", at: try await queue.now(plus: 3600)) * 3)
      try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "BEGIN")
        _ = try await queue.cancel([jobs[0]], on: connection)
        #expect(try await queue.promote() == 2)
        try await connection.execute(script: "ROLLBACK")
      }
      #expect(try await queue.promote() == 1)
      #expect(Set(try await queue.claim().map(\.job)) == Set(jobs))
    }
  }
}
