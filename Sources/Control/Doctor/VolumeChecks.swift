import PostgreSQL

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
