import Administration
import AnalysisCore
import EventLoop
import JobQueue
import PostgreSQL
import TestSupport
import Testing

/// A migrated database of a test's own, with what the tests put into it and look for in it.
struct Queue: Sendable {
  let database: TestDatabase
  let loop: EventLoop
  let pool: ConnectionPool

  private static let template = DatabaseTemplate("worker", prepare: prepare)

  @Sendable
  private static func prepare(_ conninfo: String) async throws {
    let loop = try EventLoop(name: "template")
    let pool = ConnectionPool(ConnectionConfiguration(conninfo), on: loop, size: 1)
    _ = try await Migrator(pool).migrate()
    await pool.close()
    loop.shutdown()
  }

  /// The same in a cluster of the test's own.
  static func with<R>(_ cluster: ServerCluster, _ body: (Queue) async throws -> R) async throws -> R {
    let conninfo = cluster.conninfo()
    try await prepare(conninfo)
    return try await with(TestDatabase(conninfo: conninfo, name: "postgres"), body)
  }

  static func with<R>(shards: Int = 1, _ body: (Queue) async throws -> R) async throws -> R {
    try await withTestDatabase(template) { database in
      try await with(database) { queue in
        if shards > 1 {
          _ = try await queue.pool.query(
            "UPDATE analysis.setting SET value = '\(shards)' WHERE name = 'shards'")
        }
        return try await body(queue)
      }
    }
  }

  private static func with<R>(_ database: TestDatabase, _ body: (Queue) async throws -> R) async throws -> R {
    let loop = try EventLoop(name: "test")
    let pool = ConnectionPool(database.configuration, on: loop, size: 4)
    let result: Result<R, any Error>
    do {
      result = .success(try await body(Queue(database: database, loop: loop, pool: pool)))
    } catch {
      result = .failure(error)
    }
    await pool.close()
    loop.shutdown()
    return try result.get()
  }

  // MARK: In

  func addUser(_ reference: String = "clinic") async throws {
    _ = try await UserDirectory(pool).add(NewUser(reference: reference, plan: "premium"))
  }

  /// Users in some shard, made up until there are enough.
  func addUsers(_ count: Int, inShard shard: Int) async throws -> [String] {
    let found = try await pool.query(
      "SELECT u FROM (SELECT 'user-' || i AS u FROM generate_series(1, 500) i) n WHERE analysis.shard_of(u) = \(shard) LIMIT \(count)"
    ).map { try $0.string(0) }
    for user in found { try await addUser(user) }
    return found
  }

  /// Submits jobs with images of made-up bytes, and answers their ids.
  @discardableResult
  func submit(
    _ count: Int = 1, user: String = "clinic", kind: AnalysisKind = .throat, priority: Priority = .normal,
    maxAttempts: Int = 10, in seconds: Double? = nil
  ) async throws -> [JobID] {
    let now = try await pool.query("SELECT extract(epoch FROM clock_timestamp())::float8").single().double(0)
    let items = (0..<count).map { number in
      Submission(
        user: user, kind: kind, priority: priority,
        image: .bytes(
          (0..<500).map { UInt8(truncatingIfNeeded: $0 &* (number + 3)) },
          sha256: (0..<32).map { UInt8(truncatingIfNeeded: $0 &+ number) }, width: 64, height: 48),
        runAt: seconds.map { now + $0 })
    }
    let outcomes = try await Submitter(pool, limits: SubmitLimits(maxAttempts: maxAttempts)).submit(items)
    let jobs = outcomes.compactMap(\.job)
    try #require(jobs.count == count, "\(outcomes)")
    return jobs
  }

  // MARK: Out

  func number(_ sql: String) async throws -> Int {
    try await pool.query(sql).single().int(0)
  }

  func text(_ sql: String) async throws -> String {
    try await pool.query(sql).single().string(0)
  }

  var results: Int {
    get async throws { try await number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1") }
  }

  /// Returns when a condition holds; fails the test when that is not within five minutes, which guards against
  /// hanging and measures nothing.
  func wait(
    for what: String, _ location: SourceLocation = #_sourceLocation,
    until condition: () async throws -> Bool
  ) async throws {
    let limit = EventLoop.now + .seconds(300)
    while try await !condition() {
      try #require(EventLoop.now < limit, "waited in vain for \(what)", sourceLocation: location)
      try await loop.sleep(for: .milliseconds(5))
    }
  }

  /// Everything that must hold when no worker runs, and that nobody holds a lease.
  func expectSound(_ location: SourceLocation = #_sourceLocation) async throws {
    let broken = try await pool.query(
      "SELECT format('%s: job %s, user %s: %s', rule, job_id, user_id, detail) FROM analysis.broken_invariants()"
    ).map { try $0.string(0) }
    #expect(broken == [], sourceLocation: location)
    #expect(
      try await number("SELECT count(*)::int FROM analysis.lease") == 0, "a lease is left",
      sourceLocation: location)
  }
}
