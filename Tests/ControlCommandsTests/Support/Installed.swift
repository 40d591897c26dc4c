import Administration
import AnalysisCore
import EventLoop
import JobQueue
import PostgreSQL
import TestSupport

@testable import ControlCommands

/// A migrated database of a test's own, and the program that works on it.
struct Installed {
  let pool: ConnectionPool
  let control: Control

  static let template = DatabaseTemplate("control") { conninfo in
    let pool = ConnectionPool(ConnectionConfiguration(conninfo), on: try EventLoop(name: "template"), size: 1)
    _ = try await Migrator(pool).migrate()
    await pool.close()
  }

  static func with<R>(
    _ template: DatabaseTemplate? = Installed.template, _ body: (Installed) async throws -> R
  ) async throws -> R {
    try await withTestDatabase(template) { database in
      let pool = ConnectionPool(database.configuration, on: try EventLoop(name: "control test"), size: 2)
      let result: Result<R, any Error>
      do {
        result = .success(
          try await body(Installed(pool: pool, control: Control(database: database.conninfo))))
      } catch {
        result = .failure(error)
      }
      await pool.close()
      return try result.get()
    }
  }

  func addUser(_ user: String, plan: String = "premium") async throws {
    _ = try await UserDirectory(pool).add(NewUser(reference: user, plan: plan))
  }

  func number(_ sql: String) async throws -> Int {
    try await pool.query(sql).single().int(0)
  }

  func texts(_ sql: String) async throws -> [String] {
    try await pool.query(sql).map { row in try row.string(0) }
  }

  /// Claims what waits in a lane, as a worker does.
  func claim(_ lane: Lane = Lane(.throat, .normal), lease: Int64 = 1000) async throws -> [ClaimedJob] {
    try await statements.claim(
      firstLease: lease, lanes: [LaneClaim(lane: lane, from: 0, limit: 100)], count: 100,
      leaseDuration: .seconds(600)
    ).run(on: pool).flatMap(\.jobs)
  }

  /// Gives a claimed job a result.
  func complete(_ job: ClaimedJob, confidence: Double = 0.7999) async throws {
    let found = Confidence(confidence).map {
      Condition(id: "tonsillitis", name: "Tonsillitis", confidence: $0, isPotentiallySerious: true)
    }
    let analysis = Analysis(id: "a-\(job.id)", kind: job.kind, conditions: [found].compactMap { $0 })
    _ = try await statements.complete([
      CompletedJob(
        lease: job.lease, job: job.id, analysis: analysis, calls: 1, callMilliseconds: 12, endpoint: "main")
    ]).run(on: pool)
  }

  /// Fails a claimed job for good.
  func kill(_ job: ClaimedJob) async throws {
    _ = try await statements.fail([
      FailedAttempt(
        lease: job.lease, job: job.id, decision: .dead, failureClass: .permanent,
        code: "INVALID_IMAGE_FORMAT",
        message: "the image was refused", errorID: nil, status: 400, calls: 1, maybeCounted: false,
        endpoint: "main")
    ]).run(on: pool)
  }

  private var statements: WorkerStatements {
    WorkerStatements(shard: 0, worker: WorkerIdentity(id: 7, host: "test", pid: 1, version: "1.0"))
  }
}
