public import EventLoop
public import PostgreSQL

/// A database that tests start from, prepared once in a test process; each test gets a copy.
public struct DatabaseTemplate: Sendable {
  /// What distinguishes it: letters, digits and underscores.
  public let name: String
  /// Fills the empty database, and closes its connections to it.
  public let prepare: @Sendable (TestDatabase) async throws -> Void

  /// A template.
  public init(_ name: String, prepare: @escaping @Sendable (TestDatabase) async throws -> Void) {
    self.name = name
    self.prepare = prepare
  }
}

/// A database of one test's own.
public struct TestDatabase: Sendable {
  /// How to reach it.
  public let conninfo: String
  /// Its name.
  public let name: String
  /// Whether it has ``HostileSettings``: those of the tests' common server have, where they are on.
  private let isHostile: Bool

  /// A database that is there.
  public init(conninfo: String, name: String, isHostile: Bool = false) {
    self.conninfo = conninfo
    self.name = name
    self.isHostile = isHostile
  }

  /// A configuration for it.
  public var configuration: ConnectionConfiguration {
    var configuration = ConnectionConfiguration(conninfo)
    if isHostile { configuration.settings = HostileSettings.undone }
    return configuration
  }

  /// The same database for connections of a role.
  public func login(_ role: String) -> TestDatabase {
    reached(by: conninfo + (conninfo.contains("://") ? "&" : " ") + "user=\(role)")
  }

  /// The same database, reached by another way, such as a pooler or a login.
  public func reached(by conninfo: String) -> TestDatabase {
    TestDatabase(conninfo: conninfo, name: name, isHostile: isHostile)
  }

  /// Connects to it. A server on a busy machine may take its time to obey a cancellation.
  public func connect(on loop: EventLoop) async throws -> Connection {
    var configuration = configuration
    configuration.cancelGrace = patience
    return try await Connection.connect(configuration, on: loop)
  }
}

/// Gives the test a database of its own, empty or a copy of a template's, and drops it afterwards with
/// whatever is still connected to it.
///
/// Without a limit to the tests that run at once, those that have a database are at most eight; the others
/// wait here, before anything of theirs measures time.
public func withTestDatabase<R>(
  _ template: DatabaseTemplate? = nil, _ body: (TestDatabase) async throws -> R
) async throws -> R {
  try await TestDatabases.turns.take { try await withDatabase(template, body) }
}

/// Bounds the databases, and with them the connections and what the tests do with them: many tests at once
/// would starve each other on few cores.
private enum TestDatabases {
  static let turns = Semaphore(8)
}

private func withDatabase<R>(
  _ template: DatabaseTemplate?, _ body: (TestDatabase) async throws -> R
) async throws -> R {
  let server = TestServer.shared
  let name = try await server.makeDatabase(template)
  let outcome: Result<R, any Error>
  do {
    outcome = .success(
      try await body(
        TestDatabase(
          conninfo: try await server.conninfo(database: name), name: name, isHostile: HostileSettings.isOn)))
  } catch {
    outcome = .failure(error)
  }
  try await server.dropDatabase(name)
  return try outcome.get()
}
