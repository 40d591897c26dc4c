import EventLoop
import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite("Connecting")
struct ConnectTests {
  private func failure(_ configuration: ConnectionConfiguration) async throws -> PostgreSQLError {
    let loop = try EventLoop()
    return try #require(await error { try await Connection.connect(configuration, on: loop) })
  }

  @Test(
    "works with a URI, with key=value pairs, with keywords and with a service",
    .enabled(if: TestServer.isPrivate))
  func forms() async throws {
    try await withTestDatabase { database in
      let host = try #require(database.conninfo.split(separator: " ").first?.dropFirst("host=".count))
      let folder = try TemporaryFolder()
      let services = folder.path + "/services"
      try folder.write(
        "[queue]\n\(database.conninfo.split(separator: " ").joined(separator: "\n"))\n", to: "services")
      setenv("PGSERVICEFILE", services, 1)
      let configurations = [
        ConnectionConfiguration("postgresql:///\(database.name)?host=\(host)&user=postgres"),
        ConnectionConfiguration(database.conninfo),
        ConnectionConfiguration(
          "dbname=other host=/nowhere",
          keywords: ["host": String(host), "user": "postgres", "dbname": database.name]),
        ConnectionConfiguration("service=queue"),
      ]
      for configuration in configurations {
        let connection = try await Connection.connect(configuration, on: try EventLoop())
        let row = try await connection.query("SELECT current_database()::text, pg_backend_pid()").single()
        #expect(try row.string(0) == database.name)
        #expect(try row.int32(1) == connection.backendPID)
        #expect(connection.serverVersion >= 130000)
        #expect(await connection.parameterStatus("client_encoding") == "UTF8")
      }
    }
  }

  @Test("gives the application's name to the server")
  func applicationName() async throws {
    try await withConnection {
      $0.applicationName = "analysis tests"
    } _: { connection in
      let name = try await connection.query("SHOW application_name").single().string(0)
      #expect(name == "analysis tests")
    }
  }

  @Test("to a socket where nobody listens is refused")
  func refused() async throws {
    let failure = try await failure(
      ConnectionConfiguration(
        "host=/nonexistent user=postgres", connectTimeout: patience, keywords: ["password": "hunter2"]))
    #expect(failure.code == .connectionFailed)
    #expect(failure.phase == .refused)
    #expect(failure.isTransient && failure.isConnectionLoss && !failure.mayHaveTakenEffect)
    #expect(!"\(failure)".contains("hunter2"))
  }

  @Test("to a missing database or as a missing role says so", .enabled(if: TestServer.isPrivate))
  func missing() async throws {
    try await withTestDatabase { database in
      let noDatabase = try await failure(
        ConnectionConfiguration(database.conninfo + " dbname=no_such_database"))
      #expect(noDatabase.phase == .databaseMissing)
      #expect(noDatabase.sqlState == "3D000")
      #expect(!noDatabase.isTransient)
      let noRole = try await failure(ConnectionConfiguration(database.conninfo + " user=no_such_role"))
      #expect(noRole.phase == .authentication)
      #expect(noRole.sqlState == "28000")
    }
  }

  @Test("with a wrong password is refused, and the password is not shown", .enabled(if: TestServer.isPrivate))
  func password() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect(on: try EventLoop())
      _ = try await connection.query("CREATE ROLE needs_password LOGIN PASSWORD 'correct-horse'")
      var configuration = ConnectionConfiguration(
        database.conninfo + " user=needs_password", keywords: ["password": "hunter2"])
      let wrong = try await failure(configuration)
      #expect(wrong.phase == .authentication)
      #expect(wrong.sqlState == "28P01")
      #expect(!wrong.isTransient)
      #expect(!"\(wrong) \(String(reflecting: wrong))".contains("hunter2"))
      configuration.keywords = ["passfile": "/dev/null"]
      #expect(try await failure(configuration).phase == .authentication)
      configuration.keywords["password"] = "correct-horse"
      let accepted = try await Connection.connect(configuration, on: try EventLoop())
      #expect(accepted.isUsable)
      await accepted.close()
      _ = try await connection.query("DROP ROLE needs_password")
    }
  }

  @Test("beyond a limit of connections says so", .enabled(if: TestServer.isPrivate))
  func limit() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect(on: try EventLoop())
      let role = "limited_\(database.name)"
      _ = try await connection.query("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 0")
      let failure = try await failure(ConnectionConfiguration(database.conninfo + " user=\(role)"))
      #expect(failure.phase == .tooManyClients)
      #expect(failure.sqlState == "53300")
      #expect(failure.isTransient)
      _ = try await connection.query("DROP ROLE \(role)")
    }
  }

  @Test(
    "with settings that cannot be read dies, and does not show them",
    arguments: [
      "host=x password='hunter2", "host=x hunter2 hunter2", "postgresql://user:hunter2@[::1",
      "hunter2=hunter2",
      "postgresql://u@h:1/d?hunter2=hunter2", "host=x port=hunter2", "service=hunter2 host=x",
      "host=x sslmode=hunter2",
    ])
  func settings(conninfo: String) async throws {
    let failure = try await failure(ConnectionConfiguration(conninfo))
    #expect(failure.phase == .configuration)
    #expect(!failure.isTransient)
    #expect(!"\(failure)".contains("hunter2"), "\(failure)")
  }

  @Test("to a server that accepts and then says nothing ends at the connect timeout")
  func silence() async throws {
    let folder = try TemporaryFolder()
    let listener = try folder.listen(on: ".s.PGSQL.5432")
    defer { close(listener) }
    let failure = try await failure(
      ConnectionConfiguration("host=\(folder.path) port=5432 user=a", connectTimeout: .milliseconds(150)))
    #expect(failure.phase == .timeout)
    #expect(failure.isTransient)
  }

  @Test("ends soon when its task is cancelled")
  func cancellation() async throws {
    let folder = try TemporaryFolder()
    let listener = try folder.listen(on: ".s.PGSQL.5432")
    defer { close(listener) }
    let loop = try EventLoop()
    let task = Task {
      await error {
        try await Connection.connect(
          ConnectionConfiguration("host=\(folder.path) port=5432 user=a", connectTimeout: .seconds(600)),
          on: loop)
      }
    }
    // Somebody has knocked: connecting is under way.
    let knock = await Task.detached { accept(listener, nil, nil) }.value
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    close(knock)
  }
}
