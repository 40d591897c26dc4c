import Administration
package import AnalysisCore
package import EventLoop
package import JobQueue
package import PostgreSQL
package import TestSupport

/// A database of its own with the whole schema, and short ways to put something into it.
package struct QueueFixture: Sendable {
  package let database: TestDatabase
  package let loop: EventLoop
  package let pool: ConnectionPool
  package let statements = WorkerStatements(
    shard: 0, worker: WorkerIdentity(id: 77, host: "test", pid: 1, version: "1.0"))

  package static let template = DatabaseTemplate("queue_client") { conninfo in
    let loop = try EventLoop(name: "template")
    let pool = ConnectionPool(ConnectionConfiguration(conninfo), on: loop, size: 1)
    _ = try await Migrator(pool).migrate()
    await pool.close()
  }

  package func addUser(_ reference: String, plan: String = "premium") async throws {
    _ = try await UserDirectory(pool).add(NewUser(reference: reference, plan: plan))
  }

  package func submission(
    _ user: String, _ image: Int = 1, key: String? = nil, kind: AnalysisKind = .throat,
    priority: Priority = .normal, runAt: Double? = nil
  ) -> Submission {
    Submission(
      user: user, kind: kind, priority: priority, image: Self.image(image), key: key, runAt: runAt,
      sourceName: "photo \(image).jpg")
  }

  /// Made-up bytes, different for each number, under a made-up hash.
  package static func image(_ number: Int) -> SubmittedImage {
    .bytes(bytes(number), sha256: hash(number), width: 640, height: 480)
  }

  package static func bytes(_ number: Int) -> [UInt8] {
    (0..<2000).map { UInt8(truncatingIfNeeded: $0 &* number) }
  }

  package static func hash(_ number: Int) -> [UInt8] {
    (0..<32).map { UInt8(truncatingIfNeeded: $0 &+ number) }
  }

  @discardableResult
  package func submit(_ items: [Submission]) async throws -> [SubmitOutcome] {
    try await Submitter(pool).submit(items)
  }

  /// Submits jobs of one user and answers their ids.
  package func submitted(_ count: Int, user: String = "clinic") async throws -> [JobID] {
    try await submit((0..<count).map { submission(user, $0 + 1) }).compactMap(\.job)
  }

  /// Claims what waits in the lane of normal throat jobs.
  package func claim(lease: Int64 = 1000, count: Int = 100) async throws -> [ClaimedJob] {
    let lane = LaneClaim(lane: Lane(.throat, .normal), from: 0, limit: count)
    return try await statements.claim(
      firstLease: lease, lanes: [lane], count: count, leaseDuration: .seconds(60)
    ).run(on: pool).flatMap(\.jobs)
  }

  package func completed(_ job: ClaimedJob, name: String = "Tonsillitis") throws -> CompletedJob {
    guard let high = Confidence(0.83), let low = Confidence(0.21) else { throw FixtureError.confidence }
    let conditions = [
      Condition(
        id: "tonsillitis", name: name, confidence: high, symptoms: ["fever"], isPotentiallySerious: true),
      Condition(id: "normal", name: "Normal", confidence: low, isNormal: true),
    ]
    let analysis = Analysis(
      id: "analysis-\(job.id)", kind: job.kind, conditions: conditions, answeredAt: 1_700_000_000.5,
      model: "stand-in")
    return CompletedJob(
      lease: job.lease, job: job.id, analysis: analysis, calls: 1, callMilliseconds: 12, endpoint: "main")
  }

  package func number(_ sql: String) async throws -> Int {
    try await pool.query(sql).single().int(0)
  }

  package enum FixtureError: Error {
    case confidence
  }
}

/// Lends a migrated database that is dropped at the end.
package func withQueue<R>(_ body: (QueueFixture) async throws -> R) async throws -> R {
  try await withTestDatabase(QueueFixture.template) { database in
    let loop = try EventLoop(name: "test")
    let pool = ConnectionPool(database.configuration, on: loop, size: 4)
    let result: Result<R, any Error>
    do {
      result = .success(try await body(QueueFixture(database: database, loop: loop, pool: pool)))
    } catch {
      result = .failure(error)
    }
    await pool.close()
    return try result.get()
  }
}
