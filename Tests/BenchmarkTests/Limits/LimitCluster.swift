import BenchmarkKit
import EventLoop
import PostgreSQL
import TestSupport

@testable import BenchmarkRows

/// What the database accounts for while a part of the work is done.
struct DatabaseAccount {
  var logBytes = 0.0
  var transactions = 0.0
  var inserted = 0.0
  var updated = 0.0
  var deleted = 0.0

  static func - (one: Self, other: Self) -> Self {
    DatabaseAccount(
      logBytes: one.logBytes - other.logBytes, transactions: one.transactions - other.transactions,
      inserted: one.inserted - other.inserted, updated: one.updated - other.updated,
      deleted: one.deleted - other.deleted)
  }
}

/// A quick cluster of the benchmarks with a queue, in which nothing but the test writes.
struct LimitCluster {
  let cluster: BenchmarkCluster
  let database: BenchmarkDatabase

  /// Runs the body with a queue that has users and stored images, and no jobs.
  static func with(
    pictureBytes: Int, _ body: (LimitCluster) async throws -> Void
  ) async throws {
    let loop = try EventLoop()
    defer { loop.shutdown() }
    let cluster = try await BenchmarkCluster.start(on: loop, isQuick: true)
    let outcome: Result<Void, any Error>
    do {
      // Vacuum and the images of whole pages come when they like, and are no job's.
      for setting in ["autovacuum", "full_page_writes"] {
        _ = try await cluster.owner.query("ALTER SYSTEM SET \(setting) = off")
      }
      _ = try await cluster.owner.query("SELECT pg_reload_conf()")
      let database = try await cluster.freshDatabase(named: "limits")
      _ = try await QueueFixture.make(
        in: database, pictures: PictureBytes.pictures(QueueFixture.usualPictures, bytes: pictureBytes))
      await database.pool.close()
      outcome = .success(try await body(LimitCluster(cluster: cluster, database: database)))
    } catch {
      outcome = .failure(error)
    }
    await cluster.remove()
    try outcome.get()
  }

  /// Accounts for a part of the work, which is done by connections that end in it: what a session has done is
  /// known for certain when it has gone.
  func account(_ work: () async throws -> Void) async throws -> DatabaseAccount {
    let before = try await account()
    try await work()
    return try await account() - before
  }

  private func account() async throws -> DatabaseAccount {
    let observer = cluster.owner
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1"
    while try await observer.query(sessions, [.text(database.name)]).single().int(0) > 0 {
      await Task.yield()
    }
    let row = try await observer.query(
      """
      SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8, xact_commit::float8, tup_inserted::float8,
             tup_updated::float8, tup_deleted::float8
      FROM pg_stat_database WHERE datname = $1
      """, [.text(database.name)]
    ).single()
    return DatabaseAccount(
      logBytes: try row.double(0), transactions: try row.double(1), inserted: try row.double(2),
      updated: try row.double(3), deleted: try row.double(4))
  }
}
