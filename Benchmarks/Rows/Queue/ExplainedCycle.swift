import BenchmarkKit
import EventLoop
import Foundation
import PostgreSQL
import Queue
import Support

/// One claim of 100 jobs and their completion, as the server accounts for them: pages touched and log written, which
/// do not drift with the machine.
struct ExplainedCycle {
  private let database: BenchmarkDatabase
  private let marks: [Lane: Int64]

  /// - Parameter marks: How far the lanes were claimed: from there a worker goes on.
  init(_ database: BenchmarkDatabase, marks: [Lane: Int64]) {
    self.database = database
    self.marks = marks
  }

  /// What both statements together came to, in a sample's further figures, for 100 jobs.
  func cost() async throws -> [String: Double] {
    try await database.pool.withConnection { connection in
      // The first calls in a session read catalogues and make plans.
      _ = try await self.cycle(.ear, connection)
      let (claim, completion) = try await self.cycle(.throat, connection)
      return [
        "claim_pages": claim.pages, "complete_pages": completion.pages,
        "log_records": claim.records + completion.records,
      ]
    }
  }

  private struct Account {
    let pages: Double
    let records: Double
  }

  private func cycle(
    _ kind: AnalysisKind, _ connection: Connection
  ) async throws -> (claim: Account, completion: Account) {
    var random = SystemRandomNumberGenerator()
    var ids = LeaseIDs(using: &random)
    let statements = WorkerStatements(
      shard: 0, worker: WorkerIdentity(host: "benchmark", pid: 1, version: "0", using: &random))
    let lane = Lane(kind, .normal)
    let lease = ids.take(1)
    let claim = try await explain(
      statements.claim(
        firstLease: lease, lanes: [LaneClaim(lane: lane, from: marks[lane] ?? 0, limit: 100)], count: 100,
        leaseDuration: .seconds(60)
      ).sql, connection)
    // EXPLAIN keeps the answer to itself; the lease tells what was claimed.
    let held = try await connection.query(
      "SELECT unnest(job_ids) FROM analysis.lease WHERE shard = 0 AND id = $1", [.int64(lease)])
    guard !held.isEmpty else { throw BenchmarkError("A claim that was to be explained found no jobs.") }
    let completed = try held.map {
      CompletedJob(
        lease: lease, job: JobID(try $0.int64(0)), analysis: Analysis(id: "a", kind: kind, conditions: []),
        calls: 1, callMilliseconds: 0, endpoint: "none")
    }
    return (claim, try await explain(statements.complete(completed).sql, connection))
  }

  private func explain(_ statement: SQLStatement, _ connection: Connection) async throws -> Account {
    let rows = try await connection.query(
      SQLStatement(
        "EXPLAIN (ANALYZE, BUFFERS, WAL, TIMING OFF, FORMAT JSON) " + statement.sql, statement.parameters))
    let text = try rows.single().jsonText(0)
    guard let plans = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]],
      let plan = plans.first?["Plan"] as? [String: Any]
    else { throw BenchmarkError("The server explained a statement in a form that is not known here.") }
    let number = { (key: String) in (plan[key] as? NSNumber)?.doubleValue ?? 0 }
    return Account(
      pages: number("Shared Hit Blocks") + number("Shared Read Blocks"), records: number("WAL Records"))
  }
}
