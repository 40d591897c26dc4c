import PostgreSQL
import Queue
import Support

/// What clinicians say of analyses.
struct ReviewDirectory: Sendable {
  let database: ConnectionPool
  let shards: ShardDirectory

  /// How many characters a comment has at most, as the database counts them.
  static let mostCharacters = 4000
  /// How many the name of a condition has, as an endpoint's answer may have.
  static let mostInstead = 200

  /// The reviews of a database.
  ///
  /// - Parameter shards: its shards; nil to ask for them each time.
  init(_ database: ConnectionPool, shards: [Int16]? = nil) {
    self.database = database
    self.shards = ShardDirectory(database, shards: shards)
  }

  /// Gives or changes this login's verdict of a job's analysis, and adds a comment; either may be left out.
  ///
  /// - Parameter instead: With `disagree`, the condition that it is; nil where that is not said.
  /// - Throws: `notFound` for a job that there is not, `badRow` for one that the login does not see or that has no
  ///   analysis. Neither says any word of the comment.
  func add(
    _ verdict: Verdict?, instead: String? = nil, comment: String? = nil, to job: JobID, by actor: AuditActor?
  ) async throws(JobQueueError) -> ReviewOutcome {
    guard let location = try await shards.locations(of: [job])[job] else {
      throw JobQueueError(
        .notFound, "There is no job \(job), or this login may not see it.",
        advice: "Look with analysisctl jobs list.")
    }
    return try await Statement(
      SQLFunction("add_review", 5),
      [
        .int16(location.shard), .int64(job.value), .text(verdict?.rawValue), .text(instead.map(storable)),
        .text(comment.map(storable)),
      ], as: ReviewOutcome.self, while: "reviewing job \(job)"
    ).run(on: database, as: actor)
  }

  /// The product of the clinic whose patient a job's user is; nil for none, and for a job that this login does not see.
  func product(of job: JobID) async throws(JobQueueError) -> String? {
    guard let location = try await shards.locations(of: [job])[job] else { return nil }
    return try await Statement(
      SQLFunction("product_of_job", 2), [.int16(location.shard), .int64(job.value)], as: String?.self,
      while: "asking for the product of job \(job)"
    ).run(on: database)
  }

  /// What was said of a job whose result was read with it, in the order in which it was said; nothing where the result
  /// was not read. That it is read is recorded with the result.
  func remarks(on job: JobDetail) async throws(JobQueueError) -> [ReviewRemark] {
    guard let reading = job.reading else { return [] }
    return try await Statement(
      SQLFunction("reviews_of", 2), [.text(job.summary.user), .text(reading)], as: [ReviewRemark].self,
      while: "reading the reviews of job \(job.summary.id)"
    ).run(on: database)
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
      as: String.self, while: "recording that reviews are listed"
    ).run(on: database)
    let parts = try await database.run(
      asked.map { shard in
        Statement(
          SQLFunction("list_reviews", 8),
          [
            .int16(shard), .text(filter.user), .text(filter.verdict?.rawValue), .int16(filter.month?.label),
            .timestamp(place), .int64(after?.job.value), .int32(Int32(wanted + 1)), .text(reading),
          ], as: [Review].self, while: "listing the reviews")
      })
    let found = parts.flatMap(\.self).sorted { $0.cursor > $1.cursor }
    return ReviewPage(
      reviews: Array(found.prefix(wanted)), next: found.count > wanted ? found[wanted - 1].cursor : nil)
  }
}
