import EventLoop
import JobQueue
import PostgreSQL
package import TestSupport

/// The schema as `analysisctl migrate` leaves it; each test gets a copy.
package enum RuleSchema {
  package static let template = DatabaseTemplate("rules") { conninfo in
    let loop = try EventLoop(name: "rules-template")
    defer { loop.shutdown() }
    let pool = ConnectionPool(ConnectionConfiguration(conninfo), on: loop, size: 1)
    _ = try await Migrator(pool).migrate()
    await pool.close()
  }
}
