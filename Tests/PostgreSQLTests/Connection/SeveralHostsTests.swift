import EventLoop
import Foundation
import Glibc
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Connecting to one of several servers")
struct SeveralHostsTests {
  @Test("goes past one that is frozen, wherever it stands in the list", arguments: [0, 1, 2])
  func frozen(place: Int) async throws {
    try await withTestDatabase { database in
      let folder = try TemporaryFolder()
      let listener = try folder.listen(on: ".s.PGSQL.5432")
      defer { close(listener) }
      var hosts = ["/nonexistent", try host(of: database)]
      hosts.insert(folder.path, at: place)
      let connection = try await connect(database, hosts)
      #expect(connection.isUsable)
      await connection.close()
    }
  }

  @Test("goes past several that are frozen")
  func severalFrozen() async throws {
    try await withTestDatabase { database in
      let folders = try [TemporaryFolder(), TemporaryFolder()]
      let listeners = try folders.map { try $0.listen(on: ".s.PGSQL.5432") }
      defer { for listener in listeners { close(listener) } }
      let connection = try await connect(database, folders.map(\.path) + [host(of: database)])
      #expect(connection.isUsable)
      await connection.close()
    }
  }

  @Test("goes on waiting for one that is only slow, and tries the others again and again meanwhile")
  func slow() async throws {
    try await withTestDatabase { database in
      let proxy = try FaultProxy(to: .socket("\(try host(of: database))/.s.PGSQL.5432"))
      defer { proxy.stop() }
      proxy.freeze()
      let other = try Doorman()
      let loop = try EventLoop()
      let configuration = configuration(
        database, ["127.0.0.1", other.folder], ports: ["\(proxy.port)", "5432"])
      let connecting = Task { try await Connection.connect(configuration, on: loop) }
      while other.knocks < 2 { try await Task.sleep(for: .milliseconds(10)) }
      proxy.thaw()
      let connection = try await connecting.value
      #expect(connection.isUsable)
      await connection.close()
      other.end()
    }
  }

  @Test("goes past one that hangs up, as a proxy before a dead server does")
  func hangsUp() async throws {
    try await withTestDatabase { database in
      let doorman = try Doorman()
      let connection = try await connect(database, [doorman.folder, host(of: database)])
      #expect(connection.isUsable && doorman.knocks == 1)
      await connection.close()
      doorman.end()
    }
  }

  @Test("ends at the connect timeout when one is frozen and the others refuse, and tells of both")
  func none() async throws {
    let folder = try TemporaryFolder()
    let listener = try folder.listen(on: ".s.PGSQL.5432")
    defer { close(listener) }
    let failure = await error {
      try await Connection.connect(
        ConnectionConfiguration(
          "host=\(folder.path),/nonexistent user=a", connectTimeout: .seconds(20)), on: EventLoop())
    }
    #expect(failure?.phase == .timeout)
    #expect(failure?.isTransient == true)
    #expect(failure?.message.contains("Of another server") == true, "\(String(describing: failure))")
  }

  // MARK: Parts

  private func host(of database: TestDatabase) throws -> String {
    let words = database.conninfo.split(separator: " ")
    return String(try #require(words.first { $0.hasPrefix("host=") }).dropFirst("host=".count))
  }

  private func configuration(
    _ database: TestDatabase, _ hosts: [String], ports: [String] = ["5432"]
  ) -> ConnectionConfiguration {
    ConnectionConfiguration(
      database.conninfo, connectTimeout: patience,
      keywords: ["host": hosts.joined(separator: ","), "port": ports.joined(separator: ",")])
  }

  private func connect(_ database: TestDatabase, _ hosts: [String]) async throws -> Connection {
    try await Connection.connect(configuration(database, hosts), on: EventLoop())
  }
}

/// Takes every connection and hangs up.
private final class Doorman: Sendable {
  private let place: TemporaryFolder
  private let listener: Int32
  private let count = Atomic(0)

  var folder: String { place.path }
  var knocks: Int { count.load(ordering: .acquiring) }

  init() throws {
    place = try TemporaryFolder()
    listener = try place.listen(on: ".s.PGSQL.5432")
    Thread.detachNewThread { [listener, weak self] in
      while case let knock = accept(listener, nil, nil), knock >= 0 {
        self?.count.add(1, ordering: .releasing)
        close(knock)
      }
      close(listener)
    }
  }

  func end() {
    shutdown(listener, Int32(SHUT_RDWR))
  }
}
