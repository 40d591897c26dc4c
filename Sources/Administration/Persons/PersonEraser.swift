public import JobQueue
public import PostgreSQL

/// Erases persons: everything that is theirs goes, and the counts that bills stand on stay under a number.
public struct PersonEraser: Sendable {
  /// Who is to be erased.
  public enum Person: Sendable, Equatable {
    /// By what the operator calls them.
    case reference(String)
    /// By their number, as a receipt or the audit has it: when they have no other name any more.
    case number(Int64)
  }

  private let database: ConnectionPool

  /// Every row of a person is touched in one transaction.
  private static let patience: Duration = .seconds(1800)

  /// The persons of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Erases a person, or says what that would remove.
  ///
  /// It is one transaction: everything is removed, or nothing.
  ///
  /// - Parameters:
  ///   - cancelling: Whether jobs that are open are cancelled; otherwise nothing is done while there are any.
  ///   - dry: Whether it is all taken back in the end.
  /// - Throws: `notFound` for an unknown user.
  public func erase(
    _ person: Person, cancelling: Bool, dry: Bool = false, as actor: AuditActor?
  ) async throws(JobQueueError) -> Erasure {
    for shard in try await shards(of: person) {
      let erasure =
        dry
        ? try await rehearse(shard, person, cancelling) : try await erase(shard, person, cancelling, actor)
      if let erasure { return erasure }
    }
    switch person {
    case .reference(let reference):
      throw JobQueueError(
        .notFound, "There is no user \(reference), so nothing was removed.",
        advice:
          "Look for the name in analysisctl users list; whoever was erased before has a number only (--number)."
      )
    case .number(let number): throw JobQueueError(.notFound, "There is no user of number \(number).")
    }
  }

  private func shards(of person: Person) async throws(JobQueueError) -> [Int16] {
    switch person {
    case .reference(let reference): [try await ShardDirectory(database).shard(of: reference)]
    case .number: try await ShardDirectory(database).shards()
    }
  }

  /// How often it is done again when the server has ended it in favour of others.
  private static let tries = 5

  private func erase(
    _ shard: Int16, _ person: Person, _ cancelling: Bool, _ actor: AuditActor?
  ) async throws(JobQueueError) -> Erasure? {
    let statement = Self.statement(shard, person, cancelling)
    for _ in 1..<Self.tries {
      do throws(JobQueueError) {
        return try await statement.run(on: database, as: actor, deadline: Self.patience)
      } catch {
        guard error.code == .conflict else { throw error }
      }
    }
    return try await statement.run(on: database, as: actor, deadline: Self.patience)
  }

  /// Where the audit tells of it; nil when it does not.
  public func entry(of erasure: Erasure) async throws(JobQueueError) -> AuditMark? {
    try await AuditLog(database).chain()
    return try await Statement(
      "SELECT o_entry, o_hash FROM analysis.erasure_of($1)", [.int64(erasure.userID)],
      while: "looking for the erasure in the audit"
    ) { rows in
      try rows.first.map { AuditMark(id: try $0.int64(0), hash: try $0.string(1)) }
    }.run(on: database)
  }

  /// The same in a transaction that is rolled back.
  private func rehearse(
    _ shard: Int16, _ person: Person, _ cancelling: Bool
  ) async throws(JobQueueError) -> Erasure? {
    struct Rehearsed: Error { let erasure: Erasure }
    do {
      try await database.transaction(deadline: Self.patience) { transaction in
        let erasure = try await Self.statement(shard, person, cancelling)
          .run(on: transaction, deadline: Self.patience)
        if let erasure { throw Rehearsed(erasure: erasure) }
      }
      return nil
    } catch let rehearsed as Rehearsed {
      return rehearsed.erasure
    } catch {
      throw JobQueueError(error, while: "looking at what is kept of a user")
    }
  }

  private static func statement(
    _ shard: Int16, _ person: Person, _ cancelling: Bool
  ) -> Statement<Erasure?> {
    let (reference, number): (String?, Int64?) =
      switch person {
      case .reference(let reference): (reference, nil)
      case .number(let number): (nil, number)
      }
    return Statement(
      QueueSQL.text("persons/erase.sql"),
      [.int16(shard), .text(reference), .int64(number), .bool(cancelling)], while: "erasing a user"
    ) { rows in
      try rows.first.map { row in
        func count(_ column: Int) throws -> Int { Int(try row.int64IfPresent(column) ?? 0) }
        return Erasure(
          userID: try row.int64(0), open: try count(1), cancelled: try count(2), profiles: try count(3),
          images: try count(4), imageBytes: try count(5), results: try count(6), dead: try count(7),
          attempts: try count(8), jobs: try count(9), keys: try count(10), statementLines: try count(11),
          photo: try row.stringIfPresent(12))
      }
    }
  }
}
