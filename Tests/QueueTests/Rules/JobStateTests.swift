import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("What a back-end is told of its job")
struct JobStateTests {
  /// A back-end's connections, and how it asks.
  private struct BackEnd {
    let login: ConnectionPool

    func state(_ job: Int64, of user: String = "user") async throws -> Row? {
      try await login.query(
        "SELECT *, run_at > failed_at AS is_later FROM analysis.job_state($1, $2)",
        [.text(user), .int64(job)]
      ).first
    }

    /// Waits, and gives the state or the server's refusal.
    func wait(
      _ job: Int64, of user: String = "user", for time: String = "30 s", after: String = ""
    ) async throws -> String {
      try await login.withConnection { connection in
        if !after.isEmpty { try await connection.execute(script: after) }
        do {
          return try await connection.query("CALL analysis.wait_for('\(user)', \(job), '\(time)')").single()
            .string(0)
        } catch let error as PostgreSQLError {
          return error.sqlState ?? "\(error)"
        }
      }
    }
  }

  private func with(_ body: (QueueFixture, BackEnd, _ job: Int64) async throws -> Void) async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("user")
      try await withLogin("one", of: ["submitter"], in: queue) { (login) async throws in
        let job = try #require(try await queue.submit([Ask("user")], on: login)[0].job)
        try await body(queue, BackEnd(login: login), job)
      }
    }
  }

  @Test("where it is, why its last attempt failed, how many it had, and when")
  func states() async throws {
    try await with { (queue, backEnd, job) async throws in
      func state() async throws -> Row { try #require(try await backEnd.state(job)) }
      #expect(try await state().string("state") == "waiting")
      #expect(try await state().int("attempts") == 0)
      #expect(try await state().stringIfPresent("reason") == nil)

      let held = try await queue.claim()
      #expect(try await state().string("state") == "running")
      _ = try await queue.fail(held.map(\.job), leases: held.map(\.lease), delay: 3_600_000)
      let failed = try await state()
      #expect(try failed.string("state") == "scheduled")
      #expect(try failed.int("attempts") == 1)
      #expect(try failed.string("reason") == "server")
      #expect(try failed.stringIfPresent("message") != nil)
      #expect(try failed.bool("is_later"))

      try await queue.execute("UPDATE analysis.scheduled SET run_at = now() - interval '1 hour'")
      #expect(try await queue.promote() == 1)
      _ = try await queue.complete(try await queue.claim(lease: 200))
      let done = try await state()
      #expect(try done.string("state") == "succeeded")
      #expect(try done.int("attempts") == 2)
      #expect(try done.stringIfPresent("reason") == nil)
      #expect(try done.timestampIfPresent("finished_at") != nil)
    }
  }

  @Test("why it is dead, and that it was cancelled")
  func ends() async throws {
    try await with { (queue, backEnd, job) async throws in
      let second = try #require(try await queue.submit([Ask("user", image: "2")], on: backEnd.login)[0].job)
      #expect(try await queue.cancel([second]) == [second: "cancelled"])
      #expect(try await backEnd.state(second)?.string("state") == "cancelled")
      _ = try await queue.fail([job], leases: [try await queue.claim()[0].lease], delay: nil)
      let dead = try #require(try await backEnd.state(job))
      #expect(try dead.string("state") == "dead")
      #expect(try dead.string("reason") == "server")
      #expect(try dead.timestampIfPresent("finished_at") != nil)
      #expect(try await backEnd.wait(job) == "dead")
      #expect(try await backEnd.wait(second) == "cancelled")
    }
  }

  @Test("nothing of another back-end's job, another user's, or one that there is not")
  func strangers() async throws {
    try await with { (queue, backEnd, job) async throws in
      try await queue.addUser("other")
      #expect(try await backEnd.state(job, of: "other") == nil)
      #expect(try await backEnd.state(job + 1000) == nil)
      #expect(try await backEnd.wait(job, of: "other") == "P0002")
      try await withLogin("two", of: ["submitter"], in: queue) { (login) async throws in
        #expect(try await BackEnd(login: login).state(job) == nil)
        #expect(try await BackEnd(login: login).wait(job) == "P0002")
      }
    }
  }

  @Test("the end, as soon as it has come, to who waits for it")
  func waited() async throws {
    try await with { (queue, backEnd, job) async throws in
      async let state = backEnd.wait(job)
      try await eventually { try await isWaiting(queue) }
      _ = try await queue.complete(try await queue.claim())
      #expect(try await state == "succeeded")
    }
  }

  @Test("the state that it has when the time is over, which is 30 seconds at most")
  func timeLimit() async throws {
    try await with { (_, backEnd, job) async throws in
      #expect(try await backEnd.wait(job, for: "0 s") == "waiting")
      for time in ["31 s", "-1 s", "1000000 years"] {
        #expect(try await backEnd.wait(job, for: time) == "22023", "\(time)")
      }
    }
  }

  @Test("that it cannot be waited for in a transaction, nor among several statements of a query")
  func inTransaction() async throws {
    try await with { (queue, backEnd, job) async throws in
      let call = "CALL analysis.wait_for('user', \(job), '0 s')"
      for script in ["BEGIN; \(call)", "SELECT 1; \(call)"] {
        let error = await #expect(throws: PostgreSQLError.self, "\(script)") {
          try await backEnd.login.withConnection { connection in
            try await connection.execute(script: "ROLLBACK")
            try await connection.execute(script: script)
          }
        }
        #expect(error?.sqlState == "2D000", "\(script): \(error?.message ?? "")")
        #expect(error?.message.contains("a transaction is open") == true, "\(error?.message ?? "")")
        #expect(error?.hint?.contains("job_state") == true)
      }
    }
  }

  @Test("without holding back what vacuum may remove while somebody waits")
  func snapshot() async throws {
    try await with { (queue, backEnd, job) async throws in
      async let state = backEnd.wait(job)
      try await eventually { try await isWaiting(queue) }
      let before = try await queue.number("SELECT (pg_current_xact_id()::text)::bigint")
      // What is held back is from after that transaction, while the same call waits.
      try await eventually {
        _ = try await queue.number("SELECT (pg_current_xact_id()::text)::bigint")
        return try await queue.number(
          """
          SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE 'CALL analysis.wait_for%' AND state = 'active'
            AND (backend_xmin IS NULL OR backend_xmin::text::bigint > \(before))
          """) == 1
      }
      _ = try await queue.complete(try await queue.claim())
      #expect(try await state == "succeeded")
    }
  }

  @Test("nothing else by whatever is first in its search path")
  func hostilePath() async throws {
    try await with { (queue, backEnd, job) async throws in
      let login = try await backEnd.login.query("SELECT session_user::text").single().string(0)
      try await queue.pool.execute(
        script: """
          CREATE SCHEMA hostile;
          GRANT USAGE ON SCHEMA hostile TO PUBLIC;
          CREATE FUNCTION hostile.trap() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
          CREATE FUNCTION hostile.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
          CREATE FUNCTION hostile.pg_sleep(numeric) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
          CREATE FUNCTION hostile.same(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
          CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.same);
          CREATE FUNCTION hostile.less(interval, interval) RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'trapped'; END $$;
          CREATE OPERATOR hostile.<= (LEFTARG = interval, RIGHTARG = interval, FUNCTION = hostile.less);
          CREATE OPERATOR hostile.>= (LEFTARG = interval, RIGHTARG = interval, FUNCTION = hostile.less);
          ALTER ROLE \(login) SET search_path = hostile, pg_catalog
          """)
      let path = "SET search_path = hostile, pg_catalog"
      #expect(try await backEnd.wait(job, for: "0.2 s", after: path) == "waiting")
      #expect(try await backEnd.wait(job, for: "0 s", after: path + "; BEGIN") == "2D000")
    }
  }

  private func isWaiting(_ queue: QueueFixture) async throws -> Bool {
    try await queue.number(
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE 'CALL analysis.wait_for%' AND wait_event = 'PgSleep'
      """
    ) == 1
  }
}
