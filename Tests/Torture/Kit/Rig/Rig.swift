import Control
import EventLoop
import Foundation
import PostgreSQL
import Queue
import TestSupport

/// Everything that a run tortures: a PostgreSQL cluster with the schema, an endpoint, workers; and the way to
/// each.
struct Rig: Sendable {
  let settings: RunSettings
  let cluster: ServerCluster
  /// Between the cluster and every other client.
  let proxy: FaultProxy
  let loop: EventLoop
  /// As the schema's owner, past the proxy and with connections that are always kept for it.
  let owner: ConnectionPool
  let programs: ProgramRunner
  let tally: Tally
  let users: [TestUser]
  let erased = ErasedPersons()
  let stress = Stress()
  let pictures: [Picture]

  /// The database.
  static let database = "analysis"
  /// The login of workers: with the rights of the worker's role and no more.
  static let workerRole = "torture_worker"
  /// The login of those who submit.
  static let backendRole = "torture_backend"
  /// The logins of those who leave transactions open.
  static let operatorRole = "torture_operator"
  static let reporterRole = "torture_reporter"
  static let privacyRole = "torture_privacy"

  /// The logins with their roles.
  private static let logins =
    [
      NewLogin(name: workerRole, role: .worker), NewLogin(name: backendRole, role: .submitter),
      NewLogin(name: operatorRole, role: .operator), NewLogin(name: reporterRole, role: .reporter),
      NewLogin(name: privacyRole, role: .privacy),
    ] + DatabaseRole.allCases.map { NewLogin(name: StressPart.role($0).login, role: $0) }

  /// Sets everything up but the endpoint and the workers.
  static func make(
    _ settings: RunSettings, _ programs: ProgramRunner, _ tally: Tally
  ) async throws -> Rig {
    var options = ServerCluster.Options()
    options.settings = [
      "max_connections": "90", "shared_buffers": "256MB", "max_wal_size": "2GB",
      "log_min_messages": "warning",
      // No fault here takes the machine away: what the kernel has is safe.
      "fsync": "off",
      // Claims are written late, so that a crash loses some that have been called for.
      "wal_writer_delay": "2s",
      // A minute here stands for an hour: statistics are to keep up with tables that were empty at its beginning.
      "autovacuum_naptime": "5s",
      // Half a second: a deadlock is to be found while the run goes on.
      "deadlock_timeout": "500ms", "superuser_reserved_connections": "8",
    ]
    let cluster = try await ServerCluster(options)
    do {
      try await cluster.start()
      let proxy = try FaultProxy(to: .socket(cluster.socketPath))
      let loop = try EventLoop(name: "torture")
      let owner = ConnectionPool(
        ConnectionConfiguration(cluster.conninfo(database: database), applicationName: "torture-owner"),
        on: loop, size: 6)
      let (users, pictures) = try await prepare(cluster, owner, settings)
      return Rig(
        settings: settings, cluster: cluster, proxy: proxy, loop: loop, owner: owner,
        programs: programs, tally: tally, users: users, pictures: pictures)
    } catch {
      await cluster.remove()
      throw error
    }
  }

  /// Writes the database into the folder, for whoever looks for the cause of what is broken.
  func dump() async {
    guard let program = ServerCluster.program("pg_dump") else { return }
    let file = settings.folder.appending(path: "database.dump").path
    let arguments = [
      "-Fc", "-T", "analysis.image*", "-f", file, "-d", cluster.conninfo(database: Self.database),
    ]
    do {
      _ = try await HelperProgram.output(program, arguments)
    } catch {
      tally.note("The database could not be written into the folder: \(error)")
    }
  }

  /// Ends and removes everything; the server's log stays in the folder.
  func remove() async {
    proxy.stop()
    await owner.close()
    let log = settings.folder.appending(path: "server.log")
    try? Data(cluster.log.utf8).write(to: log)
    await cluster.remove()
    loop.shutdown()
  }

  /// How a client reaches the database: every other one by way of the proxy.
  func conninfo(_ client: Int, role: String) -> String {
    let direct = cluster.conninfo(database: Self.database)
    // Of a keyword that comes twice the later one holds.
    return "\(client.isMultiple(of: 2) ? direct : proxy.conninfo(database: Self.database)) user=\(role)"
  }

  // MARK: Setting up

  private static func prepare(
    _ cluster: ServerCluster, _ owner: ConnectionPool, _ settings: RunSettings
  ) async throws -> (users: [TestUser], pictures: [Picture]) {
    let first = ConnectionPool(ConnectionConfiguration(cluster.conninfo()), on: owner.loop, size: 1)
    _ = try await first.query("CREATE DATABASE \(database)")
    await first.close()
    _ = try await Migrator(owner).migrate()
    // Every connection is taken for an old one, whose claims wait for no disk: here none lives for long.
    _ = try await owner.query("ALTER DATABASE \(database) SET analysis.first_claim = '0'")
    // As `roles setup` makes them, with the time limits of their roles.
    let directory = LoginDirectory(owner)
    try await directory.make(try await directory.statements(for: logins, prefix: "analysis"))
    _ = try await owner.query("GRANT analysis_clinician TO \(reporterRole)")
    _ = try await owner.query(
      "SELECT analysis.add_plan(p, p, 100000, 1000), analysis.add_clinic(c) FROM unnest($1::text[], $2::text[]) u(p, c)",
      [.array(StressFacts.plans), .array(StressFacts.clinics)])
    for (name, value) in [("shards", settings.shards), ("max_waiting_per_user", RunSettings.waitingLimit)] {
      _ = try await owner.query(
        "UPDATE analysis.setting SET value = $2 WHERE name = $1", [.text(name), .text("\(value)")])
    }
    let users = TestUser.all
    let stressed = StressFacts.names.map { TestUser(reference: $0, plan: StressFacts.plans[0], zone: "UTC") }
    for user in users + TestUser.probes + stressed { try await user.add(to: owner) }
    return (users, try await Picture.draw(seed: settings.seed))
  }
}
