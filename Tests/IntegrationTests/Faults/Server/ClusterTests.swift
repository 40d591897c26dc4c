import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A cluster of a test's own")
struct ClusterTests {
  @Test("keeps what was committed over every way to stop it, on the same port")
  func survives() async throws {
    var options = ServerCluster.Options()
    options.listensOnTCP = true
    options.settings = ["max_connections": "20"]
    try await withServerCluster(options) { cluster in
      let loop = try EventLoop()
      defer { loop.shutdown() }
      let database = ConnectionConfiguration(cluster.conninfo(over: .tcp))
      let connection = try await Connection.connect(database, on: loop)
      _ = try await connection.query("CREATE TABLE kept (n int)")
      let stops: [() async throws -> Void] = [
        { try await cluster.stop(.fast) }, { try await cluster.stop(.immediate) },
        { try await cluster.kill() },
      ]
      for (number, stop) in stops.enumerated() {
        let connection = try await Connection.connect(database, on: loop)
        _ = try await connection.query("INSERT INTO kept VALUES (\(number))")
        try await stop()
        await connection.close()
        #expect(cluster.postmaster == nil)
        try await cluster.start()
      }
      await connection.close()
      let again = try await Connection.connect(ConnectionConfiguration(cluster.conninfo()), on: loop)
      let kept = try await again.query("SELECT count(*)::int FROM kept").single().int(0)
      #expect(kept == 3)
      await again.close()
    }
  }

  @Test(
    "has a standby that follows it and takes over",
    .enabled(if: ServerCluster.canReplicate, "this server came without pg_basebackup"))
  func standby() async throws {
    try await withServerCluster { cluster in
      let loop = try EventLoop()
      defer { loop.shutdown() }
      try await withStandby(of: cluster, named: "second") { standby in
        try await cluster.set(["synchronous_standby_names": "second", "synchronous_commit": "remote_apply"])
        let first = ConnectionPool(ConnectionConfiguration(cluster.conninfo()), on: loop, size: 1)
        _ = try await first.query("CREATE TABLE kept AS SELECT 1 AS n")
        await first.close()
        try await cluster.kill()
        try await standby.promote()
        let second = ConnectionPool(ConnectionConfiguration(standby.conninfo()), on: loop, size: 1)
        _ = try await second.query("INSERT INTO kept VALUES (2)")
        let kept = try await second.query("SELECT count(*)::int FROM kept").single().int(0)
        #expect(kept == 2)
        await second.close()
      }
    }
  }
}
