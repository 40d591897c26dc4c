import BenchmarkKit
import EventLoop
import PostgreSQL
import Synchronization

/// Whether a transaction that stays open slows the queue down, since nothing that was deleted since then can be
/// removed.
final class OldSnapshotRow: BenchmarkRow {
  let name = "old-snapshot"
  let sentence =
    "claim and complete 400,000 jobs, 100 a batch, in two databases by turns; in one a transaction stays open all the time"
  let headline = Headline.rate(of: "jobs")

  private let open = Mutex<[Connection]>([])
  private static let chunks = 20

  func runs(_ settings: BenchmarkSettings) -> Int { settings.isQuick ? 2 : Self.chunks }

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let jobs = bench.size(400_000, quick: 400)
    let chunk = jobs / runs(bench.settings)
    var contenders: [Contender] = []
    for isHeld in [false, true] {
      let database = try await bench.cluster.freshDatabase(named: isHeld ? "snapshot_held" : "snapshot_free")
      _ = try await QueueFixture.make(in: database, pictures: PictureBytes.pictures(200, bytes: 64))
      try await QueueFixture.fill(database, jobs: jobs)
      try await bench.cluster.settle(database)
      let drain = try await QueueDrain.connected(
        to: database.conninfo, on: bench.loop, batch: 100, analyses: SampleAnalyses(isWhole: false))
      open.withLock { $0 += drain.connections }
      if isHeld { try await hold(database, bench) }
      contenders.append(
        Contender(isHeld ? "an old snapshot is held" : "no old snapshot") { bench in
          var sample = try await drain.sample(jobs: chunk, on: bench.cluster)
          sample.further["dead_rows"] = try await Self.deadRows(database)
          return sample
        })
    }
    return contenders
  }

  /// Opens a transaction whose snapshot keeps everything that is deleted from now on.
  private func hold(_ database: BenchmarkDatabase, _ bench: Bench) async throws {
    let holder = try await Connection.connect(ConnectionConfiguration(database.conninfo), on: bench.loop)
    open.withLock { $0.append(holder) }
    try await holder.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ")
    _ = try await holder.query("SELECT count(*) FROM analysis.plan")
  }

  private static func deadRows(_ database: BenchmarkDatabase) async throws -> Double {
    Double(
      try await database.number(
        "SELECT pg_stat_get_dead_tuples('analysis.ready'::regclass)"))
  }

  func clean(_ bench: Bench) async {
    for connection in open.withLock({ $0 }) { await connection.close() }
    open.withLock { $0 = [] }
  }
}
