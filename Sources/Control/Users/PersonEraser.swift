import EventLoop
public import PostgreSQL
public import Queue

/// Erases persons: everything that is theirs goes, and the counts that bills stand on stay under a number.
public struct PersonEraser: Sendable {
  /// Who is to be erased.
  public enum Person: Sendable, Equatable {
    /// By what the operator calls them.
    case reference(String)
    /// By their number, as a receipt or the audit has it: when they have no other name any more.
    case number(Int64)

    fileprivate var reference: String? { if case .reference(let reference) = self { reference } else { nil } }
    fileprivate var number: Int64? { if case .number(let number) = self { number } else { nil } }
  }

  private let database: ConnectionPool
  private let partSize: Int

  /// Many rows are touched in one transaction.
  private static let patience: Duration = .seconds(1800)

  /// The persons of a database.
  ///
  /// - Parameter partSize: With more jobs than that a person is erased in parts of as many, at most 100,000.
  public init(_ database: ConnectionPool, partSize: Int = 20_000) {
    self.database = database
    self.partSize = partSize
  }

  /// Erases a person, or says what that would remove.
  ///
  /// It is one transaction: everything is removed, or nothing. A person with many jobs is erased in parts, of which
  /// each is one: the first closes the account, so that nothing is submitted any more, and the last removes who they
  /// are. One that was interrupted goes on when it is asked for again.
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
    case .number(let number): throw JobQueueError(.notFound, "There is no user with number \(number).")
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
    var done: [Erasure] = []
    var place: (period: Int16, job: Int64)?
    while let part = try await insist(on: part(shard, person, cancelling, after: place), as: actor) {
      done.append(part.erasure)
      place = part.place
    }
    let last = try await insist(on: Self.statement(shard, person, cancelling), as: actor)
    return last.map { done.reduce($0) { $0.adding($1) } }
  }

  /// Does it again where the server has ended it in favour of others.
  private func insist<R: Sendable>(
    on statement: Statement<R>, as actor: AuditActor?
  ) async throws(JobQueueError) -> R {
    for _ in 1..<Self.tries {
      do throws(JobQueueError) {
        return try await statement.run(on: database, as: actor, deadline: Self.patience)
      } catch {
        guard error.code == .conflict else { throw error }
      }
    }
    return try await statement.run(on: database, as: actor, deadline: Self.patience)
  }

  /// The entry of the audit; nil while it is not chained. Workers chain every second.
  func entry(of erasure: Erasure) async throws -> AuditMark? {
    try await AuditLog(database).chain()
    struct Entry: Decodable {
      let entry: Int64
      let hash: String
    }
    let statement = Statement(
      SQLFunction("erasure_of", 1), [.int64(erasure.userID)], as: Entry?.self,
      while: "looking for the erasure in the audit"
    ) { found in
      found.map { AuditMark(id: $0.entry, hash: $0.hash) }
    }
    for _ in 1...Self.looks {
      if let entry = try await statement.run(on: database) { return entry }
      try await database.loop.sleep(for: .milliseconds(200))
    }
    return nil
  }

  /// How often an erasure is looked for in the chain.
  private static let looks = 12

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

  /// What is erased ahead of the rest, and the job behind which the next part begins; nil where nothing is.
  private func part(
    _ shard: Int16, _ person: Person, _ cancelling: Bool, after place: (period: Int16, job: Int64)?
  ) -> Statement<(erasure: Erasure, place: (period: Int16, job: Int64))?> {
    Statement(
      SQLFunction("erase_part", 7),
      [
        .int16(shard), .text(person.reference), .int64(person.number), .bool(cancelling),
        .int16(place?.period), .int64(place?.job), .int32(Int32(partSize)),
      ], as: ErasedPart?.self,
      beside: ["open": nil, "profile": nil, "keys": nil, "lines": nil, "photo": nil],
      while: "erasing a part of a user"
    ) { part in
      part.map { ($0.counts.erasure, ($0.period, $0.job)) }
    }
  }

  private static func statement(
    _ shard: Int16, _ person: Person, _ cancelling: Bool
  ) -> Statement<Erasure?> {
    Statement(
      SQLFunction("erase_user", 4),
      [.int16(shard), .text(person.reference), .int64(person.number), .bool(cancelling)],
      as: ErasedCounts?.self, while: "erasing a user"
    ) { counts in
      counts?.erasure
    }
  }
}

/// A row of `analysis.erase_part`.
private struct ErasedPart: Decodable {
  let period: Int16
  let job: Int64
  let counts: ErasedCounts
}

/// A row of `analysis.erase_user`; what was not looked at has no number.
private struct ErasedCounts: Decodable {
  let user: Int64
  let open, cancelled, profile, images, imageBytes, results, dead, attempts, jobs, keys, lines: Int?
  let photo: String?

  var erasure: Erasure {
    Erasure(
      userID: user, open: open ?? 0, cancelled: cancelled ?? 0, profiles: profile ?? 0, images: images ?? 0,
      imageBytes: imageBytes ?? 0, results: results ?? 0, dead: dead ?? 0, attempts: attempts ?? 0,
      jobs: jobs ?? 0, keys: keys ?? 0, statementLines: lines ?? 0, photo: photo)
  }
}

/// What was removed of a person, by kind.
public struct Erasure: Sendable, Equatable {
  /// The number under which their counts stay.
  let userID: Int64
  /// Jobs that have not ended; while there are any, nothing was removed.
  public let open: Int
  /// Jobs that were open and are cancelled.
  let cancelled: Int
  /// Profiles: name, e-mail address, what the endpoint says.
  let profiles: Int
  let images: Int
  /// How many bytes these had.
  let imageBytes: Int
  /// Results whose content is gone.
  public let results: Int
  /// Dead jobs whose cause is gone.
  public let dead: Int
  /// Failed attempts whose messages are removed.
  let attempts: Int
  /// Jobs whose file name and key are gone.
  public let jobs: Int
  let keys: Int
  /// Lines of closed statements that have a number instead of a name now.
  let statementLines: Int
  /// Where their photo was, to be taken out of caches: all of it may be a secret.
  let photo: String?

  fileprivate func adding(_ part: Erasure) -> Erasure {
    Erasure(
      userID: userID, open: open, cancelled: cancelled + part.cancelled, profiles: profiles,
      images: images + part.images, imageBytes: imageBytes + part.imageBytes, results: results + part.results,
      dead: dead + part.dead, attempts: attempts + part.attempts, jobs: jobs + part.jobs, keys: keys,
      statementLines: statementLines, photo: photo)
  }
}
