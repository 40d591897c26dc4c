import PostgreSQL
import Queue

/// What the server is, and what of it this session meets.
struct ServerFacts: Sendable, Equatable {
  var version: String
  /// 150018 for 15.18.
  var versionNumber: Int
  var isStandby: Bool
  var isReadOnly: Bool
  var fsync: Bool
  var fullPageWrites: Bool
  var synchronousCommit: String
  var encoding: String
  var database: String
  /// Nil for a Unix socket.
  var address: String?
  var isEncrypted: Bool
  var role: String
  var isSuperuser: Bool
  /// Whether its corrections have ended, by the server's clock.
  var isOutOfSupport: Bool

  static func read(_ database: ConnectionPool) async throws(PostgreSQLError) -> ServerFacts {
    let row = try await database.query(AskedDatabase.text("server"), deadline: AskedDatabase.deadline)
      .single()
    return ServerFacts(
      version: try row.string(0), versionNumber: try row.int(1), isStandby: try row.bool(2),
      isReadOnly: try row.bool(3), fsync: try row.bool(4), fullPageWrites: try row.bool(5),
      synchronousCommit: try row.string(6), encoding: try row.string(7), database: try row.string(8),
      address: try row.stringIfPresent(9), isEncrypted: try row.bool(10), role: try row.string(11),
      isSuperuser: try row.bool(12), isOutOfSupport: try row.bool(13))
  }
}

/// The server, as far as every role may see it.
struct ServerChecks: DatabaseCheck {
  let group = "server"

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    ServerJudgement(facts: try await ServerFacts.read(database.pool)).findings
  }
}

/// Judges the server by what is known of it.
struct ServerJudgement: Sendable {
  let facts: ServerFacts

  /// The oldest version whose features the statements use.
  static let oldest = 15
  /// The newest version that the tests run against.
  static let newestTested = 18
  var findings: [Finding] {
    [
      .ok("server.reachable", "database \(facts.database) at \(facts.address ?? "a local socket")"), version,
      writable, durability, synchronousCommit, encoding, encryption, superuser,
    ].compactMap { $0 }
  }

  private var version: Finding {
    let (check, major) = ("server.version", facts.versionNumber / 10_000)
    let name = "PostgreSQL \(facts.version)"
    if major < Self.oldest {
      return .wrong(check, "\(name) is too old", "Upgrade the server to \(Self.oldest) or newer.")
    }
    if facts.isOutOfSupport {
      return .warning(
        check, "\(name) gets no corrections any more", "Upgrade the server to a newer major version.")
    }
    if major > Self.newestTested {
      return .warning(
        check, "\(name) is newer than what this program is tested with (\(Self.newestTested))",
        "Try upgrades of the server with a copy of the data first.")
    }
    return .ok(check, name)
  }

  private var writable: Finding {
    let check = "server.writable"
    if facts.isStandby {
      return .wrong(
        check, "this is a standby, or the server is recovering: nothing can be written",
        "Name all hosts of the cluster with target_session_attrs=read-write, so that the primary is found.")
    }
    if facts.isReadOnly {
      return .wrong(
        check, "transactions are read-only by default (default_transaction_read_only)",
        "Turn it off for the role or the database: ALTER ROLE … RESET default_transaction_read_only.")
    }
    return .ok(check, "it takes writes")
  }

  private var durability: Finding {
    let off = [facts.fsync ? nil : "fsync", facts.fullPageWrites ? nil : "full_page_writes"].compactMap { $0 }
    guard !off.isEmpty else { return .ok("server.durability", "fsync and full_page_writes are on") }
    return .wrong(
      "server.durability",
      "\(off.joined(separator: " and ")) off: a crash of the machine can destroy the whole database",
      "Turn it on in postgresql.conf and reload; what was written meanwhile is not safe before a checkpoint.")
  }

  private var synchronousCommit: Finding {
    let check = "server.synchronous_commit"
    guard facts.synchronousCommit == "off" else {
      return .ok(check, "synchronous_commit is \(facts.synchronousCommit)")
    }
    return .warning(
      check, "synchronous_commit is off: a crash loses the submits and results of the last moments",
      "Turn it on, at least for the roles that submit: ALTER ROLE … SET synchronous_commit = on.")
  }

  private var encoding: Finding {
    guard facts.encoding != "UTF8" else { return .ok("server.encoding", "UTF8") }
    return .wrong(
      "server.encoding",
      "the database's encoding is \(facts.encoding): names that it cannot hold are refused",
      "Make the database anew: createdb --encoding UTF8 --template template0.")
  }

  private var encryption: Finding {
    let check = "server.tls"
    guard let address = facts.address, !address.hasPrefix("127."), address != "::1" else {
      return .ok(check, "the connection stays on this machine")
    }
    guard !facts.isEncrypted else { return .ok(check, "the connection to \(address) is encrypted") }
    return .warning(
      check, "the connection to \(address) is not encrypted: images can be read on the way",
      "Use sslmode=verify-full with sslrootcert, and hostssl in the server's pg_hba.conf.")
  }

  private var superuser: Finding? {
    guard facts.isSuperuser else { return nil }
    return .warning(
      "rights.superuser", "role \(facts.role) is a superuser, whom no right and few limits hold",
      "Give each program a login of its own, which analysisctl roles setup makes."
    )
  }
}

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

/// Whether the volume can become full without a warning: a server whose volume is full may not come up again.
struct VolumeChecks: DatabaseCheck {
  let group = "volume"
  let needsSchema = true

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("volume").single()
    return [Self.judge(bytes: try row.int64(0), limit: try row.int64IfPresent(1))]
  }

  static func judge(bytes: Int64, limit: Int64?) -> Finding {
    let check = "volume.limit"
    guard let limit else {
      return .warning(
        check, "the database has \(size(bytes)), and nothing stops submits when the volume is nearly full",
        "Set a limit below the volume's size: analysisctl settings set max_database_bytes BYTES.")
    }
    let message = "the database has \(size(bytes)) of the \(size(limit)) that max_database_bytes allows"
    let advice = "Make the volume larger and raise max_database_bytes, or remove old data."
    if bytes >= limit { return .wrong(check, "\(message): submits are refused", advice) }
    guard Double(bytes) < Double(limit) * 0.9 else { return .warning(check, message, advice) }
    return .ok(check, message)
  }

  /// `1.5 GB`, in powers of ten, as volumes are sold.
  static func size(_ bytes: Int64) -> String {
    for (unit, power) in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)] where Double(bytes) >= power {
      return "\((Double(bytes) / power * 10).rounded() / 10) \(unit)"
    }
    return "\(bytes) bytes"
  }
}

/// The write-ahead log, which may fill the volume too.
struct LogChecks: DatabaseCheck {
  let group = "volume.log"

  /// What is known of the log.
  struct Facts: Sendable, Equatable {
    let bytes: Int64
    /// What the server keeps to, with what it keeps for standbys.
    let intended: Int64
    let isArchivingFailing: Bool
    /// Slots that nobody reads and that keep the log.
    let idleSlots: String?
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("wal").single()
    return Self.judge(
      Facts(
        bytes: try row.int64(0), intended: try row.int64(1) + (try row.int64(2)),
        isArchivingFailing: try row.bool(3), idleSlots: try row.stringIfPresent(4)))
  }

  static func judge(_ facts: Facts) -> [Finding] {
    var findings: [Finding] = []
    if facts.isArchivingFailing {
      findings.append(
        .wrong(
          "volume.archive", "archiving the write-ahead log fails: it stays until the volume is full",
          "See the server's log for what archive_command said; pg_stat_archiver tells since when."))
    }
    if let slots = facts.idleSlots {
      findings.append(
        .warning(
          "volume.slots", "nobody reads the replication slots \(slots), and the log is kept for them",
          "Bring their readers back, or drop them: SELECT pg_drop_replication_slot('…')."))
    }
    let message = "the write-ahead log has \(VolumeChecks.size(facts.bytes))"
    guard facts.bytes > 2 * facts.intended else { return findings + [.ok("volume.log", message)] }
    let intended = VolumeChecks.size(facts.intended)
    return findings + [
      .warning(
        "volume.log", "\(message), more than twice what it is meant to have (\(intended))",
        "See what keeps it: archiving, replication slots, or a disk that is slower than the load.")
    ]
  }
}
