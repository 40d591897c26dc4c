import PostgreSQL
import Support

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

/// What keeps dead rows from being removed: the queue lives by inserting and deleting, and slows down when its
/// dead rows stay.
struct HorizonChecks: DatabaseCheck {
  let group = "horizon"

  /// Something that holds a view of the past.
  struct Holder: Sendable, Equatable {
    enum Kind: String { case transaction, prepared, slot, standby }

    let kind: Kind
    let name: String
    /// Nil where the server does not say.
    let seconds: Double?
    /// Its age in transactions.
    let transactions: Int64
    /// Whether somebody uses it at this moment.
    let isActive: Bool
  }

  /// From how many transactions on a holder without a time is old: as many as a busy queue makes in minutes.
  static let manyTransactions: Int64 = 200_000

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let rows = try await database.rows("horizon")
    var holders: [Holder] = []
    for row in rows {
      guard let kind = Holder.Kind(rawValue: try row.string(0)) else { continue }
      holders.append(
        Holder(
          kind: kind, name: try row.string(1), seconds: try row.doubleIfPresent(2),
          transactions: try row.int64IfPresent(3) ?? 0, isActive: try row.bool(4)))
    }
    let limit = database.longTransaction.inSeconds
    var findings = holders.compactMap { Self.judge($0, limit) }
    if findings.isEmpty { findings = [.ok("horizon", "nothing holds an old view of the tables")] }
    if try await !database.seesOthers() {
      findings.append(
        .skipped("horizon.transaction", "this role does not see other roles' sessions", AskedDatabase.blind))
    }
    return findings
  }

  static func judge(_ holder: Holder, _ limit: Double) -> Finding? {
    let check = "horizon.\(holder.kind.rawValue)"
    let age = holder.seconds.map { "for \(Moment.age($0))" } ?? "over \(holder.transactions) transactions"
    let message = "\(holder.name) has held an old view of the tables \(age): dead rows stay"
    switch holder.kind {
    case .transaction:
      guard let seconds = holder.seconds, seconds > limit else { return nil }
      return .warning(
        check, message,
        "End it: in its program, or by SELECT pg_terminate_backend(…) with the process's number.")
    case .prepared:
      guard let seconds = holder.seconds, seconds > limit else { return nil }
      return .wrong(
        check, "prepared transaction \(message)",
        "Nobody ends it by itself: COMMIT PREPARED or ROLLBACK PREPARED it.")
    case .slot:
      if !holder.isActive {
        return .wrong(
          check, "replication slot \(message), and nobody reads it",
          "Bring its standby back, or drop it: SELECT pg_drop_replication_slot('…').")
      }
      guard holder.transactions > manyTransactions else { return nil }
      return .warning(check, "replication slot \(message)", "End the long query on its standby.")
    case .standby:
      guard holder.transactions > manyTransactions else { return nil }
      return .warning(
        check, "standby \(message) (hot_standby_feedback)",
        "End the long query there, or turn its hot_standby_feedback off.")
    }
  }
}
