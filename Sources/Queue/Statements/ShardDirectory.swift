public import PostgreSQL
public import Support

/// Where users and jobs live.
public struct ShardDirectory: Sendable {
  private let database: ConnectionPool
  private let known: [Int16]?

  /// A directory that asks a database each time, but for the shards where they are known.
  public init(_ database: ConnectionPool, shards: [Int16]? = nil) {
    self.database = database
    known = shards
  }

  /// Every shard, in order: as many as were chosen at installation.
  public func shards() async throws(JobQueueError) -> [Int16] {
    if let known { return known }
    let value = try await setting("shards", deadline: nil)
    guard let count = value.flatMap({ Int16($0) }) else {
      throw JobQueueError(
        .unexpectedAnswer, "The database does not say how many shards it has.",
        advice: "Run analysisctl migrate.")
    }
    return Array(0..<max(count, 1))
  }

  /// How many claims begin with each priority; the usual shares where the setting is not known.
  public func laneShares(deadline: Duration? = nil) async throws(JobQueueError) -> LaneShares {
    try await setting("lane_shares", deadline: deadline).flatMap { LaneShares($0) } ?? .usual
  }

  /// What is sent of the images of each type.
  public func imageRules(deadline: Duration? = nil) async throws(JobQueueError) -> [AnalysisKind: ImageRules]
  {
    try await Statement(
      SQLFunction("image_rules", 0, "o_type", "o_max_bytes", "o_keeps_png"), [],
      while: "reading the rules of images"
    ) { rows in
      var rules: [AnalysisKind: ImageRules] = [:]
      for row in rows {
        rules[try row.named("o_type", AnalysisKind.self)] = ImageRules(
          maxBytes: try row.int("o_max_bytes"), keepsPNG: try row.bool("o_keeps_png"))
      }
      return rules
    }.run(on: database, deadline: deadline)
  }

  /// A setting of the installation; nil where there is none of that name.
  private func setting(_ name: String, deadline: Duration?) async throws(JobQueueError) -> String? {
    try await Statement(
      SQLFunction("setting_value", 1), [.text(name)], while: "reading the setting \(name)"
    ) { rows in
      try rows.single().stringIfPresent("setting_value")
    }.run(on: database, deadline: deadline)
  }

  /// The shard of each of some users; users need not exist for it.
  public func shards(of users: [String]) async throws(JobQueueError) -> [String: Int16] {
    try await Statement(
      SQLFunction("shards_of", 1, "o_user", "o_shard"), [.array(users)], while: "asking for users' shards"
    ) { rows in
      var shards: [String: Int16] = [:]
      for row in rows { shards[try row.string("o_user")] = try row.int16("o_shard") }
      return shards
    }.run(on: database)
  }

  /// The shard of a user, who need not exist for it.
  public func shard(of user: String) async throws(JobQueueError) -> Int16 {
    guard !user.contains("\0"), let shard = try await shards(of: [user])[user] else {
      throw JobQueueError(.invalid, "A user's reference may not be empty or hold a NUL character.")
    }
    return shard
  }

  /// Where each of some jobs lives; jobs that are unknown are left out.
  package func locations(of jobs: [JobID]) async throws(JobQueueError) -> [JobID: JobLocation] {
    let shards = try await shards()
    let ids = jobs.map(\.value)
    let statements = shards.map { shard in
      Statement(
        SQLFunction("locate", 2, "o_job", "o_period"), [.int16(shard), .array(ids)], while: "looking for jobs"
      ) { rows in
        try rows.map { (try $0.jobID("o_job"), JobLocation(shard: shard, period: try $0.period("o_period"))) }
      }
    }
    var locations: [JobID: JobLocation] = [:]
    for found in try await database.run(statements) {
      for (job, location) in found { locations[job] = location }
    }
    return locations
  }
}

/// The shard and month in which a job lives.
package struct JobLocation: Hashable, Sendable {
  package var shard: Int16
  package var period: Period
}

extension Queryable {
  /// Sends statements that belong together in one write and reads their answers in order.
  package func run<Output>(_ statements: [Statement<Output>]) async throws(JobQueueError) -> [Output] {
    if statements.isEmpty { return [] }
    if statements.count == 1 { return [try await statements[0].run(on: self)] }
    let results: [Result<Rows, PostgreSQLError>]
    do {
      results = try await pipeline(statements.map(\.sql), atomic: false, deadline: nil)
    } catch {
      throw JobQueueError(error, while: "asking the database")
    }
    var outputs: [Output] = []
    for (statement, result) in zip(statements, results) { outputs.append(try statement.decode(result)) }
    return outputs
  }
}
