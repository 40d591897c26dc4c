import EventLoop
import Glibc
import PostgreSQL

/// The PostgreSQL server of this test process: one of its own, started at first use, or the one that the
/// connection string in `ANALYSIS_TEST_SERVER` names (as a role that may create databases; its
/// password, if it has one, in a password file).
public actor TestServer {
  /// The process's server.
  public static let shared = TestServer()

  /// Whether it is the process's own, on this machine and set up as the tests of passwords need it.
  public static var isPrivate: Bool { getenv("ANALYSIS_TEST_SERVER") == nil }

  /// Whether programs reach it through PgBouncer in transaction mode: `scripts/test --pooled`.
  public static let isPooled = getenv("ANALYSIS_TEST_POOLED") != nil && isPrivate && Pooler.isAvailable

  private var pooling: Task<Pooler, any Error>?
  private var starting: Task<(conninfo: String, pool: ConnectionPool), any Error>?
  private var templates: [String: Task<String, any Error>] = [:]
  private var made = 0

  /// A connection string for one of the server's databases.
  public func conninfo(database: String = "postgres") async throws -> String {
    let server = try await server().conninfo
    guard server.contains("://") else { return "\(server) dbname=\(database)" }
    return server + (server.contains("?") ? "&" : "?") + "dbname=\(database)"
  }

  /// How programs and logins reach one of the databases: through a pooler, where that is asked for.
  public func programs(database: String) async throws -> String {
    guard Self.isPooled else { return try await conninfo(database: database) }
    let pooling =
      pooling
      ?? Task {
        // Logins come and go: it asks the server for them, as somebody who is no client of its own. PgBouncer ends where its
        // `auth_user` is one (https://github.com/pgbouncer/pgbouncer/issues/968).
        _ = try await server().pool.query("CREATE ROLE pooler SUPERUSER LOGIN")
        let pooler = try Pooler(
          to: try await conninfo(),
          settings: ["auth_user": "pooler", "max_client_conn": "1000", "default_pool_size": "10"],
          users: ["pooler", "postgres"])
        try await pooler.start()
        return pooler
      }
    self.pooling = pooling
    return try await pooling.value.conninfo(database: database)
  }

  /// Whether the server has the files of an extension, such as those of PostgreSQL's contrib modules.
  public func offers(extension name: String) async throws -> Bool {
    try await server().pool.query(
      "SELECT EXISTS (SELECT FROM pg_available_extensions e WHERE e.name = $1)", [.text(name)]
    ).single().bool(0)
  }

  /// Makes an empty database, or a copy of a template's.
  func makeDatabase(_ template: DatabaseTemplate?) async throws -> String {
    let original = if let template { try await database(of: template) } else { try await empty() }
    made += 1
    let name = "test_\(getpid())_\(made)"
    try await create(name, from: original)
    return name
  }

  func dropDatabase(_ name: String) async throws {
    let pool = try await server().pool
    // The server once stood still until it was given up: nobody makes or drops another meanwhile. Then it is done again.
    for attempt in 1... {
      do {
        _ = try await pool.query("DROP DATABASE IF EXISTS \(name) WITH (FORCE)", deadline: .seconds(60))
        return
      } catch {
        guard error.code == .deadlineExceeded, attempt < 5 else { throw error }
      }
    }
  }

  // MARK: Parts

  private func server() async throws -> (conninfo: String, pool: ConnectionPool) {
    if let starting { return try await starting.value }
    let task = Task { () -> (conninfo: String, pool: ConnectionPool) in
      let given = getenv("ANALYSIS_TEST_SERVER").map { String(cString: $0) }
      let conninfo = if let given { given } else { try await PrivateCluster.start().server }
      var configuration = ConnectionConfiguration(conninfo, defaultDeadline: patience)
      configuration.keywords["dbname"] = "postgres"
      let pool = ConnectionPool(configuration, on: try EventLoop(name: "test-server"), size: 4)
      return (conninfo, pool)
    }
    starting = task
    return try await task.value
  }

  /// What an empty database is copied from. With `ANALYSIS_TEST_PUBLICATION` it publishes all tables, as for a standby of
  /// the next major version or for who captures changes.
  private func empty() async throws -> String {
    guard getenv("ANALYSIS_TEST_PUBLICATION") != nil else { return "template0" }
    let published = DatabaseTemplate("published") { database in
      let pool = ConnectionPool(database.configuration, on: try EventLoop(name: "published"), size: 1)
      _ = try await pool.query("CREATE PUBLICATION everything FOR ALL TABLES")
      await pool.close()
    }
    return try await database(of: published, from: "template0")
  }

  /// The template's database, made by whoever asks first.
  private func database(of template: DatabaseTemplate, from original: String? = nil) async throws -> String {
    if let making = templates[template.name] { return try await making.value }
    let task = Task {
      let name = "template_\(getpid())_\(template.name)"
      let empty = if let original { original } else { try await self.empty() }
      try await self.create(name, from: empty)
      try await template.prepare(
        TestDatabase(
          conninfo: try await self.conninfo(database: name), name: name, isHostile: HostileSettings.isOn))
      return name
    }
    templates[template.name] = task
    return try await task.value
  }

  private func create(_ name: String, from original: String) async throws {
    let pool = try await server().pool
    // A connection to the original that was closed a moment ago may not be gone yet.
    for attempt in 1... {
      do {
        _ = try await pool.query("CREATE DATABASE \(name) TEMPLATE \(original)")
        if HostileSettings.isOn {
          try await pool.execute(script: HostileSettings.script(for: "DATABASE \(name)"))
        }
        return
      } catch {
        guard error.sqlState == "55006", attempt < 100 else { throw error }
        try await pool.loop.sleep(for: .milliseconds(50))
      }
    }
  }
}
