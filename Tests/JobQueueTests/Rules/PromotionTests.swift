import PostgreSQL
import Testing

@Suite("Promotion")
struct PromotionTests {
  /// Jobs of a user that are due, straight into the tables, as many submits for one moment would.
  private func due(_ count: Int, of user: String, priority: Int16, in queue: RuleQueue) async throws {
    try await queue.execute(
      """
      WITH ids AS (
        SELECT nextval('analysis.job_id') AS id, analysis.period_of(now(), 'UTC') AS period, a.user_id
        FROM analysis.account a, generate_series(1, \(count)) WHERE a.user_ref = '\(user)'),
      jobs AS (
        INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
          max_attempts, image_raw)
        SELECT 0, period, 1, 4 + \(priority), id, user_id, 1, -1, now(), 1, period, 3, false FROM ids)
      INSERT INTO analysis.scheduled (shard, lane, tries, is_counted, period, run_at, job_id, user_id)
      SELECT 0, 4 + \(priority), 0, true, period, '2020-01-01', id, user_id FROM ids
      """)
  }

  /// What was filled in by hand has no submit: the invariants are not for it.
  private func clear(_ queue: RuleQueue) async throws {
    try await queue.execute("TRUNCATE analysis.ready, analysis.scheduled, analysis.job")
  }

  @Test("An urgent job is promoted by the next call, whatever else is due")
  func byLane() async throws {
    try await RuleQueue.run { queue in
      for user in ["a", "b"] { try await queue.add(user) }
      try await due(20_000, of: "a", priority: 2, in: queue)
      try await due(1, of: "b", priority: 0, in: queue)
      #expect(try await queue.promote(limit: 100) == 100)
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready WHERE lane = 4") == 1)
      // The bulk jobs go on too: so many by age, and a few by the turns of the users.
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready WHERE lane = 6") == 104)
      try await clear(queue)
    }
  }

  @Test("A user whose job is due behind another's thousands has a turn with the next call")
  func byUser() async throws {
    try await RuleQueue.run { queue in
      for user in ["a", "b", "c"] { try await queue.add(user) }
      try await due(5000, of: "b", priority: 2, in: queue)
      try await due(1, of: "a", priority: 2, in: queue)
      try await due(1, of: "c", priority: 2, in: queue)
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
      try await queue.execute("TRUNCATE analysis.batch")
      try await clear(queue)
    }
  }

  @Test("The turns go round all users, however many there are")
  func manyUsers() async throws {
    try await RuleQueue.run { queue in
      try await queue.execute(
        """
        SELECT analysis.tick(0::smallint, '{6}', '{0}');
        INSERT INTO analysis.account (shard, user_ref, zone, key_salt)
        SELECT 0, 'u' || g, 'UTC', sha256('salt') FROM generate_series(1, 600) g
        """)
      try await queue.add("mass")
      try await due(3000, of: "mass", priority: 2, in: queue)
      for user in ["u1", "u300", "u600"] { try await due(1, of: user, priority: 2, in: queue) }
      // Those of the others are not due, and are looked at in their turn all the same.
      try await queue.execute(
        """
        INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
        SELECT 0, 6, 0, 24322, 'infinity', -a.user_id, a.user_id FROM analysis.account a WHERE a.user_ref <> 'mass'
        """)
      for _ in 0..<3 { _ = try await queue.promote(limit: 10) }
      let others = try await queue.number(
        """
        SELECT count(*) FROM analysis.ready r JOIN analysis.job j ON j.id = r.job_id
        JOIN analysis.account a ON a.user_id = j.user_id WHERE a.user_ref <> 'mass'
        """)
      #expect(others == 3)
      try await clear(queue)
    }
  }

  @Test("A job that an open cancellation holds is passed over, and those behind it are not")
  func openCancellation() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
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
