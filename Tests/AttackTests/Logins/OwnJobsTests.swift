import PostgreSQL
import QueueTestSupport
import Testing

@Suite("A back-end cancels and reads what it has submitted itself")
struct OwnJobsTests {
  /// Two back-ends of which the first has submitted a job that is done and one that waits.
  private func with(
    _ body: (
      _ queue: QueueFixture, _ own: ConnectionPool, _ other: ConnectionPool, _ done: Int64, _ open: Int64
    )
      async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("user")
      try await withLogin("one", of: ["submitter"], in: queue) { (own) async throws in
        try await withLogin("two", of: ["submitter"], in: queue) { (other) async throws in
          _ = try await queue.submit([Ask("user", image: "its own")], on: other)
          _ = try await queue.complete(try await queue.claim())
          let jobs = try await queue.submit([Ask("user"), Ask("user", image: "second")], on: own).compactMap(
            \.job)
          _ = try await queue.complete(try await queue.claim(1, lease: 200))
          try await body(queue, own, other, jobs[0], jobs[1])
        }
      }
      try await queue.expectInvariants()
    }
  }

  private func located(_ jobs: [Int64], _ login: ConnectionPool) async throws -> [Int64] {
    try await login.query("SELECT o_job FROM analysis.locate(0::smallint, $1) ORDER BY 1", [.array(jobs)])
      .map { try $0.int64(0) }
  }

  private func reading(_ job: Int64, _ login: ConnectionPool) async throws -> String? {
    try await login.query("SELECT analysis.open_results('user', $1)", [.array([job])]).single()
      .stringIfPresent(0)
  }

  @Test("to another back-end its jobs are unknown: it does not find, cancel, watch or read them")
  func another() async throws {
    try await with { (queue, own, other, done, open) async throws in
      #expect(try await located([done, open], other) == [])
      #expect(try await queue.cancel([done, open], on: other) == [done: "unknown", open: "unknown"])
      let ended = """
        SELECT count(*) FROM analysis.jobs_ended(0::smallint, (SELECT analysis.period_of(now(), 'UTC')), ARRAY[\(done)])
        """
      #expect(try await other.query(ended).single().int(0) == 0)
      #expect(try await reading(done, other) == nil)
      // Its own reading, once opened, is no other's either.
      let opened = try #require(try await reading(done, own))
      let rows = "SELECT count(*) FROM analysis.results_of('user', '\(opened)')"
      let error = await #expect(throws: PostgreSQLError.self) { try await other.query(rows) }
      #expect(error?.sqlState == "42501")
      #expect(try await own.query(rows).single().int(0) == 1)
      #expect(try await own.query(ended).single().int(0) == 1)
      #expect(try await located([done, open], own) == [done, open])
      #expect(try await queue.cancel([done, open], on: own) == [done: "finished", open: "cancelled"])
    }
  }

  @Test(
    "an operator cancels everybody's, a clinician reads everybody's, and the office of persons ends what is open"
  )
  func office() async throws {
    try await with { (queue, _, _, done, open) async throws in
      try await withLogin("operator", of: ["operator"], in: queue) { (login) async throws in
        #expect(try await located([done, open], login) == [done, open])
        #expect(try await queue.cancel([done], on: login) == [done: "finished"])
      }
      try await withLogin("clinician", of: ["clinician"], in: queue) { (login) async throws in
        #expect(try await reading(done, login) != nil)
      }
      try await withLogin("privacy", of: ["privacy"], in: queue) { (login) async throws in
        try await queue.erase("user", on: login)
      }
      #expect(try await queue.states()[open] == "cancelled")
    }
  }

  @Test("an operator who submits too reads no result of another's job by that")
  func mixed() async throws {
    try await with { (queue, _, _, done, _) async throws in
      try await withLogin("mixed", of: ["operator", "submitter"], in: queue) { (login) async throws in
        #expect(try await located([done], login) == [done])
        #expect(try await reading(done, login) == nil)
      }
    }
  }

  @Test("a retried job stays its submitter's")
  func retried() async throws {
    try await with { (queue, own, other, _, open) async throws in
      _ = try await queue.fail([open], leases: [try await queue.claim(1, lease: 300)[0].lease], delay: nil)
      #expect(try await queue.retryDead([open]) == [open: "requeued"])
      #expect(try await queue.cancel([open], on: other) == [open: "unknown"])
      #expect(try await queue.cancel([open], on: own) == [open: "cancelled"])
    }
  }

  @Test("No login can ask which users another role sees")
  func seen() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("user")
      try await queue.execute(
        "SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'user', 'north')")
      try await withLogin("seeing", of: ["clinician"], in: queue) { (login) async throws in
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute("SELECT analysis.grant_clinics('\(name)', '{north}')")
        let seen = "SELECT count(*) FROM analysis.users_seen('\(name)')"
        #expect(try await login.query(seen).single().int(0) == 1)
        try await withLogin("asking", of: ["reporter"], in: queue) { (asking) async throws in
          #expect(try await asking.query(seen).single().int(0) == 0)
        }
      }
    }
  }

  @Test("The numbers of logins are not used up by submits that are undone")
  func numbers() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("user")
      // All but one are taken, and none is drawn from a sequence.
      try await queue.execute(
        "INSERT INTO analysis.submitter SELECT i, 'login-' || i FROM generate_series(1, 32767) i WHERE i <> 77"
      )
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        for _ in 1...3 {
          try await login.withConnection { (connection) async throws in
            try await connection.execute(
              script: "BEGIN; SELECT analysis.submit_image('user', 'throat', E'\\\\xffd8ff'); ROLLBACK")
          }
        }
        _ = try await login.query("SELECT analysis.submit_image('user', 'throat', E'\\\\xffd8ff')")
        #expect(try await queue.numbers("SELECT submitter FROM analysis.job") == [77])
      }
      try await withLogin("late", of: ["submitter"], in: queue) { (login) async throws in
        let error = await #expect(throws: PostgreSQLError.self) {
          try await login.query("SELECT analysis.submit_image('user', 'throat', E'\\\\xffd8ff')")
        }
        #expect(error?.sqlState == "53400")
      }
    }
  }

  @Test("A key belongs to the login that submits: another with the same key gets a job of its own")
  func keys() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("user")
      let submit =
        "SELECT outcome, job_id FROM analysis.submit_image('user', 'throat', E'\\\\xffd8ff', 'key')"
      let ask = "SELECT count(*) FROM analysis.job_state('user', $1)"
      let billed = """
        SELECT count(*) FROM analysis.billed_before(0::smallint, '{user}', '{1}', '{key}', ARRAY[sha256(E'\\\\xffd8ff')])
        """
      try await withLogin("one", of: ["submitter"], in: queue) { (one) async throws in
        try await withLogin("two", of: ["submitter"], in: queue) { (two) async throws in
          for login in [one, two] {
            let first = try await login.query(submit).single()
            let again = try await login.query(submit).single()
            #expect(try first.string(0) == "created" && again.string(0) == "duplicate")
            #expect(try again.int64(1) == first.int64(1))
            #expect(try await login.query(ask, [.int64(try first.int64(1))]).single().int(0) == 1)
            #expect(try await login.query(billed).single().int(0) == 0)
          }
          // As version 1.0 kept the first one's key.
          try await queue.execute(
            """
            DELETE FROM analysis.idem i USING analysis.job j
            WHERE j.id = i.job_id AND j.submitter = (SELECT s.id FROM analysis.submitter s WHERE s.login ~ 'two');
            UPDATE analysis.idem i SET key_hash = sha256(a.key_salt || 'key') FROM analysis.account a;
            UPDATE analysis.admission SET has_old_keys = true
            """)
          #expect(try await one.query(submit).single().string(0) == "duplicate")
          #expect(try await one.query(billed).single().int(0) == 0)
          #expect(try await two.query(billed).single().int(0) == 1)
          #expect(try await two.query(submit).single().string(0) == "created")
          #expect(try await two.query(submit).single().string(0) == "duplicate")
        }
      }
    }
  }

  @Test("A login's first submits wait for no other of its sessions, and each of them sees the jobs of all")
  func firstSubmits() async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["one", "two"] { try await queue.addUser(user) }
      func submit(_ user: String) -> String {
        "SELECT job_id FROM analysis.submit_image('\(user)', 'throat', E'\\\\xffd8ff', 'key')"
      }
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        let second = ConnectionPool(login.configuration, on: queue.loop, size: 1)
        try await login.transaction { (open) async throws in
          _ = try await open.query(submit("one"))
          try await queue.execute("ALTER FUNCTION analysis.submit SET lock_timeout = '10ms'")
          _ = try await second.query(submit("two"))
        }
        await second.close()
        let jobs = try await queue.numbers(
          "SELECT j.id FROM analysis.job j JOIN analysis.account a USING (shard, user_id) ORDER BY a.user_ref"
        )
        #expect(try await queue.count("submitter") == 2)
        for (user, job) in zip(["one", "two"], jobs) {
          #expect(try await login.query(submit(user)).single().int(0) == job)
          #expect(try await login.query("SELECT state FROM analysis.job_state('\(user)', \(job))").count == 1)
        }
        let cancelled = try await login.query(
          "SELECT o_outcome FROM analysis.cancel(0::smallint, $1)", [.array(jobs.map(Int64.init))])
        #expect(try cancelled.map { try $0.string(0) } == ["cancelled", "cancelled"])
      }
    }
  }
}
