public import EventLoop
import Foundation
public import PostgreSQL
import Queue
import Synchronization
import TestSupport

/// The PostgreSQL cluster of the benchmarks: durable, on a Unix socket and on a port of the loopback, gone with this
/// process however it ends.
public final class BenchmarkCluster: Sendable {
  /// The settings that differ from those of a new cluster, for the record.
  ///
  /// - Parameters:
  ///   - isQuick: Whether it need not be durable, since nobody reads the figures.
  ///   - keepsStatements: Whether it keeps accounts of statements.
  public static func settings(isQuick: Bool, keepsStatements: Bool = false) -> [String: String] {
    var settings = usual
    if isQuick { settings.merge(["fsync": "off", "shared_buffers": "256MB"]) { $1 } }
    if keepsStatements { settings.merge(statements) { $1 } }
    return settings
  }

  /// Accounts of the statements of those roles alone that a row names, so that they cost the others next to nothing.
  private static let statements = [
    "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "none",
  ]

  private static let usual = [
    "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "on",
    // More would be taken from the page cache, which holds the rest.
    "shared_buffers": "1GB",
    // No checkpoint falls into a run by itself: each run begins after one.
    "max_wal_size": "8GB", "checkpoint_timeout": "30min",
    "max_connections": "200", "log_min_messages": "warning",
  ]

  /// As the superuser, on the database `postgres`.
  public let owner: ConnectionPool
  /// Of the connections.
  public let loop: EventLoop
  /// Its settings, beside the server's defaults.
  public let settings: [String: String]
  private let server: ServerCluster
  private let isQuick: Bool
  private let made = Mutex<[BenchmarkDatabase]>([])

  private static let template = "analysis_template"

  private init(
    _ server: ServerCluster, _ loop: EventLoop, _ settings: [String: String], isQuick: Bool
  ) {
    self.server = server
    self.isQuick = isQuick
    self.settings = settings
    self.loop = loop
    owner = ConnectionPool(
      ConnectionConfiguration(
        server.conninfo(), applicationName: "benchmarks", defaultDeadline: .seconds(600)),
      on: loop, size: 2)
  }

  /// Makes and starts a cluster, with a template that has the queue's schema.
  public static func start(
    on loop: EventLoop, isQuick: Bool = false, keepsStatements: Bool = false
  ) async throws -> BenchmarkCluster {
    var options = ServerCluster.Options()
    options.settings = settings(isQuick: isQuick, keepsStatements: keepsStatements)
    options.listensOnTCP = true
    options.isOnDisk = !isQuick
    let server = try await ServerCluster(options)
    let cluster = BenchmarkCluster(server, loop, options.settings, isQuick: isQuick)
    do {
      try await server.start()
      let template = try await cluster.emptyDatabase(named: Self.template)
      _ = try await Migrator(template.pool).migrate()
      await template.pool.close()
      cluster.made.withLock { $0 = [] }
    } catch {
      await cluster.remove()
      throw error
    }
    return cluster
  }

  /// Stops the server and removes everything.
  public func remove() async {
    await owner.close()
    await server.remove()
  }

  /// What the server has logged so far.
  public var log: String { server.log }

  // MARK: Databases

  /// Makes a database with the queue's schema, or a copy of another one; that one's pool is closed for it.
  ///
  /// - Parameter name: Lower-case letters, digits and underscores.
  public func freshDatabase(
    named name: String, from original: BenchmarkDatabase? = nil
  ) async throws -> BenchmarkDatabase {
    if let original {
      await original.pool.close()
      _ = try await owner.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(original.name)])
    }
    return try await database(named: name, from: original?.name ?? Self.template)
  }

  /// Makes an empty database.
  public func emptyDatabase(named name: String) async throws -> BenchmarkDatabase {
    try await database(named: name, from: "template0")
  }

  /// Drops a database with whatever is connected to it.
  public func drop(_ database: BenchmarkDatabase) async throws {
    made.withLock { $0.removeAll { $0.name == database.name } }
    await database.pool.close()
    _ = try await owner.query("DROP DATABASE IF EXISTS \(database.name) WITH (FORCE)")
  }

  /// Drops every database that was made and is there still.
  public func dropAll() async throws {
    for database in made.withLock({ $0 }) { try await drop(database) }
  }

  private func database(named name: String, from original: String) async throws -> BenchmarkDatabase {
    // A connection to the original that was closed a moment ago may not be gone yet.
    for attempt in 1... {
      do {
        _ = try await owner.query("CREATE DATABASE \(name) TEMPLATE \(original)")
        break
      } catch {
        guard error.sqlState == "55006", attempt < 100 else { throw error }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
    let database = BenchmarkDatabase(
      name: name, conninfo: server.conninfo(database: name),
      url: "postgresql://postgres@127.0.0.1:\(server.port)/\(name)", loop: loop)
    made.withLock { $0.append(database) }
    return database
  }

  /// Vacuums a database and writes everything to the disk, so that no run pays for what was before it. A quick run
  /// goes without.
  ///
  /// - Parameters:
  ///   - tables: Those that are vacuumed; all when there are none.
  ///   - vacuums: Whether it is vacuumed and analyzed at all; a queue in production was not, a moment ago.
  public func settle(
    _ database: BenchmarkDatabase, tables: [String] = [], vacuums: Bool = true
  ) async throws {
    guard !isQuick else { return }
    if vacuums {
      _ = try await database.pool.query(
        "VACUUM (ANALYZE) " + tables.joined(separator: ", "), deadline: .seconds(1800))
    }
    _ = try await owner.query("CHECKPOINT", deadline: .seconds(1800))
  }

  // MARK: Meters

  /// The first process of the server.
  ///
  /// - Throws: ``BenchmarkError`` when the server does not run.
  public func postmaster() throws -> Int32 {
    guard let pid = server.postmaster else {
      throw BenchmarkError("The PostgreSQL server does not run; its log ends: \(log.suffix(1000))")
    }
    return pid
  }

  /// User and system seconds of all the server's processes since it was started, also of those that have ended.
  public func processorSeconds() throws -> Double { try ServerMeter(postmaster: postmaster()).seconds() }

  /// How many bytes of write-ahead log the server has written since it was made.
  public func logPosition() async throws -> Double {
    try await owner.query("SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8").single().double(0)
  }

  /// Does something and meters it: the wall clock, the server's processors and its write-ahead log.
  public func metered<R>(_ body: () async throws -> R) async throws -> (value: R, meter: RunMeter) {
    let log = try await logPosition()
    let processors = try processorSeconds()
    let begin = ContinuousClock.now
    let value = try await body()
    let time = ContinuousClock.now - begin
    let used = try processorSeconds() - processors
    let written = try await logPosition() - log
    return (value, RunMeter(seconds: time / .seconds(1), serverSeconds: used, logBytes: written))
  }

  // MARK: Programs and facts

  /// The path of one of PostgreSQL's own programs, of the same version as the server.
  public func program(_ name: String) throws -> String {
    let server = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(postmaster())/exe")
    let path = URL(fileURLWithPath: server).deletingLastPathComponent().appending(path: name).path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw BenchmarkError("\(path) is missing; install the package postgresql.")
    }
    return path
  }

  /// The server's version, for instance `15.18`.
  public func version() async throws -> String {
    try await owner.query("SELECT current_setting('server_version')").single().string(0)
  }
}

/// What was metered of the server while something was done.
public struct RunMeter: Sendable, Equatable {
  /// Of the wall clock.
  public let seconds: Double
  /// User and system seconds of the server.
  public let serverSeconds: Double
  /// Bytes of write-ahead log.
  public let logBytes: Double
}
