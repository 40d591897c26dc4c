import EventLoop
import JobQueue
import PostgreSQL
import SQLFiles
import TestSupport

/// The schema as `analysisctl migrate` leaves it, and the invariants' query; each test gets a copy.
enum RuleSchema {
  static let template = DatabaseTemplate("rules") { conninfo in
    let loop = try EventLoop(name: "rules-template")
    defer { loop.shutdown() }
    let pool = ConnectionPool(ConnectionConfiguration(conninfo), on: loop, size: 1)
    _ = try await Migrator(pool).migrate()
    for check in SQLFiles.files(in: "checks") {
      try await pool.execute(script: check.text)
    }
    await pool.close()
  }
}
