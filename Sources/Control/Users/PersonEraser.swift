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
    let statement = Statement(
      SQLFunction("erasure_of", 1, "o_entry", "o_hash"), [.int64(erasure.userID)],
      while: "looking for the erasure in the audit"
    ) { rows in
      try rows.first.map { AuditMark(id: try $0.int64("o_entry"), hash: try $0.string("o_hash")) }
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
      SQLFunction(
        "erase_part", 7, "o_user", "o_period", "o_job", "o_cancelled", "o_images", "o_image_bytes",
        "o_results",
        "o_dead", "o_attempts", "o_jobs"),
      [
        .int16(shard), .text(person.reference), .int64(person.number), .bool(cancelling),
        .int16(place?.period),
        .int64(place?.job), .int32(Int32(partSize)),
      ], while: "erasing a part of a user"
    ) { rows in
      try rows.first.map { row in
        func count(_ column: String) throws -> Int { Int(try row.int64(column)) }
        let erasure = Erasure(
          userID: try row.int64("o_user"), open: 0, cancelled: try count("o_cancelled"), profiles: 0,
          images: try count("o_images"), imageBytes: try count("o_image_bytes"),
          results: try count("o_results"),
          dead: try count("o_dead"), attempts: try count("o_attempts"), jobs: try count("o_jobs"), keys: 0,
          statementLines: 0, photo: nil)
        return (erasure, (try row.int16("o_period"), try row.int64("o_job")))
      }
    }
  }

  private static func statement(
    _ shard: Int16, _ person: Person, _ cancelling: Bool
  ) -> Statement<Erasure?> {
    return Statement(
      SQLFunction(
        "erase_user", 4, "o_user", "o_open", "o_cancelled", "o_profile", "o_images", "o_image_bytes",
        "o_results", "o_dead", "o_attempts", "o_jobs", "o_keys", "o_lines", "o_photo"),
      [.int16(shard), .text(person.reference), .int64(person.number), .bool(cancelling)],
      while: "erasing a user"
    ) { rows in
      try rows.first.map { row in
        func count(_ column: String) throws -> Int { Int(try row.int64IfPresent(column) ?? 0) }
        return Erasure(
          userID: try row.int64("o_user"), open: try count("o_open"), cancelled: try count("o_cancelled"),
          profiles: try count("o_profile"), images: try count("o_images"),
          imageBytes: try count("o_image_bytes"), results: try count("o_results"), dead: try count("o_dead"),
          attempts: try count("o_attempts"), jobs: try count("o_jobs"), keys: try count("o_keys"),
          statementLines: try count("o_lines"), photo: try row.stringIfPresent("o_photo"))
      }
    }
  }
}

/// What was removed of a person, by kind.
public struct Erasure: Sendable, Equatable {
  /// The number under which their counts stay.
  public let userID: Int64
  /// Jobs that have not ended; while there are any, nothing was removed.
  public let open: Int
  /// Jobs that were open and are cancelled.
  public let cancelled: Int
  /// Profiles: name, e-mail address, what the endpoint says.
  let profiles: Int
  /// Images.
  let images: Int
  /// How many bytes these had.
  let imageBytes: Int
  /// Results whose content is gone.
  public let results: Int
  /// Dead jobs whose cause is gone.
  public let dead: Int
  /// Failed attempts whose messages are removed.
  public let attempts: Int
  /// Jobs whose file name and key are gone.
  public let jobs: Int
  /// Idempotency keys.
  let keys: Int
  /// Lines of closed statements that have a number instead of a name now.
  let statementLines: Int
  /// Where their photo was, to be taken out of caches: all of it may be a secret.
  public let photo: String?

  fileprivate func adding(_ part: Erasure) -> Erasure {
    Erasure(
      userID: userID, open: open, cancelled: cancelled + part.cancelled, profiles: profiles,
      images: images + part.images, imageBytes: imageBytes + part.imageBytes, results: results + part.results,
      dead: dead + part.dead, attempts: attempts + part.attempts, jobs: jobs + part.jobs, keys: keys,
      statementLines: statementLines, photo: photo)
  }
}
