import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("What a gateway does for the users whose tokens it passes")
struct GatewayTests {
  private static let reject = "28000"

  /// A user `ann` and a user `bob` with a token each, whose texts are their names, and a gateway's login.
  private func with(
    _ body: (_ queue: QueueFixture, _ gateway: ConnectionPool) async throws -> Void
  ) async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["ann", "bob"] {
        try await queue.addUser(user)
        try await queue.addToken(user)
      }
      try await withLogin("gateway", of: ["gateway"], in: queue) { try await body(queue, $0) }
    }
  }

  private func submit(
    _ gateway: ConnectionPool, token: String = "ann", user: String = "ann", image: String = "photo",
    key: String? = nil
  ) async throws -> Answer {
    let row = try await gateway.query(
      """
      SELECT o_outcome, o_reason, o_job, o_limit, o_used
      FROM analysis.gateway_submit(0::smallint, sha256($1::text::bytea), $2, 1::smallint,
        sha256(convert_to($3, 'UTF8')), convert_to($3, 'UTF8'), '{640,480}', $4, NULL, NULL)
      """, [.text(token), .text(user), .text(image), .text(key)]
    ).single()
    return Answer(
      outcome: try row.string(0), reason: try row.stringIfPresent(1), job: try row.int64IfPresent(2),
      period: nil, limit: try row.intIfPresent(3), used: try row.intIfPresent(4))
  }

  /// What of some jobs is read with tokens, each opened with its own; nil: nothing could be opened.
  private func read(
    _ gateway: ConnectionPool, _ pairs: [(token: String, job: Int64)], with tokens: [String]? = nil
  ) async throws -> [Int64]? {
    let reading = try await gateway.query(
      "SELECT analysis.gateway_open_results(0::smallint, ARRAY(SELECT sha256(t::bytea) FROM unnest($1::text[]) t), $2)",
      [.array(pairs.map(\.token)), .array(pairs.map(\.job))]
    ).single().stringIfPresent(0)
    guard let reading else { return nil }
    return try await results(gateway, tokens ?? pairs.map(\.token), reading)
  }

  private func results(
    _ gateway: ConnectionPool, _ tokens: [String], _ reading: String
  ) async throws -> [Int64] {
    try await gateway.query(
      """
      SELECT o_job FROM analysis.gateway_results(0::smallint,
        ARRAY(SELECT sha256(t::bytea) FROM unnest($1::text[]) t), $2)
      """, [.array(tokens), .text(reading)]
    ).map { try $0.int64(0) }
  }

  private func history(
    _ gateway: ConnectionPool, before: Int64? = nil, limit: Int32 = 10
  ) async throws -> [Int64] {
    let reading = try await gateway.query(
      "SELECT analysis.gateway_open_history(0::smallint, sha256('ann'), $1, $2)",
      [.int64(before), .int32(limit)]
    ).single().stringIfPresent(0)
    guard let reading else { return [] }
    return try await results(gateway, ["ann"], reading)
  }

  @Test("A user submits, asks where the job is, and reads what was found, with the token alone")
  func journey() async throws {
    try await with { (queue, gateway) async throws in
      let submitted = try await submit(gateway, key: "visit 1")
      #expect(submitted.outcome == "created")
      let job = try #require(submitted.job)
      #expect(try await submit(gateway, key: "visit 1").job == job, "the same key, the same job")
      #expect(try await submit(gateway, image: "another", key: "visit 1").reason == "key_conflict")
      let states =
        "SELECT o_state FROM analysis.gateway_states(0::smallint, sha256('ann'), ARRAY[\(job)]::bigint[])"
      let ended = """
        SELECT o_state FROM analysis.gateway_ended(0::smallint, ARRAY[sha256('ann'), sha256('bob')],
          ARRAY[\(job), \(job)]::bigint[])
        """
      #expect(try await gateway.query(states).map { try $0.string(0) } == ["waiting"])
      #expect(try await gateway.query(ended).isEmpty)
      #expect(try await read(gateway, [("ann", job)]) == nil, "there is no analysis yet")
      let claimed = try await queue.claim()
      #expect(try await gateway.query(states).map { try $0.string(0) } == ["running"])
      _ = try await queue.complete(claimed)
      #expect(try await gateway.query(states).map { try $0.string(0) } == ["succeeded"])
      #expect(try await gateway.query(ended).map { try $0.string(0) } == ["succeeded"])
      #expect(try await read(gateway, [("ann", job)]) == [job])
      // Whose a job is decides, not which login has submitted it.
      let other = try await queue.create([Ask("ann", image: "by a back-end")])[0]
      _ = try await queue.complete(try await queue.claim(lease: 200))
      #expect(try await read(gateway, [("ann", other)]) == [other])
      #expect(try await history(gateway) == [other, job])
      let user = try await gateway.query(
        "SELECT o_user, o_plan_name, o_used, o_remaining FROM analysis.gateway_user(0::smallint, sha256('ann'))"
      ).single()
      #expect(try user.string(0) == "ann" && user.string(1) == "Premium")
      #expect(try user.int(2) == 2 && user.intIfPresent(3) == nil)
      #expect(
        try await queue.text(
          "SELECT login FROM analysis.submitter s JOIN analysis.job j ON j.submitter = s.id WHERE j.id = \(job)"
        )
          == "\(queue.database.name)_gateway")
    }
  }

  @Test("A submit's own commit wakes the workers; where another does so just then, it says so")
  func wakeUp() async throws {
    try await with { (queue, gateway) async throws in
      func woken(key: String) async throws -> Bool? {
        try await gateway.query(
          """
          SELECT o_woken FROM analysis.gateway_submit(0::smallint, sha256('ann'), 'ann', 1::smallint,
            sha256('x'), 'x'::bytea, NULL, $1, NULL, NULL)
          """, [.text(key)]
        ).single().boolIfPresent("o_woken")
      }
      let connection = try await queue.listener()
      var notifications = try await connection.listen("analysis_jobs").makeAsyncIterator()
      try await queue.execute("SELECT setval('analysis.woken_at', 1)")
      #expect(try await woken(key: "first") == true)
      #expect(await notifications.next()?.payload == "0")
      #expect(try await woken(key: "first") == nil, "a repeat is no new job")
      let other = try await queue.database.connect(on: queue.loop)
      try await queue.execute("SELECT setval('analysis.woken_at', 1)")
      try await other.execute(script: "BEGIN; SELECT analysis.wake_workers(7::smallint)")
      #expect(try await woken(key: "second") == false)
      await other.close()
      await connection.close()
    }
  }

  @Test("A limit refuses by name, and a unit that is owed back counts as there")
  func quota() async throws {
    try await with { (queue, gateway) async throws in
      try await queue.execute("SELECT analysis.set_plan(0::smallint, 'ann', 'free', NULL)")
      var jobs: [Int64] = []
      for number in 1...5 {
        jobs.append(try #require(try await submit(gateway, image: "photo \(number)").job))
      }
      let refused = try await submit(gateway, image: "photo 6")
      #expect(refused.outcome == "refused" && refused.reason == "quota" && refused.limit == 5)
      _ = try await queue.cancel([jobs[0]])
      let user = try await gateway.query(
        "SELECT o_limit, o_used, o_remaining FROM analysis.gateway_user(0::smallint, sha256('ann'))"
      ).single()
      #expect(try [user.int(0), user.int(1), user.int(2)] == [5, 4, 1])
    }
  }

  @Test(
    "A token that is unknown, of another shard, revoked, expired, or whose user is gone opens nothing, and why is not said",
    arguments: ["unknown", "shard", "revoked", "expired", "erased"])
  func invalid(why: String) async throws {
    try await with { (queue, gateway) async throws in
      let job = try #require(try await submit(gateway).job)
      _ = try await queue.complete(try await queue.claim())
      let opened = try await gateway.query(
        "SELECT analysis.gateway_open_results(0::smallint, ARRAY[sha256('ann')], ARRAY[\(job)]::bigint[])"
      ).single().string(0)
      switch why {
      case "revoked": try await queue.execute("SELECT analysis.revoke_tokens(0::smallint, 'ann', 1)")
      case "expired": try await queue.execute("UPDATE analysis.user_token SET expires_at = now()")
      case "erased": try await queue.erase("ann")
      default: break
      }
      let (shard, token) = (why == "shard" ? 1 : 0, why == "unknown" ? "mallory" : "ann")
      let given = "\(shard)::smallint, sha256('\(token)')"
      let many = "\(shard)::smallint, ARRAY[sha256('\(token)')]"
      #expect(try await gateway.query("SELECT * FROM analysis.gateway_user(\(given))").isEmpty)
      #expect(
        try await gateway.query("SELECT * FROM analysis.gateway_ended(\(many), ARRAY[\(job)]::bigint[])")
          .isEmpty)
      #expect(
        try await gateway.query("SELECT analysis.gateway_open_results(\(many), ARRAY[\(job)]::bigint[])")
          .single().stringIfPresent(0) == nil)
      if why != "shard" {
        // A reading that was opened while it was valid.
        #expect(
          try await gateway.query("SELECT * FROM analysis.gateway_results(\(many), '\(opened)')").isEmpty)
      }
      for call in [
        "gateway_submit(\(given), 'ann', 1::smallint, sha256('x'), 'x'::bytea, NULL, NULL, NULL, NULL)",
        "gateway_states(\(given), ARRAY[\(job)]::bigint[])", "gateway_open_history(\(given), NULL, 10)",
        "gateway_set_profile(\(given), 'x', NULL)", "gateway_log_out(\(given))",
        "gateway_jobs(\(given))",
        "gateway_share_list(\(given))", "gateway_share_accept(\(given), 1)",
        "gateway_share_revoke(\(given), 1)", "gateway_share_request(\(given), NULL, 'bob', NULL)",
        "gateway_shared(\(given))", "gateway_open_shared(\(given), 1, NULL, 10)",
        "gateway_shared_results(\(given), 1, '\(opened)')",
      ] {
        let error = await #expect(throws: PostgreSQLError.self, "\(call)") {
          try await gateway.query(SQLStatement("SELECT * FROM analysis.\(call)"))
        }
        #expect(error?.sqlState == Self.reject && error?.message == "the token is not valid", "\(call)")
      }
    }
  }

  @Test("With the token of one user the jobs of another are not there, whatever else is asked with it")
  func others() async throws {
    try await with { (queue, gateway) async throws in
      let job = try #require(try await submit(gateway, token: "bob", user: "bob").job)
      let own = try #require(try await submit(gateway).job)
      _ = try await queue.complete(try await queue.claim())
      #expect(try await submit(gateway, token: "ann", user: "bob").reason == "unknown_user")
      let states =
        "SELECT * FROM analysis.gateway_states(0::smallint, sha256('ann'), ARRAY[\(job)]::bigint[])"
      #expect(try await gateway.query(states).isEmpty)
      #expect(try await read(gateway, [("ann", job)]) == nil)
      #expect(try await read(gateway, [("ann", job), ("bob", own)]) == nil, "each with the other's token")
      #expect(try await read(gateway, [("ann", own), ("bob", job)])?.sorted() == [job, own].sorted())
      #expect(try await read(gateway, [("ann", own), ("bob", job)], with: ["bob"]) == [job])
      #expect(try await history(gateway) == [own])
    }
  }

  @Test(
    "A reading is recorded and committed before a row comes, with the login and the tokens, once for many users"
  )
  func audit() async throws {
    try await with { (queue, gateway) async throws in
      let jobs = [
        try #require(try await submit(gateway).job),
        try #require(try await submit(gateway, token: "bob", user: "bob").job),
      ]
      _ = try await queue.complete(try await queue.claim())
      #expect(try await read(gateway, [("ann", jobs[0]), ("bob", jobs[1])])?.count == 2)
      let users = try await queue.numbers("SELECT user_id FROM analysis.account ORDER BY user_ref")
      #expect(
        try await queue.texts(
          "SELECT action || ' ' || object || ' ' || role FROM analysis.audit_entry WHERE action = 'read_result'"
        )
          == ["read_result jobs \(queue.database.name)_gateway"])
      let detail = try await queue.text(
        "SELECT detail::text FROM analysis.audit_entry WHERE action = 'read_result'")
      #expect(detail.contains(#""tokens": ["\#(users[0])/1", "\#(users[1])/1"]"#), "\(detail)")
      #expect(detail.contains(#""users": [\#(users[0]), \#(users[1])]"#), "\(detail)")
      let error = await #expect(throws: PostgreSQLError.self) {
        try await gateway.transaction { transaction in
          let reading = try await transaction.query(
            "SELECT analysis.gateway_open_results(0::smallint, ARRAY[sha256('ann')], ARRAY[\(jobs[0])]::bigint[])"
          ).single().string(0)
          _ = try await transaction.query(
            "SELECT * FROM analysis.gateway_results(0::smallint, ARRAY[sha256('ann')], '\(reading)')")
        }
      }
      #expect(error?.sqlState == "42501")
    }
  }

  @Test("A history is paged from the newest to the oldest, over months, and leaves nothing out")
  func pages() async throws {
    try await with { (queue, gateway) async throws in
      var jobs: [Int64] = []
      for number in 1...7 {
        jobs.append(try #require(try await submit(gateway, image: "photo \(number)").job))
      }
      _ = try await queue.complete(try await queue.claim())
      // All ended at one moment: then the numbers decide. And two of an earlier month.
      try await queue.execute(
        """
        SELECT analysis.ensure_partitions((analysis.period_of(now(), 'UTC') - 1)::smallint, analysis.period_of(now(), 'UTC'));
        UPDATE analysis.result SET finished_at = '2026-01-01';
        UPDATE analysis.job SET period = period - 1 WHERE id IN (\(jobs[5]), \(jobs[6]));
        UPDATE analysis.result SET period = period - 1, finished_at = '2026-06-01' WHERE job_id IN (\(jobs[5]), \(jobs[6]));
        """)
      let expected = Array(jobs[0...4].reversed()) + [jobs[6], jobs[5]]
      var found: [Int64] = []
      while true {
        let page = try await history(gateway, before: found.last, limit: 2)
        if page.isEmpty { break }
        #expect(page.count <= 2)
        found += page
      }
      #expect(found == expected)
      // So that the counts agree at the end.
      try await queue.execute(
        "UPDATE analysis.job SET period = period + 1 WHERE id IN (\(jobs[5]), \(jobs[6])); UPDATE analysis.result SET period = period + 1 WHERE job_id IN (\(jobs[5]), \(jobs[6]))"
      )
    }
  }

  @Test("The day of a token's last use is written once a day, and nobody waits for another who writes it")
  func lastUse() async throws {
    try await with { (queue, gateway) async throws in
      let call = "SELECT o_user FROM analysis.gateway_user(0::smallint, sha256('ann'))"
      let used =
        "SELECT count(*)::int FROM analysis.user_token WHERE last_used_on = (now() AT TIME ZONE 'UTC')::date"
      try await queue.pool.transaction { open in
        _ = try await open.query("SELECT 1 FROM analysis.user_token WHERE hash = sha256('ann') FOR UPDATE")
        #expect(try await gateway.query(call).map { try $0.string(0) } == ["ann"])
      }
      _ = try await gateway.query(call)
      #expect(try await queue.number(used) == 1)
      let version = "SELECT xmin::text FROM analysis.user_token WHERE hash = sha256('ann')"
      let before = try await queue.text(version)
      _ = try await gateway.query(call)
      #expect(try await queue.text(version) == before)
    }
  }

  @Test("A gateway's login that is restricted to clinics acts for the users of those alone")
  func restricted() async throws {
    try await with { (queue, gateway) async throws in
      let login = try await gateway.query("SELECT session_user::text").single().string(0)
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'bob', 'north'),
          analysis.grant_clinics('\(login)', '{north}')
        """)
      #expect(
        try await gateway.query("SELECT * FROM analysis.gateway_user(0::smallint, sha256('ann'))").isEmpty)
      #expect(try await submit(gateway, token: "bob", user: "bob").outcome == "created")
    }
  }
}
