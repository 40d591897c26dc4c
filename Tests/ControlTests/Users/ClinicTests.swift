import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("Roles that see some clinics only")
struct ClinicTests {
  /// Two clinics with a user each, who have used one unit, and a user of no clinic. Sessions that act as another role come
  /// past a pooler, which refuses that option.
  private func with(_ body: (QueueFixture, TestDatabase) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      for user in ["n1", "s1", "x1"] {
        try await queue.addUser(user)
        _ = try await queue.create([Ask(user)])
      }
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_clinic('south');
        SELECT analysis.assign_clinic(0::smallint, 'n1', 'north'), analysis.assign_clinic(0::smallint, 's1', 'south')
        """)
      try await body(queue, queue.direct().database)
    }
  }

  /// The users whom a session of a role sees.
  private func seen(
    _ database: TestDatabase, as role: String, acting other: String? = nil,
    _ sql: String = "SELECT user_ref FROM analysis.account ORDER BY 1"
  ) async throws -> [String] {
    var configuration = database.configuration
    configuration.keywords["user"] = role
    if let other { configuration.keywords["options"] = "-c role=\(other)" }
    let loop = try EventLoop(name: "seen")
    defer { loop.shutdown() }
    let pool = ConnectionPool(configuration, on: loop, size: 1)
    let outcome: Result<[String], any Error>
    do {
      outcome = .success(try await pool.query(sql).map { try $0.string(0) })
    } catch {
      outcome = .failure(error)
    }
    await pool.close()
    return try outcome.get()
  }

  @Test("A role sees the users of its clinics in every table that tells of users; others see all, as before")
  func tables() async throws {
    try await with { (queue, database) async throws in
      let groups = ["analysis_reporter", "analysis_auditor"]
      try await withLoginRole(on: queue.pool, named: "north", in: groups) { (north) async throws in
        try await withLoginRole(on: queue.pool, named: "all", in: groups) { (all) async throws in
          try await queue.execute(
            """
            SELECT analysis.grant_clinics('\(north)', '{north}');
            INSERT INTO analysis.statement VALUES ('usage', 24300, now());
            INSERT INTO analysis.statement_line (report, period, line, for_period, shard, user_id, user_ref, zone, used, over,
                refunded, refused, last_reset, last_reset_local)
              SELECT 'usage', 24300, user_id, 24300, shard, user_id, user_ref, zone, 0, 0, 0, 0, now(), now() FROM analysis.account;
            """)
          for table in ["account", "account_plan", "usage"] {
            let sql = "SELECT count(*)::text FROM (SELECT user_id FROM analysis.\(table)) t"
            #expect(try await seen(database, as: north, sql) == ["1"], "\(table)")
            #expect(try await seen(database, as: all, sql) == ["3"], "\(table)")
          }
          let stated = "SELECT user_ref FROM analysis.usage_report(24300::smallint, NULL, now())"
          #expect(try await seen(database, as: north, stated) == ["n1"])
          #expect(try await seen(database, as: all, stated).count == 3)
          #expect(try await seen(database, as: north) == ["n1"])
          #expect(try await seen(database, as: all) == ["n1", "s1", "x1"])
        }
      }
    }
  }

  @Test("A restricted role that takes on another of its roles, or is renamed, sees no more by it")
  func evasion() async throws {
    try await with { (queue, database) async throws in
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) {
        (north) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('\(north)', '{north}')")
        #expect(try await seen(database, as: north, acting: "analysis_reporter") == ["n1"])
        #expect(try await seen(database, as: "postgres", acting: north) == ["n1"])
        try await queue.execute("ALTER ROLE \(north) RENAME TO \(north)_late")
        #expect(try await seen(database, as: "\(north)_late") == ["n1"])
        try await queue.execute("ALTER ROLE \(north)_late RENAME TO \(north)")
        // What would fail for a row that is not seen never meets it.
        let kept = try await seen(
          database, as: north,
          "SELECT user_ref FROM analysis.account WHERE 1 / CASE user_ref WHEN 's1' THEN 0 ELSE 1 END > 0")
        #expect(kept == ["n1"])
      }
    }
  }

  @Test("Members of a restricted group are restricted; one of two groups sees the users of both")
  func groups() async throws {
    try await with { (queue, database) async throws in
      try await withLoginRole(on: queue.pool, named: "north_group", in: ["analysis_reporter"]) {
        (north) async throws in
        try await withLoginRole(on: queue.pool, named: "south_group", in: ["analysis_reporter"]) {
          (south) async throws in
          try await queue.execute(
            "SELECT analysis.grant_clinics('\(north)', '{north}'), analysis.grant_clinics('\(south)', '{south}')"
          )
          try await withLoginRole(on: queue.pool, named: "one", in: [north]) { (one) async throws in
            #expect(try await seen(database, as: one) == ["n1"])
          }
          try await withLoginRole(on: queue.pool, named: "two", in: [north, south]) { (two) async throws in
            #expect(try await seen(database, as: two) == ["n1", "s1"])
            // As one of the two it acts for that one alone.
            #expect(try await seen(database, as: two, acting: south) == ["s1"])
          }
        }
      }
    }
  }

  @Test("Who is restricted frees neither itself nor others, and changes of clinics are in the audit")
  func restrictedAdministrator() async throws {
    try await with { (queue, _) async throws in
      try await withLoginRole(on: queue.pool, named: "office", in: ["analysis_administrator"]) {
        (role) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('\(role)', '{north}')")
        for call in [
          "SELECT analysis.lift_clinics('\(role)')", "SELECT analysis.grant_clinics('\(role)', '{south}')",
          "SELECT analysis.assign_clinic(0::smallint, 's1', 'north')",
        ] {
          let error = await #expect(throws: PostgreSQLError.self) {
            try await queue.pool.transaction { transaction in
              _ = try await transaction.query("SET LOCAL ROLE \(role)")
              _ = try await transaction.query(call)
            }
          }
          #expect(error?.sqlState == "42501", "\(call)")
        }
        #expect(
          try await queue.texts(
            "SELECT object FROM analysis.audit_entry WHERE action = 'grant_clinics'") == ["role:\(role)"])
      }
    }
  }

  @Test("Granting adds, revoking takes away; from which the last is taken sees nobody, and lifting shows all")
  func changes() async throws {
    try await with { (queue, database) async throws in
      try await withLoginRole(on: queue.pool, named: "role", in: ["analysis_reporter"]) {
        (role) async throws in
        #expect(try await seen(database, as: role).count == 3)
        try await queue.execute("SELECT analysis.grant_clinics('\(role)', '{north}')")
        try await queue.execute("SELECT analysis.grant_clinics('\(role)', '{south,north}')")
        #expect(try await seen(database, as: role) == ["n1", "s1"])
        try await queue.execute("SELECT analysis.revoke_clinics('\(role)', '{south}')")
        #expect(try await seen(database, as: role) == ["n1"])
        try await queue.execute("SELECT analysis.revoke_clinics('\(role)', '{north}')")
        #expect(try await seen(database, as: role) == [])
        try await queue.execute("SELECT analysis.lift_clinics('\(role)')")
        #expect(try await seen(database, as: role).count == 3)
      }
    }
  }

  @Test(
    "What cannot be meant is refused",
    arguments: [
      "SELECT analysis.grant_clinics('nobody_at_all', '{north}')",
      "SELECT analysis.grant_clinics('postgres', '{north}')",
      "SELECT analysis.grant_clinics('analysis_owner', '{north}')",
      "SELECT analysis.grant_clinics('analysis_worker', '{west}')",
      "SELECT analysis.assign_clinic(0::smallint, 'n1', 'west')",
    ])
  func refused(sql: String) async throws {
    try await with { (queue, _) async throws in
      let error = await #expect(throws: PostgreSQLError.self) { try await queue.execute(sql) }
      #expect(error?.sqlState == "22023")
      #expect(try await queue.number("SELECT count(*) FROM analysis.clinic_viewer") == 0)
    }
  }

  @Test(
    "An entry whose number is another role's, as after a dump was restored, shows nobody another's patients")
  func restored() async throws {
    try await with { (queue, database) async throws in
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) {
        (north) async throws in
        try await withLoginRole(on: queue.pool, named: "south", in: ["analysis_reporter"]) {
          (south) async throws in
          try await queue.execute(
            """
            SELECT analysis.grant_clinics('\(north)', '{north}'), analysis.grant_clinics('\(south)', '{south}');
            UPDATE analysis.clinic_viewer v SET role_id = o.oid FROM pg_roles o
            WHERE o.rolname = CASE v.role WHEN '\(north)' THEN '\(south)' ELSE '\(north)' END
            """)
          #expect(try await seen(database, as: north) == ["n1"])
          #expect(try await seen(database, as: south) == ["s1"])
          // One of the two is not made in the new cluster, and its number is the other's.
          try await queue.execute("ALTER ROLE \(south) RENAME TO \(south)_gone")
          #expect(try await seen(database, as: north) == ["n1"])
          try await queue.execute("ALTER ROLE \(south)_gone RENAME TO \(south)")

          // A migration takes the numbers that roles have here: from then on a renamed role is known again.
          try await queue.execute("SELECT analysis.apply_rights()")
          try await queue.execute("ALTER ROLE \(south) RENAME TO \(south)_late")
          #expect(try await seen(database, as: "\(south)_late") == ["s1"])
          #expect(try await seen(database, as: north) == ["n1"])
          try await queue.execute("ALTER ROLE \(south)_late RENAME TO \(south)")
        }
      }
    }
  }

  @Test("Results, jobs and counts are kept to the clinics of who reads them")
  func functions() async throws {
    try await with { (queue, database) async throws in
      try await withLoginRole(
        on: queue.pool, named: "north", in: ["analysis_reporter", "analysis_clinician"]
      ) {
        (north) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('\(north)', '{north}')")
        let claimed = try await queue.claim()
        _ = try await queue.complete(claimed)
        let month = claimed[0].period
        let jobs = claimed.map { "\($0.job)" }.joined(separator: ",")
        #expect(
          try await seen(
            database, as: north,
            "SELECT o_user FROM analysis.jobs_shown(0::smallint, \(month)::smallint, '{\(jobs)}')") == ["n1"])
        #expect(
          try await seen(
            database, as: north,
            "SELECT o_state FROM analysis.jobs_ended(0::smallint, \(month)::smallint, '{\(jobs)}')") == [
              "succeeded"
            ])
        #expect(
          try await seen(
            database, as: north, "SELECT throat::text FROM analysis.finding_counts(\(month)::smallint)")
            == ["1"])
        // A function runs as the owner, and still knows who calls, also by a role that was taken on.
        for (role, acting) in [(north, nil), ("postgres", north)] as [(String, String?)] {
          for (user, opened) in [("n1", "true"), ("s1", "false")] {
            #expect(
              try await seen(
                database, as: role, acting: acting,
                "SELECT (analysis.open_results('\(user)', '{\(jobs)}') IS NOT NULL)::text") == [opened],
              "\(role) \(user)")
          }
        }
      }
    }
  }

  @Test(
    "The rules are asked once a statement, and where the owner's functions read they are not asked at all")
  func plans() async throws {
    try await with { (queue, _) async throws in
      func plan(_ role: String, _ sql: String) async throws -> String {
        try await queue.pool.transaction { (transaction) async throws in
          _ = try await transaction.query("SET LOCAL ROLE \(role)")
          _ = try await transaction.query("SET LOCAL enable_seqscan = off")
          return try await transaction.query("EXPLAIN (VERBOSE) \(sql)").map { try $0.string(0) }
            .joined(separator: "\n")
        }
      }
      let reporter = try await plan(
        "analysis_reporter",
        "SELECT used FROM analysis.usage WHERE shard = 0 AND user_id = 1 AND period = 24300")
      #expect(
        reporter.contains("Index Scan using usage_pkey") && reporter.contains("hashed SubPlan"), "\(reporter)"
      )
      for table in [
        "account", "account_plan", "usage", "refund", "result", "dead", "attempt_error", "statement_line",
      ] {
        let owner = try await plan("analysis_owner", "SELECT shard FROM analysis.\(table)")
        #expect(!owner.contains("clinics_seen"), "\(owner)")
      }
      #expect(
        try await queue.texts("SELECT relname FROM pg_class WHERE relforcerowsecurity") == [],
        "the owner is bound")
    }
  }

  @Test("A list of jobs, and of lost ones, has those of the caller's clinics only, whoever is asked for")
  func lists() async throws {
    try await with { (queue, database) async throws in
      let groups = ["analysis_clinician", "analysis_auditor"]
      try await withLoginRole(on: queue.pool, named: "north", in: groups) { (north) async throws in
        try await withLoginRole(on: queue.pool, named: "all", in: groups) { (all) async throws in
          try await queue.execute(
            """
            SELECT analysis.grant_clinics('\(north)', '{north}');
            SELECT analysis.cancel(0::smallint, ARRAY(SELECT j.id FROM analysis.job j JOIN analysis.account a USING (user_id)
              WHERE a.user_ref = 'x1'))
            """)
          let months = "analysis.partition_made m"
          for (user, isNorth) in [("NULL", true), ("'n1'", true), ("'s1'", false), ("'x1'", false)] {
            for state in ["NULL", "'waiting'", "'cancelled'"] {
              let sql = """
                SELECT o_user FROM analysis.list_jobs(0::smallint, \(user), \(state), NULL, NULL, NULL, NULL, 10, 100) ORDER BY 1
                """
              let found = try await seen(database, as: north, sql)
              #expect(found == (isNorth && state != "'cancelled'" ? ["n1"] : []), "\(user) \(state)")
            }
          }
          let every =
            "SELECT o_user FROM analysis.list_jobs(0::smallint, NULL, NULL, NULL, NULL, NULL, NULL, 10, 100) ORDER BY 1"
          #expect(try await seen(database, as: all, every) == ["n1", "s1", "x1"])
          try await queue.execute("DELETE FROM analysis.ready")
          let lost =
            "SELECT l.o_user FROM \(months), analysis.lost_jobs(0::smallint, m.period, 10) l ORDER BY 1"
          #expect(try await seen(database, as: north, lost) == ["n1"])
          #expect(try await seen(database, as: all, lost) == ["n1", "s1"])
          let broken = "SELECT DISTINCT b.user_id::text FROM analysis.broken_invariants() b"
          #expect(try await seen(database, as: north, broken).count == 1)
          #expect(try await seen(database, as: all, broken).count == 2)
        }
      }
    }
  }
}
