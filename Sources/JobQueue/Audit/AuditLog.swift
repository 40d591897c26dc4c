public import PostgreSQL

/// The audit: what somebody did, as a chain in which nothing can be changed unseen.
public struct AuditLog: Sendable {
  private let database: ConnectionPool

  /// How long verifying may take: it reads every entry.
  public static let verifying: Duration = .seconds(600)

  /// The audit of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Entries, the latest first.
  ///
  /// - Throws: `badRow` when the filter names a user who is not there.
  public func list(_ filter: AuditFilter = .init(), limit: Int = 50) async throws(JobQueueError)
    -> [AuditEntry]
  {
    try await Statement(
      QueueSQL.text("queue/audit_list.sql"),
      [
        .timestamp(timestamp(filter.since)), .timestamp(timestamp(filter.until)),
        .text(filter.action.map(storable)), .text(filter.user.map(storable)), .text(filter.by.map(storable)),
        .text(filter.object.map(storable)), .int64(filter.before), .int32(Int32(clamping: limit)),
      ], while: "reading the audit"
    ) { rows in
      try rows.map { try AuditEntry($0) }
    }.run(on: database)
  }

  /// Looks at every entry and at the chain's end, all as of one moment.
  ///
  /// - Parameters:
  ///   - expected: an end that was kept elsewhere, and that has to be an entry still.
  ///   - limit: how many faults are named at most.
  public func verify(
    expecting expected: AuditMark? = nil, limit: Int = 100
  ) async throws(JobQueueError) -> AuditVerdict {
    do {
      return try await database.transaction(
        isolation: .repeatableRead, readOnly: true, deadline: Self.verifying
      ) { transaction in
        let ends = try await self.ends.run(on: transaction)
        let faults = try await self.faults(expected, limit).run(on: transaction, deadline: Self.verifying)
        return AuditVerdict(first: ends?.first ?? 1, end: ends?.end, faults: faults)
      }
    } catch {
      throw JobQueueError(error, while: "verifying the audit")
    }
  }

  /// Removes a key from where it is kept, and records that: the entry is there if it was removed, and not otherwise.
  ///
  /// - Parameters:
  ///   - key: the key's number.
  ///   - removal: removes it. What it throws is thrown on, and nothing is recorded.
  public func record<Output>(
    removing key: Int64, by actor: AuditActor?, _ removal: () async throws -> Output
  ) async throws -> Output {
    do {
      return try await database.transaction { transaction in
        try await Statement(
          "SELECT analysis.audit_key('remove_key', $1)", [.int64(key)],
          while: "recording that a key is removed"
        ) { _ in
        }.run(on: transaction, as: actor)
        return try await removal()
      }
    } catch let error as PostgreSQLError {
      throw JobQueueError(error, while: "recording that a key is removed")
    }
  }

  private var ends: Statement<(first: Int64, end: AuditMark)?> {
    Statement("SELECT o_first, o_id, o_hash FROM analysis.audit_ends()", [], while: "reading the audit's end")
    {
      rows in
      try rows.first.map {
        (first: try $0.int64(0), end: AuditMark(id: try $0.int64(1), hash: try $0.string(2)))
      }
    }
  }

  private func faults(_ expected: AuditMark?, _ limit: Int) -> Statement<[AuditVerdict.Fault]> {
    Statement(
      "SELECT o_id, o_fault FROM analysis.audit_verify($1, $2, $3)",
      [.int64(expected?.id), .text(expected?.hash), .int32(Int32(clamping: limit))],
      while: "verifying the audit"
    ) { rows in
      try rows.map { AuditVerdict.Fault(id: try $0.int64IfPresent(0), words: try $0.string(1)) }
    }
  }
}
