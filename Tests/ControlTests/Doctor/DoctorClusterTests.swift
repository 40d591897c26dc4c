import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue

@Suite("doctor sees of a server of its own")
struct DoctorClusterTests {
  /// A cluster with a migrated database.
  private func with(
    _ settings: [String: String] = [:], access: [String] = [], listens: Bool = false,
    _ body: (ServerCluster, QueueFixture) async throws -> Void
  ) async throws {
    var options = ServerCluster.Options()
    options.settings = settings
    options.access = access
    options.listensOnTCP = listens
    try await withServerCluster(options) { cluster in
      try await withQueue(on: cluster) { try await body(cluster, $0) }
    }
  }

  /// Uses up transaction numbers: each block that fails takes one.
  private func consume(_ count: Int, _ database: some Queryable) async throws {
    try await database.execute(
      script: """
        CREATE TABLE IF NOT EXISTS consumed (i int);
        DO $$ BEGIN
          FOR i IN 1..\(count) LOOP
            BEGIN INSERT INTO consumed VALUES (i); RAISE EXCEPTION 'no'; EXCEPTION WHEN raise_exception THEN NULL; END;
          END LOOP;
        END $$
        """, deadline: patience)
  }

  /// Asks until a check is in a state.
  private func settled(
    _ queue: QueueFixture, _ check: String, _ state: String
  ) async throws -> [Diagnosis.Finding] {
    var found: [Diagnosis.Finding] = []
    try await eventually("\(check) to be \(state)") {
      found = try await queue.control.doctor().found.of(check)
      return found.contains { $0.state == state }
    }
    return found
  }

  @Test("that a durable one with all in order is well: exit 0")
  func well() async throws {
    try await with { (_, queue) async throws in
      try await queue.execute(
        "UPDATE analysis.setting SET value = '100000000000' WHERE name = 'max_database_bytes'")
      let (found, code) = try await queue.control.doctor("--deep")
      #expect(code == .done)
      // Nobody works, no endpoint was named, everybody may connect, and the tests are the superuser.
      #expect(
        found.findings.filter { $0.state != "ok" }.map(\.check)
          == ["rights.superuser", "rights.database", "workers.state", "workers.alive", "endpoint"])
    }
  }

  @Test("settings by which a crash destroys it, and autovacuum off")
  func settings() async throws {
    try await with(["fsync": "off", "autovacuum": "off"]) { (cluster, queue) async throws in
      let (found, code) = try await queue.control.doctor()
      #expect(code == .jobFailed)
      #expect(found.state("server.durability") == "wrong" && found.state("vacuum.automatic") == "wrong")
      try await cluster.set(["fsync": "on", "autovacuum": "on", "full_page_writes": "off"])
      let half = try await settled(queue, "vacuum.automatic", "ok")
      #expect(half.map(\.state) == ["ok"])
      #expect(
        try await queue.control.doctor().found.of("server.durability")[0].seen.hasPrefix(
          "full_page_writes off"))
    }
  }

  @Test("too few connections, and too many of them in use")
  func connections() async throws {
    try await with(["max_connections": "20", "superuser_reserved_connections": "3"]) {
      (cluster, queue) async throws in
      let loop = try EventLoop()
      defer { loop.shutdown() }
      var open: [Connection] = []
      for _ in 0..<12 {
        open.append(try await Connection.connect(ConnectionConfiguration(cluster.conninfo()), on: loop))
      }
      let found = try await queue.control.doctor().found.of("connections")
      #expect(
        found.map(\.state) == ["warning"] && found[0].seen.contains("of the 17 connections of the server"))
      for connection in open { await connection.close() }
    }
  }

  @Test("a prepared transaction that nobody ends")
  func prepared() async throws {
    try await with(["max_prepared_transactions": "2"]) { (_, queue) async throws in
      try await queue.execute(
        "BEGIN; UPDATE analysis.gauge SET value = 0; PREPARE TRANSACTION 'forgotten'")
      let found = try await queue.control.doctor("--long-transaction", "0ms").found.of("horizon.prepared")
      #expect(found.map(\.state) == ["wrong"])
      #expect(found.first?.seen.hasPrefix("prepared transaction forgotten has held") == true)
      try await queue.execute("ROLLBACK PREPARED 'forgotten'")
    }
  }

  @Test(
    "a standby that holds dead rows by its feedback; then its slot, when it has gone",
    .enabled(if: ServerCluster.canReplicate, "this server came without pg_basebackup"))
  func standby() async throws {
    try await with { (cluster, queue) async throws in
      try await queue.execute("SELECT pg_create_physical_replication_slot('second')")
      var options = ServerCluster.Options()
      options.settings = [
        "hot_standby_feedback": "on", "wal_receiver_status_interval": "1", "primary_slot_name": "second",
        "max_standby_streaming_delay": "-1",
      ]
      try await withStandby(of: cluster, named: "second", options) { standby in
        let loop = try EventLoop()
        let reader = ConnectionPool(ConnectionConfiguration(standby.conninfo()), on: loop, size: 1)
        let seen = try await Control(database: standby.conninfo()).doctor()
        #expect(seen.found.state("server.writable") == "wrong" && seen.code == .jobFailed)

        do {
          try await reader.transaction(isolation: .repeatableRead) { transaction in
            _ = try await transaction.query("SELECT 1")
            try await consume(250_000, queue.pool)
            let held = try await settled(queue, "horizon.slot", "warning")
            #expect(held.contains { $0.seen.contains("replication slot second has held an old view") })
            try await standby.stop(.immediate)
          }
        } catch let error as PostgreSQLError where error.isConnectionLoss {}  // the standby was stopped
        await reader.close()
        loop.shutdown()
      }
      let left = try await settled(queue, "horizon.slot", "wrong")
      #expect(left.contains { $0.seen.hasSuffix("and nobody reads it") })
      #expect(try await queue.control.doctor().found.state("volume.slots") == "warning")
    }
  }

  @Test(
    "a standby's feedback without a slot",
    .enabled(if: ServerCluster.canReplicate, "this server came without pg_basebackup"))
  func feedback() async throws {
    try await with { (cluster, queue) async throws in
      var options = ServerCluster.Options()
      options.settings = [
        "hot_standby_feedback": "on", "wal_receiver_status_interval": "1",
        "max_standby_streaming_delay": "-1",
      ]
      try await withStandby(of: cluster, named: "second", options) { standby in
        let loop = try EventLoop()
        let reader = ConnectionPool(ConnectionConfiguration(standby.conninfo()), on: loop, size: 1)
        try await reader.transaction(isolation: .repeatableRead) { transaction in
          _ = try await transaction.query("SELECT 1")
          try await consume(250_000, queue.pool)
          let held = try await settled(queue, "horizon.standby", "warning")
          #expect(held.contains { $0.seen.hasPrefix("standby second has held an old view") })
        }
        await reader.close()
        loop.shutdown()
      }
    }
  }

  @Test("rows that are not frozen in time, since a transaction holds vacuum up")
  func wraparound() async throws {
    try await with(["autovacuum_freeze_max_age": "100000"]) { (cluster, queue) async throws in
      let loop = try EventLoop()
      defer { loop.shutdown() }
      let holder = try await Connection.connect(ConnectionConfiguration(cluster.conninfo()), on: loop)
      try await holder.transaction(isolation: .repeatableRead) { transaction in
        _ = try await transaction.query("SELECT pg_current_xact_id()::text")
        try await consume(250_000, queue.pool)
        #expect(try await queue.control.doctor().found.state("vacuum.wraparound") == "warning")
      }
      await holder.close()
    }
  }

  @Test("a log that grows: archiving fails, and a slot keeps it")
  func log() async throws {
    try await with([
      "archive_mode": "on", "archive_command": "false", "max_wal_size": "32MB", "min_wal_size": "32MB",
    ]) { (_, queue) async throws in
      try await queue.execute("SELECT pg_create_physical_replication_slot('idle', true)")
      for _ in 0..<6 {
        try await queue.execute(
          "CREATE TABLE IF NOT EXISTS filler (t text); INSERT INTO filler VALUES ('x')")
        try await queue.execute("SELECT pg_switch_wal(); CHECKPOINT")
      }
      #expect(try await settled(queue, "volume.archive", "wrong").map(\.state) == ["wrong"])
      let found = try await queue.control.doctor().found
      #expect(found.state("volume.log") == "warning")
      #expect(found.of("volume.slots").map(\.state) == ["warning"])
      #expect(found.of("volume.slots")[0].seen.contains("idle"))
    }
  }

  @Test(
    "a connection over the network that is not encrypted",
    .enabled(if: networkAddress != nil, "needs an address beside the loopback"))
  func network() async throws {
    let address = try #require(networkAddress)
    try await with(["listen_addresses": address], access: ["host all all \(address)/32 trust"], listens: true)
    {
      (cluster, queue) async throws in
      var control = queue.control
      control.environment["ANALYSIS_DATABASE"] =
        "host=\(address) port=\(cluster.port) user=postgres dbname=postgres sslmode=disable"
      control.environment["ANALYSIS_DATABASE_PROOF"] = "as-given"
      let found = try await control.doctor().found
      #expect(found.state("server.tls") == "warning")
    }
  }

  @Test("that it went away, and that it is full")
  func unreachable() async throws {
    try await with(["max_connections": "10", "superuser_reserved_connections": "0", "max_wal_senders": "2"]) {
      (cluster, queue) async throws in
      let loop = try EventLoop()
      defer { loop.shutdown() }
      var open: [Connection] = []
      do {
        while open.count < 20 {
          open.append(try await Connection.connect(ConnectionConfiguration(cluster.conninfo()), on: loop))
        }
      } catch {}  // full
      let full = try await queue.control.doctor()
      #expect(
        full.code == .unreachable
          && full.found.of("server.reachable")[0].advice?.contains("max_connections") == true)
      for connection in open { await connection.close() }
      try await cluster.stop(.fast)
      let gone = try await queue.control.doctor()
      #expect(gone.code == .unreachable && gone.found.state("server.reachable") == "wrong")
      #expect(gone.found.state("endpoint") == "skipped")
    }
  }
}

@Suite("doctor sees of a pooler", .enabled(if: Pooler.isAvailable, "needs pgbouncer"))
struct DoctorPoolerTests {
  private func pooled(_ mode: String, _ body: (QueueFixture, TemporaryFolder) async throws -> Void)
    async throws
  {
    try await withQueue { (queue) async throws in
      try await withPooler(before: queue.database.name, settings: ["pool_mode": mode]) { pooler in
        let pooled = queue.reached(by: pooler.conninfo(database: queue.database.name))
        try await body(pooled, try TemporaryFolder())
      }
    }
  }

  @Test("that it is in transaction mode, and whether the worker's settings fit that")
  func transaction() async throws {
    try await pooled("transaction") { queue, files in
      let found = try await queue.control.doctor().found
      let mode = try #require(found.of("pooler.mode").first)
      #expect(found.state("pooler.mode") == "warning" && mode.advice?.contains("--no-listen") == true)
      let database = try #require(queue.control.environment["ANALYSIS_DATABASE"])
      for (listen, state) in [("true", "warning"), ("false", "ok")] {
        try files.write(
          "database = \"\(database)\"\nendpoint = http://127.0.0.1:9\nlisten = \(listen)\n", to: "worker.conf"
        )
        let found = try await queue.control.doctor("--worker-config", files.path("worker.conf")).found
        #expect(found.state("pooler.mode") == state)
      }
    }
  }

  @Test("that it is in session mode, which is as good as none")
  func session() async throws {
    try await pooled("session") { queue, _ in
      let found = try await queue.control.doctor().found.of("pooler.mode")
      #expect(found.map(\.seen) == ["a pooler that gives each client a session of its own"])
    }
    try await withQueue { (queue) async throws in
      let found = try await queue.direct().control.doctor().found.of("pooler.mode")
      #expect(found.map(\.seen) == ["no pooler: the server answers itself"])
    }
  }
}
