import EventLoop
import PostgreSQL
import TestSupport
import Testing

@testable import JobQueue

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
}
