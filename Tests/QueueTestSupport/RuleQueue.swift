import EventLoop
package import PostgreSQL
package import TestSupport
package import Testing

/// The queue's functions in a database of a test's own.
package struct RuleQueue: Sendable {
  package let pool: ConnectionPool

  package init(pool: ConnectionPool) {
    self.pool = pool
  }

  /// Runs a test on a fresh database; at its end no invariant of the queue may be broken.
  package static func run(
    clients: Int = 4, on template: DatabaseTemplate = RuleSchema.template,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (RuleQueue) async throws -> Void
  ) async throws {
    try await withTestDatabase(template) { database in
      let loop = try EventLoop(name: "rules")
      defer { loop.shutdown() }
      let queue = RuleQueue(pool: ConnectionPool(database.configuration, on: loop, size: clients))
      try await body(queue)
      let broken = try await queue.texts(
        "SELECT format('%s: job %s, user %s: %s', rule, job_id, user_id, detail) FROM analysis.broken_invariants()"
      )
      #expect(broken == [], "invariants", sourceLocation: sourceLocation)
      await queue.pool.close()
    }
  }

  /// The first column of a query, as whole numbers.
  package func numbers(_ sql: String, _ parameters: [Parameter] = []) async throws -> [Int] {
    try await pool.query(sql, parameters).map { try $0.int(0) }
  }

  /// The first column of a query that answers one row, as a whole number.
  package func number(_ sql: String, _ parameters: [Parameter] = []) async throws -> Int {
    try await pool.query(sql, parameters).single().int(0)
  }

  /// The first column of a query, as texts.
  package func texts(_ sql: String, _ parameters: [Parameter] = []) async throws -> [String] {
    try await pool.query(sql, parameters).map { try $0.string(0) }
  }

  /// Runs statements.
  package func execute(_ script: String) async throws {
    try await pool.execute(script: script)
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
}
