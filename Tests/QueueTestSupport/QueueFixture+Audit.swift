package import Control
import PostgreSQL
import Queue

extension QueueFixture {
  /// Every entry of the audit, the oldest first.
  package func entries() async throws -> [AuditEntry] {
    try await AuditLog(pool).list(limit: 10_000).reversed()
  }

  /// Records six entries, and chains them.
  package func recordSix() async throws {
    for number in 1...6 { try await record("thing:\(number)", reason: "why") }
    try await AuditLog(pool).chain()
  }

  /// What does not fit in the chain: the entry and the words, with a colon between.
  package func faults(expecting mark: AuditMark? = nil) async throws -> [String] {
    try await AuditLog(pool).verify(expecting: mark).faults.map {
      "\($0.id.map(String.init) ?? "-"): \($0.message)"
    }
  }

  /// Records something, in a transaction of its own.
  package func record(_ object: String, reason: String? = nil) async throws {
    _ = try await pool.query(
      "SELECT 1 FROM analysis.audit_add('test', $1, NULL, $2)", [.text(object), .text(reason)])
  }

  /// Records things as if it had been so long ago, and has them chained.
  package func record(_ interval: String, _ numbers: ClosedRange<Int>) async throws {
    try await execute(
      """
      INSERT INTO analysis.audit_draft (at, role, action, object)
      SELECT clock_timestamp() - interval '\(interval)', session_user, 'test', 'thing:' || n
      FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) n
      """)
    try await AuditLog(pool).chain()
  }

  /// Does to the tables of the audit what only a superuser can, past their triggers.
  package func tamper(_ sql: String) async throws {
    try await pool.withConnection { connection in
      try await connection.execute(
        script: "SET session_replication_role = replica; \(sql); SET session_replication_role = DEFAULT")
    }
  }
}
