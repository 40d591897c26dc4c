import Foundation
import Glibc
import Synchronization

/// PgBouncer in transaction mode before a server, on a port of the loopback that stays the same.
///
/// When this process ends, however it ends, the pooler is stopped and its folder removed.
public final class Pooler: Sendable {
  /// Whether the program is there; it is in Debian's package `pgbouncer`.
  public static let isAvailable = program != nil
  private static let program = HelperProgram.find("/usr/sbin/pgbouncer", "/usr/bin/pgbouncer")

  /// The port.
  public let port: UInt16
  private let folder: String
  private let server: String
  private let programs: ServerPrograms
  private let janitor: Supervisor
  private let settings: [String: String]
  private let users: [String]
  private let running = Mutex<RunningProgram?>(nil)

  /// Makes a pooler, which is not started.
  ///
  /// - Parameters:
  ///   - server: How it reaches the server, as a connection string without a database.
  ///   - settings: Of its section `pgbouncer`.
  ///   - users: Who may come and is passed on under the same name; nobody for all to be passed on as the superuser.
  init(to server: String, settings: [String: String], users: [String]) throws {
    programs = try ServerPrograms()
    var template = Array("/tmp/aqpool-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSupportError("mkdtemp failed with errno \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    janitor = try Supervisor(script: ServerJanitor.script, arguments: [folder, folder])
    port = try FreePort.find()
    // It names the user itself.
    self.server = server.split(separator: " ").filter {
      !$0.hasPrefix("dbname=") && (users.isEmpty || !$0.hasPrefix("user="))
    }.joined(separator: " ")
    self.settings = settings
    self.users = users.isEmpty ? ["postgres"] : users
    try programs.own(folder)
  }

  /// A connection string through it, as the superuser unless another is named.
  public func conninfo(database: String, user: String = "postgres") -> String {
    "host=127.0.0.1 port=\(port) user=\(user) dbname=\(database)"
  }

  /// What it has logged since it was last started.
  public var log: String { running.withLock { $0 }?.errorsSoFar ?? "" }

  /// Starts it and waits until it takes connections.
  public func start() async throws {
    guard let program = Self.program else { throw TestSupportError("pgbouncer is not installed") }
    try writeSettings()
    let words = programs.asUser + [program, "\(folder)/pooler.ini"]
    // Not by way of a shell that closes what it inherits: the descriptor by which `Process` sees the end is among
    // it, and it would then wait for this one's end and for no other's.
    let started = try RunningProgram(
      words[0], Array(words.dropFirst()), directory: URL(fileURLWithPath: folder))
    running.withLock { $0 = started }
    let limit = ContinuousClock.now + patience
    while !started.errorsSoFar.contains("process up") {
      guard !started.hasEnded, ContinuousClock.now < limit else {
        throw TestSupportError("pgbouncer did not start: \(started.errorsSoFar)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Kills it, and with it every connection of its clients and to its server.
  public func kill() async {
    guard let program = running.withLock({ $0 }) else { return }
    program.send(SIGKILL)
    _ = await program.ended()
  }

  func remove() async {
    await kill()
    await withCheckedContinuation { done in
      DispatchQueue(label: "pooler").async { [janitor] in
        janitor.end()
        done.resume()
      }
    }
  }

  private func writeSettings() throws {
    var all = [
      "listen_addr": "127.0.0.1", "listen_port": "\(port)", "unix_socket_dir": "", "auth_type": "trust",
      "auth_file": "\(folder)/users", "pool_mode": "transaction", "server_login_retry": "1",
    ]
    all.merge(settings) { _, new in new }
    let lines = all.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)\n" }.joined()
    let texts = [
      "users": users.map { "\"\($0)\" \"\"\n" }.joined(),
      "pooler.ini": "[databases]\n* = \(server)\n[pgbouncer]\n\(lines)",
    ]
    for (name, text) in texts {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
      try programs.own("\(folder)/\(name)")
    }
  }
}

/// Puts a pooler of the test's own, started, before the tests' server, and removes it afterwards.
///
/// - Parameters:
///   - database: The name of the database for which it is.
///   - users: Who is passed on under their own names; nobody for all to be passed on as the superuser.
public func withPooler<R>(
  before database: String, settings: [String: String] = [:], users: [String] = [],
  _ body: (Pooler) async throws -> R
) async throws -> R {
  let server = try await TestServer.shared.conninfo(database: database)
  try await HostileSettings.remove(from: server)
  let pooler = try Pooler(to: server, settings: settings, users: users)
  let outcome: Result<R, any Error>
  do {
    try await pooler.start()
    outcome = .success(try await body(pooler))
  } catch {
    outcome = .failure(error)
  }
  await pooler.remove()
  return try outcome.get()
}
