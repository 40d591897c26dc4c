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
      SQLFunction("image_rules", 0), as: [RulesOfType].self, while: "reading the rules of images"
    ) { rows in
      var rules: [AnalysisKind: ImageRules] = [:]
      for row in rows {
        guard let kind = AnalysisKind(rawValue: row.type) else { throw UnknownValue("type", row.type) }
        rules[kind] = ImageRules(maxBytes: row.maxBytes, keepsPNG: row.keepsPNG)
      }
      return rules
    }.run(on: database, deadline: deadline)
  }

  private struct RulesOfType: Decodable {
    let type: String
    let maxBytes: Int
    let keepsPNG: Bool
  }

  /// A setting of the installation; nil where there is none of that name.
  private func setting(_ name: String, deadline: Duration?) async throws(JobQueueError) -> String? {
    try await Statement(
      SQLFunction("setting_value", 1), [.text(name)], as: String?.self, while: "reading the setting \(name)"
    ).run(on: database, deadline: deadline)
  }

  /// The shard of each of some users; users need not exist for it.
  public func shards(of users: [String]) async throws(JobQueueError) -> [String: Int16] {
    let homes = try await Statement(
      SQLFunction("shards_of", 1), [.array(users)], as: [Home].self, while: "asking for users' shards"
    ).run(on: database)
    return Dictionary(homes.map { ($0.user, $0.shard) }) { $1 }
  }

  private struct Home: Decodable {
    let user: String
    let shard: Int16
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
        SQLFunction("locate", 2), [.int16(shard), .array(ids)], as: [Located].self, beside: ["shard": shard],
        while: "looking for jobs")
    }
    return Dictionary(try await database.run(statements).joined().map { ($0.job, $0.location) }) { $1 }
  }

  private struct Located: Decodable {
    let job: JobID
    let location: JobLocation
  }
}

/// The shard and month in which a job lives.
package struct JobLocation: Hashable, Sendable, Decodable {
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
