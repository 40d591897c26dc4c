import EventLoop
import PostgreSQL
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

/// Roles belong to the whole cluster: these tests need one that has none yet.
@Suite("The migrator and the roles of a cluster")
struct RoleMigrationTests {
  private func withPool<R>(
    _ cluster: ServerCluster, _ database: String, user: String = "postgres",
    _ body: (ConnectionPool) async throws -> R
  ) async throws -> R {
    var configuration = ConnectionConfiguration(cluster.conninfo(database: database))
    configuration.keywords["user"] = user
    let pool = ConnectionPool(configuration, on: try EventLoop(name: "roles"), size: 2)
    let outcome: Result<R, any Error>
    do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
    await pool.close()
    return try outcome.get()
  }

  /// What in the schema does not belong to its owner.
  private static let foreign = """
    SELECT c.relname::text FROM pg_class c
    WHERE c.relnamespace = 'analysis'::regnamespace AND c.relowner <> 'analysis_owner'::regrole
    UNION SELECT p.proname::text FROM pg_proc p
    WHERE p.pronamespace = 'analysis'::regnamespace AND p.proowner <> 'analysis_owner'::regrole
    """

  @Test("makes them for several databases of a cluster at once, and again")
  func manyDatabases() async throws {
    try await withServerCluster { (cluster) async throws in
      let names = (1...6).map { "db\($0)" }
      try await withPool(cluster, "postgres") { (pool) async throws in
        for name in names { _ = try await pool.query("CREATE DATABASE \(name)") }
      }
      for _ in 0..<2 {
        try await withThrowingTaskGroup(of: Void.self) { (group) async throws in
          for name in names {
            group.addTask { try await withPool(cluster, name) { _ = try await Migrator($0).migrate() } }
          }
          try await group.waitForAll()
        }
      }
      for name in names {
        try await withPool(cluster, name) { (pool) async throws in
          #expect(try await Migrator(pool).status().isCurrent)
          #expect(try await pool.query(Self.foreign).count == 0)
        }
      }
    }
  }

  @Test(
    "without the right to make roles says once what an administrator has to run; then all is as it should be")
  func ordinaryMigrator() async throws {
    try await withServerCluster { (cluster) async throws in
      try await withPool(cluster, "postgres") { (pool) async throws in
        try await pool.execute(script: "CREATE ROLE bob LOGIN")
        _ = try await pool.query("CREATE DATABASE one")
        try await pool.execute(script: "GRANT CREATE ON DATABASE one TO bob")
      }
      let advice = try await withPool(cluster, "one", user: "bob") { (pool) async throws in
        let error = await #expect(throws: JobQueueError.self) { try await Migrator(pool).migrate() }
        #expect(error?.code == .permission)
        #expect(try await Migrator(pool).status().version < Migrator.version)
        return error?.advice ?? ""
      }
      // Just what it says.
      let start = try #require(advice.firstRange(of: "once: ")?.upperBound)
      let end = try #require(advice.firstRange(of: " Then migrate again.")?.lowerBound)
      try await withPool(cluster, "one") { try await $0.execute(script: String(advice[start..<end])) }
      try await withPool(cluster, "one", user: "bob") { (pool) async throws in
        _ = try await Migrator(pool).migrate()
        #expect(try await pool.query(Self.foreign).count == 0)
        // What later versions bring comes to the owner too, and is not open to everybody.
        let known = MigrationSource.embedded
        let later = MigrationSource(
          migrations: known.migrations + [
            .init(number: known.version + 1, name: "later", text: "CREATE TABLE analysis.later (a int);")
          ],
          functions: known.functions + [
            .init(
              name: "later",
              text: "CREATE OR REPLACE FUNCTION analysis.later() RETURNS int LANGUAGE sql AS 'SELECT 1';")
          ], finally: known.finally)
        _ = try await Migrator(pool, source: later).migrate()
        #expect(try await pool.query(Self.foreign).count == 0)
        let open = try await pool.query(
          "SELECT has_function_privilege('pg_monitor', 'analysis.later()', 'EXECUTE')"
        ).single().bool(0)
        #expect(!open)
      }
    }
  }

  @Test("finds the roles that another made, and may be one that makes roles but is no superuser")
  func roleMaker() async throws {
    try await withServerCluster { (cluster) async throws in
      try await withPool(cluster, "postgres") { (pool) async throws in
        try await pool.execute(script: "CREATE ROLE ann LOGIN CREATEROLE CREATEDB")
      }
      try await withPool(cluster, "postgres", user: "ann") { (pool) async throws in
        for name in ["one", "two"] { _ = try await pool.query("CREATE DATABASE \(name)") }
      }
      for name in ["one", "two"] {
        try await withPool(cluster, name, user: "ann") { (pool) async throws in
          _ = try await Migrator(pool).migrate()
          #expect(try await pool.query(Self.foreign).count == 0)
        }
      }
    }
  }

  @Test("goes on when somebody drops a login meanwhile that has one of them")
  func droppedLogin() async throws {
    try await withServerCluster { (cluster) async throws in
      try await withPool(cluster, "postgres") { (pool) async throws in
        _ = try await pool.query("CREATE DATABASE one")
        _ = try await Migrator(pool).migrate()
        try await pool.execute(script: "CREATE ROLE gone LOGIN IN ROLE analysis_worker")
        let connection = try await Connection.connect(pool.configuration, on: pool.loop)
        try await connection.execute(script: "BEGIN; DROP ROLE gone")
        async let migrated = withPool(cluster, "one") { try await Migrator($0).migrate() }
        try await eventually("the migration waits for the role") {
          try await pool.query(
            "SELECT count(*)::int FROM pg_stat_activity WHERE datname = 'one' AND wait_event_type = 'Lock'"
          ).single().int(0) > 0
        }
        try await connection.execute(script: "COMMIT")
        #expect(try await !migrated.isEmpty)
        await connection.close()
      }
    }
  }

  @Test("makes two installations on one server, each with roles of its own, and keeps their prefixes")
  func twoPrefixes() async throws {
    try await withServerCluster { (cluster) async throws in
      try await withPool(cluster, "postgres") { (pool) async throws in
        for name in ["first", "second"] { _ = try await pool.query("CREATE DATABASE \(name)") }
        try await pool.execute(script: "CREATE ROLE ann LOGIN; CREATE ROLE ben LOGIN")
      }
      try await withPool(cluster, "first") { _ = try await Migrator($0).migrate() }
      try await withPool(cluster, "second") { (pool) async throws in
        _ = try await Migrator(pool, rolePrefix: "beta").migrate()
        // The next migration needs no prefix, and takes no other.
        #expect(try await Migrator(pool).migrate().isEmpty)
        let error = await #expect(throws: JobQueueError.self) {
          try await Migrator(pool, rolePrefix: "gamma").migrate()
        }
        #expect(error?.code == .badRow)
        #expect(error?.message.contains("begin with beta_ since its first migration") == true)
        let count = "SELECT count(*)::int FROM pg_roles WHERE rolname ~ '^(beta|gamma)_' AND NOT rolcanlogin"
        #expect(try await pool.query(count).single().int(0) == DatabaseRole.allCases.count)
        #expect(try await Migrator(pool).altered() == [])
      }
      try await withPool(cluster, "postgres") {
        try await $0.execute(script: "GRANT analysis_operator TO ann; GRANT beta_operator TO ben")
      }
      for (database, own, other) in [("first", "ann", "ben"), ("second", "ben", "ann")] {
        try await withPool(cluster, database, user: own) { (pool) async throws in
          let login = try await DatabaseLogin.read(pool)
          #expect(login.roles == [.operator] && login.rolePrefix == (own == "ann" ? "analysis" : "beta"))
          _ = try await PauseDirectory(pool).pause(.kind(.ear), reason: nil, until: nil)
        }
        try await withPool(cluster, database, user: other) { (pool) async throws in
          let login = try await DatabaseLogin.read(pool)
          #expect(login.roles == [])
          let error = await #expect(throws: JobQueueError.self) {
            try await Migrator(pool).requireCompatible()
          }
          #expect(error?.lacksRole == true)
        }
      }
    }
  }

  @Test("refuses a prefix that would have to be quoted, and a schema that is another's")
  func refusedPrefix() async throws {
    try await withServerCluster { (cluster) async throws in
      try await withPool(cluster, "postgres") { (pool) async throws in
        for prefix in ["Beta", "be ta", "1st", "x'y", String(repeating: "x", count: 41)] {
          let error = await #expect(throws: JobQueueError.self) {
            try await Migrator(pool, rolePrefix: prefix).migrate()
          }
          #expect(error?.code == .badRow, "\(prefix)")
        }
        // A schema of the same name that another program made is not taken, whatever its owner is called.
        try await pool.execute(
          script: "CREATE ROLE app_owner; CREATE SCHEMA analysis AUTHORIZATION app_owner")
        let error = await #expect(throws: JobQueueError.self) { try await Migrator(pool).migrate() }
        #expect(error?.code == .permission)
        #expect(error?.message.contains("belongs to role app_owner") == true)
      }
    }
  }
}
