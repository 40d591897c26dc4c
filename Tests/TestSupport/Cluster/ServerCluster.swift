import Foundation
import Glibc
import Synchronization

/// A PostgreSQL cluster that a test may stop, kill and start again.
///
/// It lies in a folder of its own and listens on a Unix socket there, and on a port of the loopback if wanted.
/// When this process ends, however it ends, the server is stopped and the folder removed. Nothing here blocks
/// a thread of the cooperative pool.
public final class ServerCluster: Sendable {
  /// How a cluster is made.
  public struct Options: Sendable {
    /// Settings of `postgresql.conf`, over those that every cluster has. Without any it is durable.
    public var settings: [String: String] = [:]
    /// Whether it listens on 127.0.0.1 too, on a free port that stays the same when it is started again.
    public var listensOnTCP = false
    /// A folder, of a small volume perhaps, to have the data in; nil for the cluster's own.
    public var volume: String?
    /// Whether it lies on a disk, for whoever measures what it costs to write there.
    public var isOnDisk = false
    /// Whether the write-ahead log lies in the cluster's own folder, when the data does not.
    public var keepsLogApart = false
    /// Lines that come first in `pg_hba.conf`; whatever they leave is trusted.
    public var access: [String] = []
    /// The size of a segment of the write-ahead log; a small volume holds no 16 MB ones.
    public var segmentMegabytes = 16

    /// The default: durable, on a Unix socket alone.
    public init() {}
  }

  /// How a server is told to stop.
  public enum StopMode: String, Sendable {
    /// No new connections; ends when the last one has gone.
    case smart
    /// Transactions are rolled back, connections cut, a checkpoint written.
    case fast
    /// Everything is dropped; the next start recovers.
    case immediate
  }

  /// The data folder.
  public let dataFolder: String
  /// The folder of the Unix socket and the log.
  public let folder: String
  /// The port, of the socket's name too.
  public let port: UInt16
  /// Whether it listens on the loopback.
  public let listensOnTCP: Bool
  let programs: ServerPrograms
  private let janitor: Supervisor
  private let settings: Mutex<[String: String]>

  /// Makes a cluster, which is not started.
  ///
  /// - Throws: `TestSupportError` when PostgreSQL is not installed or `initdb` fails.
  public convenience init(_ options: Options = Options()) async throws {
    try await self.init(options) { cluster in
      try await cluster.programs.run(
        "initdb",
        [
          "-D", cluster.dataFolder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N",
          "--no-instructions", "--wal-segsize=\(options.segmentMegabytes)",
        ] + (options.keepsLogApart ? ["--waldir=\(cluster.folder)/wal"] : []))
      try cluster.edit("pg_hba.conf") { (options.access + [$0]).joined(separator: "\n") }
      try cluster.edit("postgresql.conf") { $0 + "\ninclude '\(Self.settingsFile)'\n" }
    }
  }

  /// A cluster whose data folder `fill` makes.
  init(_ options: Options, fill: (ServerCluster) async throws -> Void) async throws {
    programs = try ServerPrograms()
    var template = Array("\(options.isOnDisk ? "/tmp" : Self.place)/aqtest-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSupportError("mkdtemp failed with errno \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    dataFolder = "\(options.volume ?? folder)/data"
    janitor = try Supervisor(script: ServerJanitor.script, arguments: [folder, dataFolder])
    listensOnTCP = options.listensOnTCP
    port = options.listensOnTCP ? try FreePort.find() : 5432
    settings = Mutex(options.settings)
    for path in [folder, options.volume].compactMap({ $0 }) { try programs.own(path) }
    do {
      try await fill(self)
      try writeSettings()
    } catch {
      await remove()
      throw error
    }
  }

  /// Where clusters lie: in memory where it has room for them, since every database of a test is hundreds of small
  /// files, which a file system on disk takes several times as long to make and remove.
  private static let place: String = {
    var volume = statvfs()
    let isRoomy =
      statvfs("/dev/shm", &volume) == 0 && access("/dev/shm", W_OK) == 0
      && UInt64(volume.f_bavail) * UInt64(volume.f_frsize) >= 4 << 30
    return isRoomy ? "/dev/shm" : "/tmp"
  }()

  /// The path of a program that came with the server of the tests; nil where it came without.
  public static func program(_ name: String) -> String? { ServerPrograms.path(of: name) }

  // MARK: Reaching it

  /// How it can be reached.
  public enum Way: Sendable {
    case socket, tcp
  }

  /// A connection string for a database; by the socket when no way is named.
  public func conninfo(database: String = "postgres", over way: Way = .socket) -> String {
    (way == .tcp ? "host=127.0.0.1 port=\(port) user=postgres" : server) + " dbname=\(database)"
  }

  /// How to reach it by its socket, but for the database.
  var server: String {
    // Where there is no user postgres the server is run as nobody, whom the programs do not trust by themselves.
    "host=\(folder) port=\(port) user=postgres"
      + (programs.user?.name == "nobody" ? " requirepeer=nobody" : "")
  }

  /// The path of its Unix socket.
  public var socketPath: String { "\(folder)/.s.PGSQL.\(port)" }

  /// What the server has logged so far.
  public var log: String {
    String(decoding: (try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/log"))) ?? Data(), as: UTF8.self)
  }

  /// Copies a file into the cluster's folder for the server alone to read, and answers where it is.
  public func keep(_ path: String, as name: String) throws -> String {
    let copy = "\(folder)/\(name)"
    try Data(contentsOf: URL(fileURLWithPath: path)).write(to: URL(fileURLWithPath: copy))
    guard chmod(copy, 0o600) == 0 else { throw TestSupportError("\(copy): errno \(errno)") }
    try programs.own(copy)
    return copy
  }

  // MARK: Running it

  /// Starts the server.
  ///
  /// - Parameter waits: Whether to return only when it takes connections; else it may still be recovering.
  /// - Throws: `TestSupportError`, with the end of the server's log, when it does not come up.
  public func start(waits: Bool = true) async throws {
    do {
      try await control("start", ["-l", "\(folder)/log", waits ? "-w" : "-W", "-t", "240"])
    } catch {
      throw TestSupportError("\(error); the server's log ends: \(log.suffix(1000))")
    }
  }

  /// Stops the server and waits until it has ended.
  public func stop(_ mode: StopMode = .fast) async throws {
    try await control("stop", ["-m", mode.rawValue, "-w", "-t", "240"])
  }

  /// Tells the server to stop without waiting for it.
  public func beginStop(_ mode: StopMode) async throws {
    try await control("stop", ["-m", mode.rawValue, "-W"])
  }

  /// Stops the server and starts it again.
  public func restart(_ mode: StopMode = .fast) async throws {
    try await stop(mode)
    try await start()
  }

  /// Changes settings: at once those that a running server takes, the others at its next start.
  public func set(_ changes: [String: String]) async throws {
    settings.withLock { $0.merge(changes) { _, new in new } }
    try writeSettings()
    if postmaster != nil { try await control("reload", []) }
  }

  /// Ends the server, if it runs, and removes everything; nothing else may be called after it.
  public func remove() async {
    await withCheckedContinuation { done in
      DispatchQueue(label: "cluster").async { [janitor] in
        janitor.end()
        done.resume()
      }
    }
  }

  func control(_ command: String, _ arguments: [String]) async throws {
    try await programs.run("pg_ctl", [command, "-s", "-D", dataFolder] + arguments)
  }

  // MARK: Its files

  static let settingsFile = "test.conf"

  private func writeSettings() throws {
    var all = [
      "unix_socket_directories": folder, "port": "\(port)",
      "listen_addresses": listensOnTCP ? "127.0.0.1" : "", "timezone": "UTC", "lc_messages": "C",
    ]
    all.merge(settings.withLock { $0 }) { _, new in new }
    let lines = all.sorted { $0.key < $1.key }
      .map { "\($0.key) = '\($0.value.replacingOccurrences(of: "'", with: "''"))'\n" }
    try edit(Self.settingsFile) { _ in lines.joined() }
  }

  /// Writes a file of the data folder anew, as the server's user.
  func edit(_ name: String, _ change: (String) -> String) throws {
    let path = "\(dataFolder)/\(name)"
    let old = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    try Data(change(old).utf8).write(to: URL(fileURLWithPath: path))
    try programs.own(path)
  }
}
