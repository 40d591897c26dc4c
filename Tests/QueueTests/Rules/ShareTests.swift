import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("Who reads by a share, and for how long")
struct ShareTests {
  /// `ann` (of clinic north) and `sue` (of clinic south) with an analysis each, and `carl`, who has none; each with a
  /// token whose text is the name. `doctor` is a clinician who sees the clinic north alone.
  private struct Scene: Sendable {
    let queue: QueueFixture
    let gateway: ConnectionPool
    let doctor: ConnectionPool
    /// The doctor's login.
    let login: String
    /// The jobs by user.
    let jobs: [String: Int64]

    func request(_ user: String, login: String, expires: String = "NULL") async throws -> Int64 {
      try await queue.pool.query(
        "SELECT analysis.request_share(0::smallint, $1, $2, NULL, NULL, \(expires))",
        [.text(user), .text(login)]
      ).single().int64(0)
    }

    func request(_ user: String, carer: String) async throws -> Int64 {
      try await gateway.query(
        "SELECT analysis.gateway_share_request(0::smallint, sha256($1::text::bytea), NULL, $2, NULL)",
        [.text(user), .text(carer)]
      ).single().int64(0)
    }

    func accept(_ share: Int64, as login: ConnectionPool? = nil) async throws -> Bool {
      try await (login ?? doctor).query("SELECT analysis.accept_share($1)", [.int64(share)]).single().bool(0)
    }

    func accept(_ share: Int64, carer: String) async throws -> Bool {
      try await gateway.query(
        "SELECT analysis.gateway_share_accept(0::smallint, sha256($1::text::bytea), $2)",
        [.text(carer), .int64(share)]
      ).single().bool(0)
    }

    /// The jobs of a user that a login finds, shows, reads the result of, and has in the report of analyses; and
    /// whether it is told of an attempt that failed.
    func reads(_ user: String, as login: ConnectionPool? = nil) async throws -> [String] {
      let login = login ?? doctor
      let job = jobs[user] ?? 0
      let month = "(SELECT analysis.period_of(now(), 'UTC'))"
      var found: [String] = []
      func look(_ name: String, _ sql: String) async throws {
        if try await login.query(SQLStatement(sql)).count > 0 { found.append(name) }
      }
      try await look(
        "list",
        "SELECT 1 FROM analysis.list_jobs(0::smallint, '\(user)', NULL, NULL, NULL, NULL, NULL, 10, 100) WHERE o_state IS NOT NULL"
      )
      try await look(
        "show", "SELECT 1 FROM analysis.jobs_shown(0::smallint, \(month), ARRAY[\(job)]::bigint[])")
      try await look("attempts", "SELECT 1 FROM analysis.job_attempts(0::smallint, \(job))")
      let reading = try await login.query(
        "SELECT analysis.open_results($1, $2)", [.text(user), .array([job])]
      ).single().stringIfPresent(0)
      if let reading {
        try await look("result", "SELECT 1 FROM analysis.results_of('\(user)', '\(reading)')")
      }
      let report = try await login.query(
        SQLStatement("SELECT analysis.open_analyses(\(month), NULL)")
      ).single().string(0)
      try await look(
        "report",
        "SELECT 1 FROM analysis.report_analyses(\(month), '\(report)', NULL, 0::smallint, 0, 1000000) WHERE user_ref = '\(user)'"
      )
      return found
    }

    /// What a carer reads by a share; nil where nothing is opened.
    func carerReads(_ share: Int64, carer: String) async throws -> [Int64]? {
      let reading = try await gateway.query(
        "SELECT analysis.gateway_open_shared(0::smallint, sha256($1::text::bytea), $2, NULL, 10)",
        [.text(carer), .int64(share)]
      ).single().stringIfPresent(0)
      guard let reading else { return nil }
      return try await carerResults(share, carer: carer, reading)
    }

    func carerResults(_ share: Int64, carer: String, _ reading: String) async throws -> [Int64] {
      try await gateway.query(
        "SELECT o_job FROM analysis.gateway_shared_results(0::smallint, sha256($1::text::bytea), $2, $3)",
        [.text(carer), .int64(share), .text(reading)]
      ).map { try $0.int64(0) }
    }
  }

  private static let everything = ["list", "show", "attempts", "result", "report"]

  private func with(_ body: (Scene) async throws -> Void) async throws {
    try await withCheckedQueue { (queue) async throws in
      var jobs: [String: Int64] = [:]
      for user in ["ann", "sue", "carl"] {
        try await queue.addUser(user)
        try await queue.addToken(user)
      }
      for (lease, user) in [(100, "ann"), (200, "sue")] {
        let job = try await queue.create([Ask(user)])[0]
        jobs[user] = job
        let first = try await queue.claim(1, lease: Int64(lease))
        _ = try await queue.fail([job], leases: [first[0].lease], delay: 0)
        try await queue.execute("UPDATE analysis.scheduled SET run_at = now()")
        _ = try await queue.pool.query("SELECT analysis.promote(0::smallint, 100)")
        _ = try await queue.complete(try await queue.claim(1, lease: Int64(lease + 50)))
      }
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_clinic('south'),
          analysis.assign_clinic(0::smallint, 'ann', 'north'), analysis.assign_clinic(0::smallint, 'sue', 'south')
        """)
      try await withLogin("gateway", of: ["gateway"], in: queue) { (gateway) async throws in
        try await withLogin("doctor", of: ["clinician"], in: queue) { (doctor) async throws in
          let login = try await doctor.query("SELECT session_user::text").single().string(0)
          try await queue.execute("SELECT analysis.grant_clinics('\(login)', '{north}')")
          try await body(
            Scene(queue: queue, gateway: gateway, doctor: doctor, login: login, jobs: jobs))
        }
      }
    }
  }

  @Test(
    "A clinician who sees one clinic reads another's user from the acceptance to the end of the share, and no other"
  )
  func clinician() async throws {
    try await with { (scene) async throws in
      #expect(try await scene.reads("ann") == Self.everything)
      #expect(try await scene.reads("sue") == [])
      let share = try await scene.request("sue", login: scene.login)
      #expect(try await scene.reads("sue") == [], "it is not accepted")
      #expect(try await scene.accept(share))
      #expect(try await scene.accept(share), "again")
      #expect(try await scene.reads("sue") == Self.everything)
      #expect(try await scene.reads("ann") == Self.everything)
      // Each reading of what was found names the share.
      let details = try await scene.queue.texts(
        "SELECT detail::text FROM analysis.audit_entry WHERE role = '\(scene.login)' AND action <> 'accept_share'"
      )
      #expect(details.contains { $0.contains(#""share": \#(share)"#) }, "\(details)")
      #expect(details.contains { $0.contains(#""shares": [\#(share)]"#) }, "\(details)")
      // What is not the reading of analyses stays as it is.
      let other = try await scene.doctor.query(
        "SELECT open FROM (SELECT analysis.open_jobs(analysis.period_of(now(), 'UTC'))) t(open)"
      ).single().int(0)
      #expect(other == 0)
      #expect(
        try await scene.doctor.query("SELECT analysis.revoke_share($1)", [.int64(share)]).single().bool(0))
      #expect(try await scene.reads("sue") == [])
      let error = await #expect(throws: PostgreSQLError.self) { try await scene.accept(share) }
      #expect(error?.sqlState == "22023")
    }
  }

  @Test(
    "What was opened before a share ended is not read after it",
    arguments: ["revoked", "expired", "role", "clinician"])
  func ended(how: String) async throws {
    try await with { (scene) async throws in
      let share = try await scene.request("sue", login: scene.login)
      _ = try await scene.accept(share)
      let reading = try await scene.doctor.query(
        "SELECT analysis.open_results('sue', $1)", [.array([scene.jobs["sue"] ?? 0])]
      ).single().string(0)
      let rows = SQLStatement("SELECT job_id FROM analysis.results_of('sue', '\(reading)')")
      #expect(try await scene.doctor.query(rows).count == 1)
      switch how {
      case "revoked": try await scene.queue.execute("SELECT analysis.revoke_share(\(share))")
      case "expired": try await scene.queue.execute("UPDATE analysis.share SET expires_at = now()")
      // Another login has the name now, or the number.
      case "role":
        try await scene.queue.execute("UPDATE analysis.share SET login_id = (login_id::bigint + 1)::oid")
      default: try await scene.queue.execute("UPDATE analysis.share SET login = 'another'")
      }
      #expect(try await scene.doctor.query(rows).isEmpty)
      #expect(try await scene.reads("sue") == [])
    }
  }

  @Test("A share is accepted by the login that was asked, and by no other")
  func foreign() async throws {
    try await with { (scene) async throws in
      let share = try await scene.request("sue", login: scene.login)
      try await withLogin("other", of: ["clinician"], in: scene.queue) { (other) async throws in
        #expect(try await !scene.accept(share, as: other))
        #expect(
          try await !other.query("SELECT analysis.revoke_share($1)", [.int64(share)]).single().bool(0))
        #expect(try await other.query("SELECT * FROM analysis.list_shares(NULL, 0, 10)").isEmpty)
      }
      #expect(try await !scene.accept(share, carer: "carl"))
      let carers = try await scene.request("sue", carer: "carl")
      #expect(try await !scene.accept(carers), "a clinician does not accept a carer's")
      #expect(try await !scene.accept(carers, carer: "ann"))
      #expect(try await !scene.accept(carers, carer: "sue"))
      #expect(try await scene.queue.number("SELECT count(accepted_at) FROM analysis.share") == 0)
      let mine = try await scene.doctor.query(
        "SELECT o_share, o_user, o_state FROM analysis.list_shares(NULL, 0, 10)"
      )
      .map { try "\($0.int64(0)) \($0.string(1)) \($0.string(2))" }
      #expect(mine == ["\(share) sue requested"])
    }
  }

  @Test("A request that cannot be is refused, and leaves nothing")
  func refused() async throws {
    try await with { (scene) async throws in
      for (call, word) in [
        ("request_share(0::smallint, 'sue', NULL, 0::smallint, 'sue', NULL)", "themselves"),
        ("request_share(0::smallint, 'sue', NULL, 0::smallint, 'nobody', NULL)", "no such carer"),
        ("request_share(0::smallint, 'sue', 'nobody', NULL, NULL, NULL)", "no login nobody"),
        ("request_share(0::smallint, 'sue', 'analysis_clinician', NULL, NULL, NULL)", "no login"),
        ("request_share(0::smallint, 'sue', '\(scene.login)', 0::smallint, 'carl', NULL)", "or with a carer"),
        ("request_share(0::smallint, 'sue', '\(scene.login)', NULL, NULL, now())", "a time to come"),
        ("gateway_share_request(0::smallint, sha256('sue'), NULL, 'sue', NULL)", "themselves"),
      ] {
        let error = await #expect(throws: PostgreSQLError.self, "\(call)") {
          try await scene.queue.pool.query(SQLStatement("SELECT analysis.\(call)"))
        }
        #expect(
          error?.sqlState == "22023" && error?.message.contains(word) == true,
          "\(call): \(error?.message ?? "")")
      }
      #expect(try await scene.queue.count("share") == 0)
      _ = try await scene.request("sue", login: scene.login)
      let twice = await #expect(throws: PostgreSQLError.self) {
        try await scene.request("sue", login: scene.login)
      }
      #expect(twice?.message.contains("already") == true)
    }
  }

  @Test(
    "A carer reads what is shared from the acceptance on, each time recorded with the share; either ends it")
  func carer() async throws {
    try await with { (scene) async throws in
      let share = try await scene.request("sue", carer: "carl")
      let job = try #require(scene.jobs["sue"])
      #expect(try await scene.carerReads(share, carer: "carl") == nil)
      #expect(try await scene.accept(share, carer: "carl"))
      #expect(try await scene.carerReads(share, carer: "carl") == [job])
      #expect(try await scene.carerReads(share, carer: "ann") == nil)
      #expect(try await scene.carerReads(share, carer: "sue") == nil)
      let who = try await scene.gateway.query(
        "SELECT o_user FROM analysis.gateway_shared(0::smallint, sha256('carl'))"
      ).map { try $0.string(0) }
      #expect(who == ["sue"])
      let detail = try await scene.queue.text(
        "SELECT detail::text FROM analysis.audit_entry WHERE action = 'read_result' ORDER BY at DESC LIMIT 1")
      #expect(detail.contains(#""share": \#(share)"#) && detail.contains(#""jobs": [\#(job)]"#), "\(detail)")
      // The carer's own calls do not reach further for it.
      let states =
        "SELECT * FROM analysis.gateway_states(0::smallint, sha256('carl'), ARRAY[\(job)]::bigint[])"
      #expect(try await scene.gateway.query(SQLStatement(states)).isEmpty)
      let reading = try await scene.gateway.query(
        "SELECT analysis.gateway_open_shared(0::smallint, sha256('carl'), $1, NULL, 10)", [.int64(share)]
      ).single().string(0)
      let asOwn = "SELECT * FROM analysis.gateway_results(0::smallint, ARRAY[sha256('carl')], '\(reading)')"
      #expect(try await scene.gateway.query(SQLStatement(asOwn)).isEmpty)
      #expect(
        try await scene.gateway.query(
          "SELECT analysis.gateway_share_revoke(0::smallint, sha256('ann'), $1)", [.int64(share)]
        ).single().bool(0) == false)
      #expect(
        try await scene.gateway.query(
          "SELECT analysis.gateway_share_revoke(0::smallint, sha256('carl'), $1)", [.int64(share)]
        ).single().bool(0))
      #expect(try await scene.carerResults(share, carer: "carl", reading) == [])
      #expect(try await scene.carerReads(share, carer: "carl") == nil)
      let states2 = try await scene.gateway.query(
        "SELECT o_role, o_state FROM analysis.gateway_share_list(0::smallint, sha256('sue'))"
      ).map { try "\($0.string(0)) \($0.string(1))" }
      #expect(states2 == ["owner revoked"])
    }
  }

  @Test(
    "A share goes with either person who is erased, and stays when either is renamed",
    arguments: ["sue", "carl"])
  func erased(who: String) async throws {
    try await with { (scene) async throws in
      let share = try await scene.request("sue", carer: "carl")
      let back = try await scene.request("carl", carer: "sue")
      let doctors = try await scene.request("sue", login: scene.login)
      _ = try await scene.accept(share, carer: "carl")
      _ = try await scene.accept(back, carer: "sue")
      _ = try await scene.accept(doctors)
      try await scene.queue.execute("SELECT analysis.rename_user(0::smallint, '\(who)', 'renamed')")
      #expect(try await scene.carerReads(share, carer: "carl")?.count == 1)
      try await scene.queue.erase("renamed")
      let left = try await scene.queue.numbers("SELECT id FROM analysis.share ORDER BY id")
      #expect(left == (who == "sue" ? [] : [Int(doctors)]))
      #expect(try await scene.queue.number("SELECT count(*) FROM analysis.user_token") == 2)
      if who == "carl" {
        #expect(try await scene.reads("sue") == Self.everything)
        let error = await #expect(throws: PostgreSQLError.self) {
          try await scene.carerReads(share, carer: "carl")
        }
        #expect(error?.sqlState == "28000")
      } else {
        #expect(try await scene.carerReads(share, carer: "carl") == nil)
      }
    }
  }

  @Test("A login that is dropped ends its shares, and one that is made again under its name reads nothing")
  func dropped() async throws {
    try await with { (scene) async throws in
      var login = ""
      try await withLogin("passing", of: ["clinician"], in: scene.queue) { (passing) async throws in
        login = try await passing.query("SELECT session_user::text").single().string(0)
        let share = try await scene.request("sue", login: login)
        #expect(try await scene.accept(share, as: passing))
      }
      let state = "SELECT o_state FROM analysis.list_shares(NULL, 0, 10)"
      #expect(try await scene.queue.texts(state) == ["gone"])
      try await withLogin("passing", of: ["clinician"], in: scene.queue) { (again) async throws in
        try await scene.queue.execute("SELECT analysis.grant_clinics('\(login)', '{north}')")
        #expect(try await again.query("SELECT session_user::text").single().string(0) == login)
        #expect(try await scene.reads("sue", as: again) == [])
        try await scene.queue.execute("SELECT analysis.apply_rights()")
        #expect(try await scene.queue.texts(state) == ["revoked"])
      }
    }
  }

  @Test("A carer in another shard accepts, reads, and takes the share along when erased")
  func shards() async throws {
    try await withQueue(shards: 2) { (queue) async throws in
      let owner = try await queue.addUsers(1, inShard: 0)[0]
      let carer = try await queue.addUsers(1, inShard: 1)[0]
      try await queue.addToken(owner)
      try await queue.addToken(carer, shard: 1)
      let job = try await queue.submit(user: owner)[0]
      _ = try await queue.complete(try await queue.claim())
      try await withLogin("gateway", of: ["gateway"], in: queue) { (gateway) async throws in
        let share = try await gateway.query(
          "SELECT analysis.gateway_share_request(0::smallint, sha256($1::text::bytea), NULL, $2, NULL)",
          [.text(owner), .text(carer)]
        ).single().int64(0)
        let accepted = "SELECT analysis.gateway_share_accept(1::smallint, sha256($1::text::bytea), \(share))"
        #expect(try await gateway.query(SQLStatement(accepted, [.text(carer)])).single().bool(0))
        let opened =
          "SELECT analysis.gateway_open_shared(1::smallint, sha256($1::text::bytea), \(share), NULL, 10)"
        let reading = try await gateway.query(SQLStatement(opened, [.text(carer)])).single().string(0)
        let rows = """
          SELECT o_job FROM analysis.gateway_shared_results(1::smallint, sha256($1::text::bytea), \(share), '\(reading)')
          """
        #expect(
          try await gateway.query(SQLStatement(rows, [.text(carer)])).map { try $0.int64(0) } == [job.value])
        // With the own token in the wrong shard there is nobody.
        let wrong = "SELECT * FROM analysis.gateway_shared(0::smallint, sha256($1::text::bytea))"
        let error = await #expect(throws: PostgreSQLError.self) {
          try await gateway.query(SQLStatement(wrong, [.text(carer)]))
        }
        #expect(error?.sqlState == "28000")
        _ = try await queue.pool.query(
          "SELECT * FROM analysis.erase_user(1::smallint, $1, NULL, false)", [.text(carer)])
        #expect(try await queue.count("share") == 0)
        #expect(try await queue.texts("SELECT 'owner' FROM analysis.user_token") == ["owner"])
      }
    }
  }

  @Test(
    "An app learns of nobody whether they exist: each request is answered, recorded and listed alike",
    arguments: [("carer", "carl", "nobody"), ("clinician", "{doctor}", "nobody")])
  func oracle(with whom: String, there: String, absent: String) async throws {
    try await with { (scene) async throws in
      let names = [there, absent].map { $0.replacing("{doctor}", with: scene.login) }
      let arguments = whom == "carer" ? "NULL, $1" : "$1, NULL"
      for name in names {
        _ = try await scene.gateway.query(
          "SELECT analysis.gateway_share_request(0::smallint, sha256('sue'), \(arguments), NULL)",
          [.text(name)])
        // A second request of the same is refused in the same words.
        let twice = await #expect(throws: PostgreSQLError.self) {
          try await scene.gateway.query(
            "SELECT analysis.gateway_share_request(0::smallint, sha256('sue'), \(arguments), NULL)",
            [.text(name)])
        }
        #expect(twice?.message.contains("shares with this one already") == true)
      }
      _ = try await scene.queue.pool.query("SELECT analysis.end_shares_of_lost_logins()")
      let list = try await scene.gateway.query(
        """
        SELECT concat_ws(' ', o_role, o_\(whom), o_state) FROM analysis.gateway_share_list(0::smallint, sha256('sue'))
        """
      ).map { try $0.string(0) }
      #expect(Set(list) == Set(names.map { "owner \($0) requested" }))
      let entries = try await scene.queue.number(
        "SELECT count(*)::int FROM analysis.audit_entry WHERE action = 'request_share'")
      #expect(entries == 2)
      // Who comes to be there later is not shared with.
      if whom == "carer" {
        try await scene.queue.addUser("nobody")
        try await scene.queue.addToken("nobody")
        let others = try await scene.gateway.query(
          "SELECT 1 FROM analysis.gateway_share_list(0::smallint, sha256('nobody'))")
        #expect(others.count == 0)
        try await scene.queue.erase("nobody")
        #expect(try await scene.queue.count("share WHERE carer_named = 'nobody'") == 0)
      }
    }
  }

  @Test("A share that has ended is accepted by no carer, as one that there is not")
  func acceptedAfterItsEnd() async throws {
    try await with { (scene) async throws in
      let share = try await scene.request("sue", carer: "carl")
      _ = try await scene.gateway.query(
        "SELECT analysis.gateway_share_revoke(0::smallint, sha256('sue'), $1)", [.int64(share)])
      #expect(try await scene.accept(share, carer: "carl") == false)
    }
  }

  @Test("Who is erased while somebody shares with them is not shared with")
  func race() async throws {
    try await with { (scene) async throws in
      let request = SQLStatement(
        "SELECT analysis.request_share(0::smallint, 'sue', NULL, 0::smallint, 'carl', NULL)")
      let refused = await withTaskGroup(of: String?.self) { group in
        do {
          try await scene.queue.pool.transaction { open in
            try await scene.queue.erase("carl", on: open)
            group.addTask {
              do {
                _ = try await scene.queue.pool.query(request)
                return nil
              } catch {
                return (error as? PostgreSQLError)?.sqlState
              }
            }
            try await scene.queue.untilSomebodyWaits()
          }
        } catch { Issue.record(error) }
        return await group.next() ?? nil
      }
      #expect(refused == "22023")
      #expect(try await scene.queue.count("share") == 0)
    }
  }
}
