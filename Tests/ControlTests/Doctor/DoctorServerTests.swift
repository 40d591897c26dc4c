import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("doctor sees of the server, as one database and its sessions can show it")
struct DoctorServerTests {
  @Test(
    "settings of the database that lose or cut work",
    arguments: [
      ("synchronous_commit = off", "server.synchronous_commit", "warning"),
      ("synchronous_commit = on", "server.synchronous_commit", "ok"),
      ("default_transaction_read_only = on", "server.writable", "wrong"),
      ("statement_timeout = '20s'", "timeouts.statement_timeout", "warning"),
      ("lock_timeout = '5s'", "timeouts.lock_timeout", "warning"),
      ("idle_session_timeout = '1min'", "timeouts.idle_session_timeout", "warning"),
      (
        "idle_in_transaction_session_timeout = '900ms'", "timeouts.idle_in_transaction_session_timeout",
        "warning"
      ),
      ("track_counts = off", "vacuum.automatic", "wrong"),
      (
        "default_transaction_isolation = 'repeatable read'", "settings.default_transaction_isolation",
        "warning"
      ),
      ("standard_conforming_strings = off", "settings.standard_conforming_strings", "warning"),
      ("row_security = off", "settings.row_security", "warning"),
      ("work_mem = '8MB'", "settings", HostileSettings.isOn ? nil : "ok"),
    ])
  func settings(setting: String, check: String, state: String?) async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute("ALTER DATABASE \(queue.database.name) SET \(setting)")
      // Through a pooler some of them end every program with the advice to ask on a direct connection.
      let found = try await queue.direct().control.doctor().found
      #expect(found.state(check) == state, "\(found)")
    }
  }

  @Test("a time limit that is set for a worker's role alone")
  func roleTimeout() async throws {
    try await withQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, in: ["analysis_worker"]) { role in
        // In this database alone: the doctors of other tests would report it too.
        try await queue.execute(
          "ALTER ROLE \(role) IN DATABASE \(queue.database.name) SET statement_timeout = '500ms'")
        let found = try await queue.control.doctor().found.of("timeouts.statement_timeout")
        #expect(found.map(\.state) == ["wrong"])
        #expect(found[0].seen.hasPrefix("statement_timeout is 500 ms for role \(role)"))
        // 0 is no limit, as `roles setup` sets it for who upgrades.
        try await queue.execute(
          "ALTER ROLE \(role) IN DATABASE \(queue.database.name) SET statement_timeout = 0")
        #expect(
          try await queue.control.doctor().found.of("timeouts.statement_timeout").allSatisfy {
            !$0.seen.contains(role)
          })
      }
    }
  }

  @Test("settings of a login of the installation that its calls do not go with, each with its cure")
  func roleSettings() async throws {
    try await withQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, in: ["analysis_submitter"]) { role in
        // In this database alone: the doctors of other tests would report it too.
        for (setting, shown) in [
          ("default_transaction_isolation = serializable", "default_transaction_isolation is serializable"),
          ("default_transaction_read_only = on", "default_transaction_read_only is on"),
          ("array_nulls = off", "array_nulls is off"),
        ] {
          let name = String(setting.prefix { $0 != " " })
          let alter = "ALTER ROLE \(role) IN DATABASE \(queue.database.name)"
          try await queue.execute("\(alter) SET \(setting)")
          let found = try await queue.control.doctor().found.of("settings.\(name)").filter {
            $0.seen.contains(role)
          }
          #expect(found.map(\.state) == ["warning"])
          #expect(found.first?.seen.hasPrefix("\(shown) for role \(role)") == true, "\(found)")
          #expect(found.first?.advice?.contains("\(alter) RESET \(name)") == true, "\(found)")
          try await queue.execute("\(alter) RESET \(name)")
          #expect(
            try await queue.control.doctor().found.of("settings.\(name)").filter { $0.seen.contains(role) }
              == [])
        }
      }
    }
  }

  @Test("another encoding than UTF8")
  func encoding() async throws {
    try await withQueue(from: nil) { (queue) async throws in
      let other = "\(queue.database.name)_latin"
      try await queue.execute(
        "CREATE DATABASE \(other) ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
      var control = queue.control
      control.environment["ANALYSIS_DATABASE"]? += " dbname=\(other)"
      let found = try await control.doctor().found
      try await queue.execute("DROP DATABASE \(other) WITH (FORCE)")
      #expect(found.state("server.encoding") == "wrong")
    }
  }

  @Test("autovacuum that is off for a table of the queue")
  func autovacuum() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute("ALTER TABLE analysis.ready SET (autovacuum_enabled = false)")
      let found = try await queue.control.doctor().found.of("vacuum.tables")
      #expect(found.map(\.state) == ["wrong"] && found[0].seen == "autovacuum is off for analysis.ready")
    }
  }

  @Test("dead rows that cannot be removed, and who holds them")
  func deadRows() async throws {
    try await withQueue { (queue) async throws in
      try await queue.pool.withConnection { holder in
        try await holder.transaction(isolation: .repeatableRead) { transaction in
          _ = try await transaction.query("SELECT 1")
          try await queue.execute(
            """
            INSERT INTO analysis.ready SELECT 0, 4, 0, 24000, i, i FROM generate_series(1, 120000) i;
            DELETE FROM analysis.ready
            """)
          // Counts reach the statistics when a session is idle.
          var found = try await queue.control.doctor("--long-transaction", "0ms").found
          try await eventually("the dead rows in the statistics") {
            found = try await queue.control.doctor("--long-transaction", "0ms").found
            return found.of("vacuum.dead_rows").contains {
              $0.seen.hasPrefix("analysis.ready has 120000 dead rows")
            }
          }
          let held = found.of("horizon.transaction")
          #expect(
            held.contains { $0.state == "warning" && $0.seen.hasPrefix("process \(holder.backendPID) ") })
          #expect(found.of("sessions.idle").contains { $0.seen.hasPrefix("process \(holder.backendPID) ") })
        }
      }
      #expect(try await queue.control.doctor().found.state("horizon") == "ok")
    }
  }

  @Test("a transaction that is younger than --long-transaction is none")
  func young() async throws {
    try await withQueue { (queue) async throws in
      try await queue.pool.transaction(isolation: .repeatableRead) { transaction in
        _ = try await transaction.query("SELECT 1")
        let found = try await queue.control.doctor("--long-transaction", "1h").found
        #expect(found.state("horizon") == "ok" && found.state("sessions.idle") == "ok")
      }
    }
  }

  private func begin(_ sql: String, on pool: ConnectionPool) -> Task<Void, any Error> {
    Task { try await pool.execute(script: sql) }
  }

  @Test("who waits for whose lock")
  func locks() async throws {
    try await withQueue { (queue) async throws in
      try await queue.pool.withConnection { holder in
        try await holder.transaction { transaction in
          _ = try await transaction.query("LOCK TABLE analysis.profile")
          let waiter = begin("SELECT FROM analysis.profile", on: queue.pool)
          var found: [Diagnosis.Finding] = []
          try await eventually("somebody who waits") {
            found = try await queue.control.doctor("--long-transaction", "0ms").found.of("sessions.locks")
            return found.contains { $0.state == "warning" }
          }
          #expect(found.contains { $0.seen.hasSuffix("for analysis.profile, held by \(holder.backendPID)") })
          waiter.cancel()
          _ = await waiter.result
        }
      }
    }
  }

  @Test("limits of connections that leave no room for a worker")
  func connections() async throws {
    try await withQueue { (queue) async throws in
      let name = queue.database.name
      try await queue.execute("ALTER DATABASE \(name) CONNECTION LIMIT 5")
      let tight = try await queue.control.doctor().found.of("connections")
      #expect(
        tight.contains { $0.state == "wrong" && $0.seen.contains("of the 5 connections of this database") })
      try await queue.execute("ALTER DATABASE \(name) CONNECTION LIMIT 7")
      let full = try await queue.control.doctor().found.of("connections")
      #expect(full.contains { $0.state == "warning" && $0.seen.contains("of this database") })
    }
  }

  @Test("a limit of the database's size that is missing, near, or reached")
  func volume() async throws {
    try await withQueue { (queue) async throws in
      #expect(try await queue.control.doctor().found.state("volume.limit") == "warning")
      for (factor, state) in [(10.0, "ok"), (1.05, "warning"), (0.9, "wrong")] {
        try await queue.execute(
          """
          UPDATE analysis.setting SET value = (pg_database_size(current_database()) * \(factor))::bigint::text
          WHERE name = 'max_database_bytes'
          """)
        #expect(try await queue.control.doctor().found.state("volume.limit") == state)
      }
    }
  }
}
