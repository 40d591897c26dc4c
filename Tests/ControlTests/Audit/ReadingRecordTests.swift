import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("A reading is in the audit before anything is read")
struct ReadingRecordTests {
  /// What shows something of persons: the role that reads it, the call that opens it, and the call that gives rows, in which `$` is
  /// what the first answered.
  struct Reading: Sendable, CustomTestStringConvertible {
    let role: String
    let action: String
    let open: String
    let rows: String

    var testDescription: String { "\(role): \(rows)" }
  }

  private static let month =
    "(SELECT max(m.period) FROM analysis.partition_made m WHERE m.created_at IS NOT NULL "
    + "AND m.period <= analysis.period_of(now(), 'UTC'))"

  static let readings = [
    Reading(
      role: "submitter", action: "read_result", open: "analysis.open_results('u', ARRAY[JOB])",
      rows: "analysis.results_of('u', '$')"),
    Reading(
      role: "clinician", action: "read_result", open: "analysis.open_results('u', ARRAY[JOB])",
      rows: "analysis.results_of('u', '$')"),
    Reading(
      role: "reporter", action: "report", open: "analysis.open_conditions(\(month), NULL)",
      rows: "analysis.report_conditions(\(month), '$')"),
    Reading(
      role: "clinician", action: "report", open: "analysis.open_analyses(\(month), NULL)",
      rows: "analysis.report_analyses(\(month), '$', NULL, 0::smallint, 0, 100000)"),
    Reading(
      role: "clinician", action: "list_reviews", open: "analysis.open_review_queue(NULL, NULL)",
      rows: "analysis.review_queue(0::smallint, NULL, NULL, NULL, NULL, NULL, NULL, 10, '$')"),
    Reading(
      role: "reviewer", action: "read_image", open: "analysis.open_picture(0::smallint, JOB)",
      rows: "analysis.picture_of(0::smallint, JOB, '$')"),
    Reading(
      role: "privacy", action: "export",
      open: "(SELECT o_export FROM analysis.open_export(0::smallint, 'u'))",
      rows: "analysis.export_jobs(0::smallint, USER, '$')"),
  ]

  /// A user with one analysed job, and a login with a role.
  private func with(
    _ group: String,
    _ body: (_ queue: QueueFixture, _ login: ConnectionPool, _ filled: (String) -> String) async throws ->
      Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u")
      let user = try await queue.number("SELECT user_id FROM analysis.account")
      try await withLoginRole(on: queue.pool, named: "login", in: ["analysis_\(group)"]) {
        (role) async throws in
        try await withQueue(in: queue.database.login(role), connections: 1) { (login) async throws in
          // A back-end reads what it has submitted itself.
          let job = try #require(
            try await queue.submit([Ask("u")], on: group == "submitter" ? login.pool : queue.pool)[0].job)
          _ = try await queue.complete(try await queue.claim())
          try await body(queue, login.pool) {
            $0.replacing("JOB", with: "\(job)").replacing("USER", with: "\(user)")
          }
        }
      }
    }
  }

  /// The reader's entries.
  private func entries(_ queue: QueueFixture, _ action: String) async throws -> Int {
    try await queue.number(
      """
      SELECT count(*) FROM (SELECT action FROM analysis.audit UNION ALL SELECT action FROM analysis.audit_draft) e
      WHERE e.action = $1
      """, [.text(action)])
  }

  @Test("so what is read in a transaction that is rolled back has its entry", arguments: readings)
  func kept(reading: Reading) async throws {
    try await with(reading.role) { (queue, login, filled) async throws in
      let open = try await login.query("SELECT " + filled(reading.open)).single().string(0)
      #expect(try await entries(queue, reading.action) == 1)
      try await login.withConnection { connection in
        try await connection.execute(script: "BEGIN")
        let sql = "SELECT 1 FROM " + filled(reading.rows).replacing("$", with: open)
        #expect(try await connection.query(sql).count == 1)
        try await connection.execute(script: "ROLLBACK")
      }
      // A reading that fails later keeps it too.
      await #expect(throws: PostgreSQLError.self) {
        try await login.query("SELECT 1 / 0 FROM " + filled(reading.rows).replacing("$", with: open))
      }
      #expect(try await entries(queue, reading.action) == 1)
    }
  }

  @Test(
    "so nothing is read where the entry would go with the transaction, whatever the client defers",
    arguments: readings, ["", "SET CONSTRAINTS ALL IMMEDIATE; SAVEPOINT s;"])
  func nothing(reading: Reading, first: String) async throws {
    try await with(reading.role) { (queue, login, filled) async throws in
      try await login.withConnection { connection in
        try await connection.execute(script: "BEGIN; \(first)")
        let open = try await connection.query("SELECT " + filled(reading.open)).single().string(0)
        let error = await #expect(throws: PostgreSQLError.self) {
          try await connection.query("SELECT 1 FROM " + filled(reading.rows).replacing("$", with: open))
        }
        #expect(error?.sqlState == "42501")
        try await connection.execute(script: "ROLLBACK")
      }
      for never in ["", "1-1", "12345", "x"] {
        let error = await #expect(throws: PostgreSQLError.self) {
          try await login.query("SELECT 1 FROM " + filled(reading.rows).replacing("$", with: never))
        }
        #expect(error?.sqlState == "42501", "\(never)")
      }
      #expect(try await entries(queue, reading.action) == 0)
    }
  }

  @Test("so another role's reading, and that of another report, opens nothing", arguments: readings)
  func others(reading: Reading) async throws {
    try await with(reading.role) { (queue, login, filled) async throws in
      // Opened by the owner.
      let open = try await queue.texts("SELECT " + filled(reading.open))[0]
      let error = await #expect(throws: PostgreSQLError.self) {
        try await login.query("SELECT 1 FROM " + filled(reading.rows).replacing("$", with: open))
      }
      #expect(error?.sqlState == "42501")
    }
    try await with("reporter") { (queue, login, filled) async throws in
      // Who may not read the analyses leaves no entry, and its own reading is not one of them.
      let error = await #expect(throws: PostgreSQLError.self) {
        try await login.query("SELECT " + filled(Self.readings[3].open))
      }
      #expect(error?.sqlState == "42501")
      #expect(try await entries(queue, "report") == 0)
    }
  }
}
