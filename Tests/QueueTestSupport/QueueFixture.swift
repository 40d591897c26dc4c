import Control
package import EventLoop
package import PostgreSQL
package import Queue
import Support
package import TestSupport
package import Testing

/// A database of a test's own with the whole schema, short ways to put something into it and to look into it.
package struct QueueFixture: Sendable {
  /// The database as programs reach it: through a proxy or a pooler, where there is one.
  package let database: TestDatabase
  package let loop: EventLoop
  /// The test's own connections.
  package let pool: ConnectionPool
  package let statements = WorkerStatements(
    shard: 0,
    worker: WorkerIdentity(
      secret: Secret(bytes: Array(repeating: 77, count: 32)), host: "test", pid: 1, version: "1.0"))

  /// The secret of that worker, as SQL writes it.
  package static let workerSecret = "decode(repeat('4d', 32), 'hex')"

  package init(database: TestDatabase, loop: EventLoop, pool: ConnectionPool) {
    self.database = database
    self.loop = loop
    self.pool = pool
  }

  /// The same, which programs reach by another way, such as a pooler or a login.
  package func reached(by conninfo: String) -> QueueFixture {
    QueueFixture(database: database.reached(by: conninfo), loop: loop, pool: pool)
  }

  /// The same, which programs reach without the pooler of `scripts/test --pooled`.
  ///
  /// - Parameter role: The role of the installation as which their sessions act; a pooler refuses that option.
  package func direct(as role: String? = nil) async throws -> QueueFixture {
    let conninfo = try await TestServer.shared.conninfo(database: database.name)
    return reached(by: conninfo + (role.map { " options='-c role=analysis_\($0)'" } ?? ""))
  }

  /// A connection past that pooler, for who listens: a pooler passes no notification on.
  package func listener() async throws -> Connection {
    try await direct().database.connect(on: loop)
  }

  // MARK: Questions

  /// The first column of a query that answers one row, as a whole number.
  package func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int {
    try await pool.query(sql, parameters).single().int(0)
  }

  /// The first column of a query, as whole numbers.
  package func numbers(_ sql: String, _ parameters: [Parameter] = []) async throws -> [Int] {
    try await pool.query(sql, parameters).map { try $0.int(0) }
  }

  /// The first column of a query that answers one row, as a text.
  package func text(_ sql: String, _ parameters: [Parameter] = []) async throws -> String {
    try await pool.query(sql, parameters).single().string(0)
  }

  /// The first column of a query, as texts.
  package func texts(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
    try await pool.query(sql, parameters).map { try $0.string(0) }
  }

  /// Runs statements.
  package func execute(_ script: String) async throws {
    try await pool.execute(script: script)
  }

  /// How many rows a table of the schema has.
  package func count(_ table: String) async throws -> Int {
    try await number("SELECT count(*) FROM analysis.\(table)")
  }

  // MARK: What there is

  /// How many jobs were analysed.
  package var results: Int {
    get async throws { try await count("result WHERE outcome = 1") }
  }

  /// How many units are taken and not owed back.
  package var units: Int {
    get async throws {
      try await number(
        "SELECT coalesce(sum(used), 0) - (SELECT count(*) FROM analysis.refund) FROM analysis.usage")
    }
  }

  /// The state of every job, by its number.
  package func states() async throws -> [Int64: String] {
    let rows = try await pool.query("SELECT job_id, state FROM analysis.job_status")
    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.int64(0), try $0.string(1)) })
  }

  /// What a user's row of the present month says, in UTC, refunds that are not applied yet taken off.
  package func usage(_ user: String) async throws -> Usage {
    let row = try await pool.query(
      """
      SELECT coalesce(sum(u.used), 0) - (
               SELECT count(*) FROM analysis.refund f WHERE f.shard = a.shard AND f.user_id = a.user_id),
             coalesce(sum(u.refunded), 0), coalesce(sum(u.refused), 0)
      FROM analysis.account a LEFT JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id
      WHERE a.user_ref = $1 GROUP BY a.shard, a.user_id
      """, [.text(user)]
    ).single()
    return Usage(used: try row.int(0), refunded: try row.int(1), refused: try row.int(2))
  }

  package struct Usage: Sendable, Equatable {
    package var used: Int
    package var refunded: Int
    package var refused: Int

    package init(used: Int = 0, refunded: Int = 0, refused: Int = 0) {
      self.used = used
      self.refunded = refunded
      self.refused = refused
    }
  }

  /// Returns when some connection to this database waits for another's lock.
  package func untilSomebodyWaits() async throws {
    try await eventually {
      try await number(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      ) > 0
    }
  }

  // MARK: What must hold

  /// What must hold at every moment.
  package func expectInvariants(_ location: SourceLocation = #_sourceLocation) async throws {
    // It looks at every row, of which some tests have very many.
    let broken = try await pool.query(
      "SELECT format('%s: job %s, user %s: %s', rule, job_id, user_id, detail) FROM analysis.broken_invariants()",
      deadline: patience
    ).map { try $0.string(0) }
    #expect(broken == [], "invariants", sourceLocation: location)
  }

  /// What must hold when no worker runs: every invariant, counters that agree with the jobs, and no lease is left.
  package func expectSound(_ location: SourceLocation = #_sourceLocation) async throws {
    try await expectInvariants(location)
    let differences = try await Reconciliation.run(pool, month: nil)
    #expect(differences.isEmpty, "\(differences)", sourceLocation: location)
    #expect(try await count("lease") == 0, "a lease is left", sourceLocation: location)
  }
}
