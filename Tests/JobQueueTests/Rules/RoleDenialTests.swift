import PostgreSQL
import QueueTestSupport
import Testing

@Suite("What the roles of the installation may not do, and may")
struct RoleDenialTests {
  /// A statement as a role.
  struct Attempt: Sendable, CustomTestStringConvertible {
    let role: String
    let sql: String

    init(_ role: String, _ sql: String) {
      self.role = role
      self.sql = sql
    }

    var testDescription: String { "\(role): \(sql)" }
  }

  /// Everybody but the owner.
  static let roles = ["analysis_submitter", "analysis_worker", "analysis_reporter", "analysis_auditor"]

  /// What nobody but the owner may.
  static let forbidden: [String] = [
    "UPDATE analysis.usage SET used = 0",
    "INSERT INTO analysis.usage (shard, user_id, period) VALUES (0, 1, 24300)",
    "UPDATE analysis.plan SET cost = 1", "INSERT INTO analysis.plan_limit VALUES (1, now(), NULL)",
    "UPDATE analysis.account SET zone = 'UTC'", "DELETE FROM analysis.account",
    "INSERT INTO analysis.account_plan VALUES (0, 1, now(), 2)", "DELETE FROM analysis.statement",
    "INSERT INTO analysis.statement VALUES ('usage', 24300, now())",
    "UPDATE analysis.setting SET value = '1'",
    "DELETE FROM analysis.result", "DELETE FROM analysis.job", "DELETE FROM analysis.image",
    "INSERT INTO analysis.refund (shard, period, user_id, job_id, reason) VALUES (0, 24300, 1, 1, 'x')",
    "SELECT key_salt FROM analysis.account", "SELECT * FROM analysis.account",
    "SELECT key_hash FROM analysis.job",
    "SELECT * FROM analysis.idem", "SELECT name, email FROM analysis.profile",
    "SELECT analysis.add_user(0::smallint, 'u', 'free', 'UTC', NULL, NULL)",
    "SELECT analysis.set_plan(0::smallint, 'u', 'free', NULL)",
    "SELECT analysis.set_plan_limit('free', 9, NULL)",
    "SELECT analysis.set_zone(0::smallint, 'u', 'UTC')",
    "SELECT analysis.save_profile(0::smallint, 1, 'n', 'e', NULL, NULL, NULL)",
    "GRANT analysis_administrator TO analysis_worker", "SELECT analysis.apply_rights()",
    "SELECT analysis.lock_audit(true)",
    "DELETE FROM analysis.audit", "UPDATE analysis.audit SET role = 'nobody'",
    "INSERT INTO analysis.audit_draft (at, role, action, object) VALUES (now(), 'x', 'x', 'x')",
    "UPDATE analysis.audit_head SET id = 0", "SELECT analysis.audit_add('x', 'y')",
    "SELECT analysis.erase_user(0::smallint, 'u', NULL, true)",
    "SELECT analysis.open_export(0::smallint, 'u')",
    "SELECT analysis.export_user(0::smallint, 1, '1')",
    "SELECT analysis.export_images(0::smallint, 1, '1', 24300::smallint, 0, 1)",
    "SELECT analysis.await_submits()",
    "SELECT analysis.purge_months(now())", "SELECT analysis.purge_audit(1, now(), false, 1)",
    "SELECT analysis.add_clinic('x')", "SELECT analysis.grant_clinics('analysis_worker', '{}')",
    "SELECT analysis.lift_clinics('analysis_worker')",
    "SELECT analysis.assign_clinic(0::smallint, 'u', NULL)",
    "DELETE FROM analysis.clinic_viewer", "SELECT analysis.retry_dead(0::smallint, '{1}')",
    "CREATE TABLE analysis.mine (a int)",
    "CREATE FUNCTION analysis.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "DROP TABLE analysis.usage", "ALTER TABLE analysis.usage DISABLE ROW LEVEL SECURITY",
    "DROP POLICY clinic ON analysis.result",
  ]

  /// The state with which the server refuses a statement; nil when it does not.
  private func refusal(_ attempt: Attempt, in queue: QueueFixture) async throws -> String? {
    do {
      try await queue.pool.transaction { transaction in
        _ = try await transaction.query("SET LOCAL ROLE \(attempt.role)")
        _ = try await transaction.query(attempt.sql)
      }
      return nil
    } catch let error as PostgreSQLError {
      return error.sqlState
    }
  }

  private func expectDenied(_ attempts: [Attempt]) async throws {
    try await withCheckedQueue { (queue) async throws in
      for attempt in attempts {
        #expect(try await refusal(attempt, in: queue) == "42501", "\(attempt.testDescription)")
      }
    }
  }

  @Test("Nobody changes what bills stand on, reads a secret, gives rights or makes things in the schema")
  func everybody() async throws {
    let reading = Self.roles.filter { $0 != "analysis_auditor" }.map {
      Attempt($0, "SELECT * FROM analysis.audit")
    }
    try await expectDenied(
      Self.roles.flatMap { role in Self.forbidden.map { Attempt(role, $0) } } + reading)
  }

  @Test(
    "A worker reads no name, no address and no file name, and neither submits nor cancels nor reads results")
  func worker() async throws {
    try await expectDenied(
      [
        "SELECT email FROM analysis.profile", "SELECT name FROM analysis.profile",
        "SELECT user_ref FROM analysis.account",
        "SELECT source_name FROM analysis.job", "SELECT source_name FROM analysis.job_status",
        "SELECT bytes FROM analysis.image", "SELECT id FROM analysis.image LIMIT 0",
        "SELECT conditions FROM analysis.result", "SELECT * FROM analysis.usage",
        "SELECT analysis.submit_image('u', 'throat', 'x'::bytea)",
        "SELECT analysis.cancel(0::smallint, '{1}')",
        "SELECT analysis.open_results('u', '{1}')", "SELECT analysis.close_usage(24300::smallint)",
        "SELECT analysis.pause('all', '', NULL, NULL)", "SELECT * FROM analysis.statement_line",
      ].map { Attempt("analysis_worker", $0) })
  }

  @Test(
    "A submitter reads no image back, by the table or by a month's, and does no worker's or administrator's work"
  )
  func submitter() async throws {
    try await withCheckedQueue { (queue) async throws in
      let month = try await queue.number("SELECT max(period)::int FROM analysis.partition_made")
      let attempts = [
        "SELECT bytes FROM analysis.image", "SELECT count(*) FROM analysis.image",
        "SELECT id, sha256 FROM analysis.image LIMIT 0", "SELECT count(*) FROM analysis.image_p\(month)",
        "SELECT source_name FROM analysis.job", "SELECT * FROM analysis.job_status",
        "SELECT conditions FROM analysis.result",
        "SELECT user_id FROM analysis.result", "SELECT user_ref FROM analysis.account",
        "SELECT * FROM analysis.attempts_of(0::smallint, 1)",
        "SELECT * FROM analysis.job_attempts(0::smallint, 1)", "SELECT message FROM analysis.dead",
        "SELECT * FROM analysis.images_of_jobs(0::smallint, sha256('1'), 24300::smallint, '{1}', '{1}')",
        "SELECT analysis.claim(0::smallint, sha256('1'), 1, '{5}', '{0}', '{1}', 1, 1000)",
        "SELECT * FROM analysis.usage",
        "SELECT analysis.heartbeat(0::smallint, sha256('1'), '{}', 1, 'h', 1, 'v', 0)",
        "SELECT * FROM analysis.statement_line",
        "SELECT analysis.close_usage(24300::smallint)", "SELECT analysis.pause('all', '', NULL, NULL)",
        "DELETE FROM analysis.ready", "SELECT analysis.ensure_partitions(24300::smallint, 24300::smallint)",
      ]
      for sql in attempts {
        #expect(try await refusal(Attempt("analysis_submitter", sql), in: queue) == "42501", "\(sql)")
      }
    }
  }

  @Test("A reporter sees no image and no diagnosis, and changes nothing but that a month is closed")
  func reporter() async throws {
    try await expectDenied(
      [
        "SELECT count(*) FROM analysis.image", "SELECT conditions FROM analysis.result",
        "SELECT primary_name FROM analysis.result", "SELECT serious FROM analysis.result",
        "SELECT * FROM analysis.job_status", "SELECT id FROM analysis.job",
        "SELECT message FROM analysis.dead",
        "SELECT message FROM analysis.attempt_error", "SELECT analysis.open_results('u', '{1}')",
        "SELECT analysis.attempts_of(0::smallint, 1)", "SELECT analysis.cancel(0::smallint, '{1}')",
        "SELECT analysis.submit_image('u', 'throat', 'x'::bytea)",
        "SELECT analysis.pause('all', '', NULL, NULL)",
        "SELECT analysis.audit_list(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1)",
        // Nobody has a month closed before it is over.
        "SELECT analysis.close_usage(analysis.period_of(now(), 'UTC'), now() + interval '1 year')",
      ].map { Attempt("analysis_reporter", $0) })
  }

  @Test("An auditor sees no image, no diagnosis and no file name, and changes nothing at all")
  func auditor() async throws {
    try await expectDenied(
      [
        "SELECT count(*) FROM analysis.image", "SELECT conditions FROM analysis.result",
        "SELECT primary_id FROM analysis.result", "SELECT * FROM analysis.job_status",
        "SELECT source_name FROM analysis.job", "SELECT analysis.open_results('u', '{1}')",
        "SELECT analysis.close_usage(24300::smallint)", "SELECT analysis.pause('all', '', NULL, NULL)",
        "SELECT analysis.resume('all', '')", "SELECT analysis.cancel(0::smallint, '{1}')",
        "SELECT analysis.submit_image('u', 'throat', 'x'::bytea)",
      ].map { Attempt("analysis_auditor", $0) })
  }

  @Test("A worker sees the images of jobs that a worker has, for as long as it has them, and no others")
  func workersImages() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      _ = try await queue.create((1...3).map { Ask("u", image: "photo \($0)") })
      let month = try await queue.number("SELECT max(period)::int FROM analysis.image")
      func byFunction(_ jobs: [Int64]) -> Attempt {
        let list = jobs.map { "\($0)" }.joined(separator: ",")
        return Attempt(
          "analysis_worker",
          "SELECT o_image FROM analysis.images_of_jobs(0::smallint, sha256('1'), \(month)::smallint, '{100,101}', '{\(list)}')"
        )
      }
      let jobs = try await queue.pool.query("SELECT id FROM analysis.job").map { try $0.int64(0) }
      #expect(try await refusal(byFunction(jobs), in: queue) == "40001")
      let claimed = try await queue.claim(2)
      #expect(try await refusal(byFunction(jobs), in: queue) == "40001")
      #expect(try await refusal(byFunction(claimed.map(\.job)), in: queue) == nil)
      _ = try await queue.complete([claimed[0]])
      #expect(try await refusal(byFunction(claimed.map(\.job)), in: queue) == "40001")
      #expect(try await refusal(byFunction([claimed[1].job]), in: queue) == nil)
    }
  }

  @Test("Each does by the functions what is its own")
  func permitted() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      for attempt in [
        Attempt("analysis_submitter", "SELECT analysis.submit_image('u', 'throat', 'photo'::bytea)"),
        Attempt("analysis_submitter", "SELECT analysis.open_results('u', '{1}')"),
        Attempt("analysis_submitter", "SELECT * FROM analysis.cancel(0::smallint, '{1}')"),
        Attempt(
          "analysis_worker",
          "SELECT * FROM analysis.claim(0::smallint, sha256('1'), 1, '{5}', '{0}', '{1}', 1, 1000)"),
        Attempt("analysis_worker", "SELECT analysis.refresh_gauges()"),
        Attempt("analysis_worker", "SELECT analysis.prepare_months()"),
        Attempt("analysis_reporter", "SELECT * FROM analysis.usage_report(24300::smallint, NULL, now())"),
        Attempt("analysis_reporter", "SELECT analysis.close_usage(24300::smallint)"),
        Attempt("analysis_reporter", "SELECT * FROM analysis.finding_counts(24300::smallint)"),
        Attempt("analysis_auditor", "SELECT * FROM analysis.usage_report(24300::smallint, NULL, now())"),
      ] {
        #expect(try await refusal(attempt, in: queue) == nil, "\(attempt.testDescription)")
      }
    }
  }
}
