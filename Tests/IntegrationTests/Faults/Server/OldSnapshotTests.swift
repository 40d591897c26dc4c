import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("An old snapshot is held")
struct OldSnapshotTests {
  @Test(
    "While 200,000 jobs pass, what a claim costs the server keeps within 20 %", .whereStatementsAreCounted)
  func held() async throws {
    var options = ServerCluster.Options.countingStatements
    options.settings["max_wal_size"] = "4GB"
    options.settings["shared_buffers"] = "512MB"
    try await withServerCluster(options) { cluster in
      let proxy = try FaultProxy(to: .socket(cluster.socketPath))
      defer { proxy.stop() }
      try await withQueue(on: cluster, through: proxy) { queue in
        try await queue.addUser("clinic-1")
        _ = try await queue.pool.query("CREATE EXTENSION pg_stat_statements")
        var drill = try await QueueDrill(cluster, queue)
        let before = try await cost(&drill, queue)

        let old = try await Connection.connect(
          ConnectionConfiguration(cluster.conninfo()), on: queue.loop)
        _ = try await old.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await old.query("SELECT 1")
        let during = try await cost(&drill, queue)
        let dead = try await queue.number(
          "SELECT n_dead_tup::int FROM pg_stat_user_tables WHERE relname = 'ready'")
        #expect(dead >= 150_000, "the snapshot kept nothing from being removed")
        _ = try await old.query("COMMIT")
        await old.close()

        #expect(during <= before * 1.2, "\(during) buffers a job instead of \(before)")
        await drill.close()
        try await queue.expectSound()
      }
    }
  }

  /// Has 200,000 jobs pass; answers the buffers that a claim touches for each of the last 50,000.
  private func cost(_ drill: inout QueueDrill, _ queue: QueueFixture) async throws -> Double {
    try await drill.fill(200_000)
    _ = try await queue.pool.query("ANALYZE analysis.job, analysis.ready", deadline: patience)
    try await drill.pass(150_000)
    return try await drill.buffers(50_000)
  }
}
