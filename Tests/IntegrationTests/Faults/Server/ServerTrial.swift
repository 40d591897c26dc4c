import AnalysisCore
import EventLoop
import Foundation
import JobQueue
import PostgreSQL
import TestSupport
import Testing

/// Jobs in a cluster of the test's own, an endpoint and worker processes, and what befalls the server; at the
/// end every job has exactly one end, and none has paid an attempt for it.
struct ServerTrial {
  let cluster: ServerCluster
  /// What the programs' connections go through; the test's own go past it.
  let proxy: FaultProxy
  let trial: WorkerTrial

  var installation: Installation { trial.installation }
  var environment: [String: String] { installation.environment }

  /// Makes the cluster, the schema and the jobs, and runs the body.
  static func with(
    jobs: Int, endpoint arguments: [String] = ["--delay", "20ms"],
    _ options: ServerCluster.Options = ServerCluster.Options(),
    _ body: (ServerTrial) async throws -> Void
  ) async throws {
    let picture = try await drawnPicture()
    try await withServerCluster(options) { cluster in
      let proxy = try FaultProxy(to: .socket(cluster.socketPath))
      defer { proxy.stop() }
      try await Installation.with(on: cluster, through: proxy) { installation in
        try await RunningEndpoint.with(arguments) { endpoint in
          try await installation.addUser("clinic-1")
          let submitted =
            jobs == 0 ? [] : try await installation.submit(jobs, user: "clinic-1", image: picture)
          try #require(submitted.count == jobs)
          try await body(
            ServerTrial(
              cluster: cluster, proxy: proxy,
              trial: WorkerTrial(installation: installation, endpoint: endpoint, jobs: submitted)))
        }
      }
    }
  }

  // MARK: What the programs do

  /// Runs `analysisctl` to its end.
  func control(_ arguments: [String]) async throws -> Executable.Ended {
    try await Executable("analysisctl", arguments, environment: environment).ended()
  }

  /// What submits the good sample pictures under a key of the run.
  func submission(_ further: [String] = [], key: String = "run-1") async throws -> [String] {
    let folder = try await drawnPictures.folder()
    let good = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { $0.hasPrefix("throat-") || $0.hasPrefix("ear-") }
    return ["submit", "--user", trial.user, "--type", "throat", "--key", key, "--json"] + further
      + good.map { folder.appending(path: $0).path }
  }

  /// Stops a worker in order; it must have lived until then.
  func stop(_ worker: Executable, _ location: SourceLocation = #_sourceLocation) async throws {
    #expect(!worker.hasEnded, "\(worker.messagesSoFar)", sourceLocation: location)
    worker.send(SIGTERM)
    let ended = await worker.ended()
    #expect(ended.code == 0, "\(ended.messages)", sourceLocation: location)
  }

  // MARK: What is there

  /// Waits for something that is looked for in the database, which may be away meanwhile.
  func eventuallyThere(
    _ location: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
  ) async throws {
    try await eventually(file: location.fileID, line: location.line) {
      do { return try await condition() } catch let error as PostgreSQLError where error.isTransient {
        return false
      }
    }
  }

  /// Waits until every submitted job has a result, however often the server goes away.
  func eachHasResult(_ location: SourceLocation = #_sourceLocation) async throws {
    try await eventuallyThere(location) { try await trial.results == trial.jobs.count }
  }

  /// The server's time, as soon as it answers.
  func timeOfReturn(_ location: SourceLocation = #_sourceLocation) async throws -> String {
    var time = ""
    try await eventuallyThere(location) {
      time = try await installation.text("SELECT clock_timestamp()::text")
      return true
    }
    return time
  }

  /// The backends of the workers.
  func backends(_ condition: String = "true") async throws -> [Int32] {
    try await installation.pool.query(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'analysis-worker' AND \(condition)"
    ).map { try $0.int32(0) }
  }

  /// Every job has its result, no attempt was paid, and all invariants hold.
  func expectUnharmed(
    also later: [JobID] = [], unrecorded: Int = 0, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    try await trial.expectNoAttemptConsumed(location)
    try await trial.expectEachEnded(also: later, unrecorded: unrecorded, location)
  }
}

extension Installation {
  /// An installation on a cluster; what the environment names goes through the proxy.
  static func with<R>(
    on cluster: ServerCluster, through proxy: FaultProxy, _ body: (Installation) async throws -> R
  ) async throws -> R {
    try await migrated.prepare(cluster.conninfo())
    let loop = try EventLoop()
    let pool = ConnectionPool(ConnectionConfiguration(cluster.conninfo()), on: loop, size: 4)
    let result: Result<R, any Error>
    do {
      let database = TestDatabase(conninfo: proxy.conninfo(), name: "postgres")
      result = .success(try await body(Installation(database: database, loop: loop, pool: pool)))
    } catch {
      result = .failure(error)
    }
    await pool.close()
    loop.shutdown()
    return try result.get()
  }
}
