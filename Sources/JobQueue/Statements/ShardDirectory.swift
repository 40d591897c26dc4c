package import AnalysisCore
public import PostgreSQL

/// Where users and jobs live.
public struct ShardDirectory: Sendable {
  private let database: ConnectionPool

  /// A directory that asks a database each time.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Every shard, in order: as many as were chosen at installation.
  public func shards() async throws(JobQueueError) -> [Int16] {
    let count = try await Statement(
      "SELECT value::smallint FROM analysis.setting WHERE name = 'shards'", [], while: "asking for the shards"
    ) { rows in
      try rows.single().int16(0)
    }.run(on: database)
    return Array(0..<max(count, 1))
  }

  /// How many claims begin with each priority; the usual shares where the setting is not known.
  public func laneShares(deadline: Duration? = nil) async throws(JobQueueError) -> LaneShares {
    try await Statement(
      "SELECT value FROM analysis.setting WHERE name = 'lane_shares'", [],
      while: "asking for the lanes' shares"
    ) { rows in
      try rows.first.flatMap { LaneShares(try $0.string(0)) } ?? .usual
    }.run(on: database, deadline: deadline)
  }

  /// The shard of each of some users; users need not exist for it.
  public func shards(of users: [String]) async throws(JobQueueError) -> [String: Int16] {
    try await Statement(
      "SELECT u, analysis.shard_of(u) FROM pg_catalog.unnest($1) AS u", [.array(users)],
      while: "asking for users' shards"
    ) { rows in
      var shards: [String: Int16] = [:]
      for row in rows { shards[try row.string(0)] = try row.int16(1) }
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
  package func places(of jobs: [JobID]) async throws(JobQueueError) -> [JobID: JobPlace] {
    let shards = try await shards()
    let ids = jobs.map(\.value)
    let statements = shards.map { shard in
      Statement(
        "SELECT o_job, o_period FROM analysis.locate($1, $2)", [.int16(shard), .array(ids)],
        while: "looking for jobs"
      ) { rows in
        try rows.map { (try $0.jobID(0), JobPlace(shard: shard, period: try $0.period(1))) }
      }
    }
    var places: [JobID: JobPlace] = [:]
    for found in try await database.run(statements) {
      for (job, place) in found { places[job] = place }
    }
    return places
  }
}

/// The shard and month in which a job lives.
package struct JobPlace: Hashable, Sendable {
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
