import PostgreSQL
import Queue

/// This machine's clock against the server's.
struct ClockCheck: DatabaseCheck {
  let group = "clock"

  /// The queue itself goes by the server's clock alone; logs, tokens and dates on requests do not.
  static let tolerance = 2.0
  /// The quickest of a few answers is the most exact.
  private static let questions = 3

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    var best: ClockComparison?
    for _ in 0..<Self.questions {
      let measured = try await ClockComparison.measured(on: database.pool, deadline: AskedDatabase.deadline)
      if best.map({ measured.uncertainty < $0.uncertainty }) ?? true { best = measured }
    }
    return best.map { [Self.judge($0, check: "clock.server", who: "this machine")] } ?? []
  }

  /// A finding of a clock that goes wrong for certain, whatever the question took.
  static func judge(_ clock: ClockComparison, check: String, who: String) -> Finding {
    guard abs(clock.ahead) - clock.uncertainty > tolerance else {
      return .ok(check, "\(who) keeps time with the database server (± \(rounded(clock.uncertainty)) s)")
    }
    let message = "\(who) is \(phrase(clock)) the database server"
    return .warning(
      check, message,
      "Let both keep time (chrony, systemd-timesyncd). Leases and months go by the server's clock alone; logs "
        + "and the ends of tokens do not.")
  }

  /// `3.2 s ahead of (± 0.001 s)`.
  static func phrase(_ clock: ClockComparison) -> String {
    let direction = clock.ahead < 0 ? "behind" : "ahead of"
    return "\(rounded(abs(clock.ahead))) s (± \(rounded(clock.uncertainty)) s) \(direction)"
  }

  private static func rounded(_ seconds: Double) -> String { "\((seconds * 1000).rounded(.up) / 1000)" }
}

/// Whether the server knows the time zones in which months are counted.
struct ZoneChecks: DatabaseCheck {
  let group = "zones"
  let needsSchema = true

  /// The zone database has some 600 names; a server built without it knows a handful.
  private static let fewest = 300

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("zones").single()
    var findings = Self.judge(known: try row.int(0), unknownDefault: try row.stringIfPresent(1))
    do throws(PostgreSQLError) {
      let users = try await database.rows("zones_of_users")
      for row in users { findings.append(Self.unknown(zone: try row.string(0), user: try row.string(1))) }
    } catch {
      guard error.isPermissionDenied else { throw error }
      findings.append(
        .skipped("zones.users", "this role may not see users' zones", "Run doctor as the schema's owner."))
    }
    return findings
  }

  static func judge(known: Int, unknownDefault: String?) -> [Finding] {
    if let zone = unknownDefault {
      return [
        .wrong(
          "zones", "the server does not know the installation's zone, \(zone)",
          "Install the server's time zone data (tzdata), or set another zone.")
      ]
    }
    guard known >= fewest else {
      return [
        .wrong(
          "zones", "the server knows \(known) time zones only",
          "Install the server's time zone data (tzdata): users of the others cannot submit.")
      ]
    }
    return [.ok("zones", "the server knows \(known) time zones")]
  }

  static func unknown(zone: String, user: String) -> Finding {
    .wrong(
      "zones.users", "the server does not know the zone \(zone) of user \(user): submits of theirs fail",
      "Install newer time zone data (tzdata), or analysisctl users set-zone.")
  }
}
