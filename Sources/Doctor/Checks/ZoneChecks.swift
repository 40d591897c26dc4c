import PostgreSQL

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
