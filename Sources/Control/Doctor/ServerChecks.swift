import PostgreSQL

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
