import Formatting
import PostgreSQL

/// Whether dead rows are removed, and old rows frozen in time.
struct VacuumChecks: DatabaseCheck {
  let group = "vacuum"

  /// A table of the queue.
  struct Table: Sendable, Equatable {
    let name: String
    let isVacuumed: Bool
    let dead: Int64
    let live: Int64
    /// With how many dead rows vacuum comes.
    let trigger: Double
    /// Seconds since it last came; nil for never.
    let lastVacuum: Double?
  }

  /// How the whole server is set, and its oldest database.
  struct Server: Sendable, Equatable {
    let isOn: Bool
    let counts: Bool
    let freezeAge: Int64
    let oldestDatabase: String
    /// In transactions.
    let age: Int64
  }

  /// At 2,000 million transactions the server takes no more writes; it warns at 40 million before it.
  private static let danger: Int64 = 1_500_000_000
  /// Vacuum comes at once times the trigger; this many say that it does not keep up.
  private static let manyTriggers = 20.0

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("vacuum_settings").single()
    let server = Server(
      isOn: try row.bool(0), counts: try row.bool(1), freezeAge: try row.int64(2),
      oldestDatabase: try row.string(3), age: try row.int64(4))
    let tables = try await database.rows("vacuum").map { row in
      Table(
        name: try row.string(0), isVacuumed: try row.bool(1), dead: try row.int64(2), live: try row.int64(3),
        trigger: try row.double(4), lastVacuum: try row.doubleIfPresent(5))
    }
    return Self.judge(server) + Self.judge(tables)
  }

  static func judge(_ server: Server) -> [Finding] {
    [automatic(server), age(server)]
  }

  private static func automatic(_ server: Server) -> Finding {
    let check = "vacuum.automatic"
    if !server.isOn {
      return .wrong(
        check, "autovacuum is off: the queue's tables grow and slow down with every job",
        "Turn autovacuum on in postgresql.conf and reload.")
    }
    if !server.counts {
      return .wrong(
        check, "track_counts is off: autovacuum does not know what to do",
        "Turn track_counts on, for the server or this database: ALTER DATABASE … RESET track_counts.")
    }
    return .ok(check, "autovacuum is on")
  }

  private static func age(_ server: Server) -> Finding {
    let check = "vacuum.wraparound"
    let message = "the oldest row of database \(server.oldestDatabase) is \(server.age) transactions old"
    let advice = "See what holds vacuum up (horizon.*), then VACUUM FREEZE that database as its owner."
    if server.age > danger {
      return .wrong(check, "\(message); at 2,000 million the server takes no more writes", advice)
    }
    guard server.age > 2 * server.freezeAge else { return .ok(check, message) }
    return .warning(
      check,
      "\(message), more than twice autovacuum_freeze_max_age (\(server.freezeAge)): vacuum does not keep up",
      advice)
  }

  static func judge(_ tables: [Table]) -> [Finding] {
    guard !tables.isEmpty else { return [.skipped("vacuum.tables", "there are no tables of the queue")] }
    let unswept = tables.filter { !$0.isVacuumed }.map { table in
      Finding.wrong(
        "vacuum.tables", "autovacuum is off for analysis.\(table.name)",
        "Turn it on: ALTER TABLE analysis.\(table.name) RESET (autovacuum_enabled).")
    }
    let crowded = tables.filter { Double($0.dead) > max($0.trigger, 50) * manyTriggers }.map(dead)
    let findings = unswept + crowded
    guard findings.isEmpty else { return findings }
    let most = tables.max { $0.dead < $1.dead }
    return [
      .ok(
        "vacuum.tables", most.map { "at most \($0.dead) dead rows, in analysis.\($0.name)" } ?? "no dead rows"
      )
    ]
  }

  private static func dead(_ table: Table) -> Finding {
    let last = table.lastVacuum.map { "last vacuumed \(Moment.age($0)) ago" } ?? "never vacuumed"
    return .warning(
      "vacuum.dead_rows",
      "analysis.\(table.name) has \(table.dead) dead rows beside \(table.live) live ones, \(last)",
      "See what holds vacuum up (horizon.*), or VACUUM analysis.\(table.name) yourself.")
  }
}
