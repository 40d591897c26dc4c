import PostgreSQL
import Queue
import Support

/// What clinicians say of analyses.
struct ReviewDirectory: Sendable {
  private let database: ConnectionPool
  private let shards: ShardDirectory

  /// How many characters a comment has at most, as the database counts them.
  static let mostCharacters = 4000

  /// The reviews of a database.
  ///
  /// - Parameter shards: its shards; nil to ask for them each time.
  init(_ database: ConnectionPool, shards: [Int16]? = nil) {
    self.database = database
    self.shards = ShardDirectory(database, shards: shards)
  }

  /// Gives or changes this login's verdict of a job's analysis, and adds a comment; either may be left out.
  ///
  /// - Throws: `notFound` for a job that there is not, `badRow` for one that the login does not see or that has no
  ///   analysis. Neither says any word of the comment.
  func add(
    _ verdict: Verdict?, comment: String? = nil, to job: JobID, by actor: AuditActor?
  ) async throws(JobQueueError) -> ReviewOutcome {
    guard let location = try await shards.locations(of: [job])[job] else {
      throw JobQueueError(
        .notFound, "There is no job \(job), or this login may not see it.",
        advice: "Look with analysisctl jobs list.")
    }
    return try await Statement(
      SQLFunction("add_review", 4, "o_version", "o_before", "o_comment"),
      [
        .int16(location.shard), .int64(job.value), .text(verdict?.rawValue), .text(comment.map(storable)),
      ], while: "reviewing job \(job)"
    ) { rows in
      let row = try rows.single()
      return ReviewOutcome(
        version: try row.int("o_version"),
        before: try row.isNull("o_before") ? nil : try row.named("o_before", Verdict.self),
        comment: try row.intIfPresent("o_comment"))
    }.run(on: database, as: actor)
  }

  /// The product of the clinic whose patient a job's user is; nil for none, and for a job that this login does not see.
  func product(of job: JobID) async throws(JobQueueError) -> String? {
    guard let location = try await shards.locations(of: [job])[job] else { return nil }
    return try await Statement(
      SQLFunction("product_of_job", 2), [.int16(location.shard), .int64(job.value)],
      while: "asking for the product of job \(job)"
    ) { rows in
      try rows.single().stringIfPresent("product_of_job")
    }.run(on: database)
  }

  /// What was said of a job whose result was read with it, in the order in which it was said; nothing where the result
  /// was not read. That it is read is recorded with the result.
  func remarks(on job: JobDetail) async throws(JobQueueError) -> [ReviewRemark] {
    guard let reading = job.reading else { return [] }
    return try await Statement(
      SQLFunction(
        "reviews_of", 2, "o_at", "o_by", "o_version", "o_verdict", "o_replaced_at", "o_comment"),
      [.text(job.summary.user), .text(reading)], while: "reading the reviews of job \(job.summary.id)"
    ) { rows in
      try rows.map { try ReviewRemark($0) }
    }.run(on: database)
  }

  /// A page of the present verdicts that this login sees, the latest first. That it is read is recorded first.
  ///
  /// - Parameters:
  ///   - after: where the page before ended; nil for the first page.
  ///   - limit: how many at most; 10,000 if it is more.
  func list(
    _ filter: ReviewFilter = .init(), after: TimeCursor? = nil, limit: Int = 50
  ) async throws(JobQueueError) -> ReviewPage {
    let wanted = min(max(1, limit), 10_000)
    let place = after.map { Timestamp(secondsSince1970: $0.at) }
    let asked =
      if let user = filter.user { [try await shards.shard(of: user)] } else { try await shards.shards() }
    let reading = try await Statement(
      SQLFunction("open_review_list", 3),
      [.text(filter.user), .text(filter.verdict?.rawValue), .int16(filter.month?.label)],
      while: "recording that reviews are listed"
    ) { rows in
      try rows.single().string("open_review_list")
    }.run(on: database)
    let parts = try await database.run(
      asked.map { shard in
        Statement(
          SQLFunction(
            "list_reviews", 8, "o_job", "o_period", "o_user", "o_verdict", "o_version", "o_by", "o_at",
            "o_comments"),
          [
            .int16(shard), .text(filter.user), .text(filter.verdict?.rawValue), .int16(filter.month?.label),
            .timestamp(place), .int64(after?.job.value), .int32(Int32(wanted + 1)), .text(reading),
          ], while: "listing the reviews"
        ) { rows in
          try rows.map { try Review($0) }
        }
      })
    let found = parts.flatMap(\.self).sorted { $0.cursor > $1.cursor }
    return ReviewPage(
      reviews: Array(found.prefix(wanted)), next: found.count > wanted ? found[wanted - 1].cursor : nil)
  }
}

extension Review {
  /// One of the list.
  fileprivate init(_ row: Row) throws {
    job = try row.jobID("o_job")
    period = try row.period("o_period")
    user = try row.string("o_user")
    verdict = try row.named("o_verdict", Verdict.self)
    version = try row.int("o_version")
    reviewer = try row.string("o_by")
    at = try row.seconds("o_at")
    comments = try row.int("o_comments")
  }
}

extension ReviewRemark {
  /// One of a job.
  fileprivate init(_ row: Row) throws {
    at = try row.seconds("o_at")
    by = try row.string("o_by")
    if let comment = try row.stringIfPresent("o_comment") {
      said = .comment(comment)
    } else {
      said = .verdict(
        try row.named("o_verdict", Verdict.self), version: try row.int("o_version"),
        replacedAt: try row.secondsIfPresent("o_replaced_at"))
    }
  }
}
