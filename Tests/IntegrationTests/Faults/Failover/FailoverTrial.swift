import Glibc
import JobQueue
import PostgreSQL
import TestSupport
import Testing

/// A primary and a streaming standby, and a trial whose executables know both, the primary first.
struct FailoverTrial {
  let primary: ServerCluster
  let standby: ServerCluster
  let trial: WorkerTrial

  static let database = "analysis"
  static let user = "clinic-1"

  /// Submits jobs of one user and runs the body.
  ///
  /// - Parameter isSynchronous: Whether a commit is answered only when the standby has it.
  static func with(
    jobs: Int = 0, isSynchronous: Bool, endpoint arguments: [String] = ["--delay", "20ms"],
    _ body: (FailoverTrial) async throws -> Void
  ) async throws {
    let picture = try await drawnPicture()
    var options = ServerCluster.Options()
    options.listensOnTCP = true
    // The rows are about what the other server has, not about this machine's disk.
    options.settings = ["fsync": "off"]
    try await withServerCluster(options) { primary in
      try await Installation.open(TestDatabase(conninfo: primary.conninfo(), name: "postgres")) {
        _ = try await $0.pool.query("CREATE DATABASE \(database)")
      }
      try await Installation.open(
        TestDatabase(conninfo: primary.conninfo(database: database), name: database)
      ) {
        _ = try await Migrator($0.pool).migrate()
        try await $0.addUser(user)
      }
      try await withStandby(of: primary, named: "second", options) { standby in
        if isSynchronous { try await primary.set(["synchronous_standby_names": "second"]) }
        let both = TestDatabase(conninfo: conninfo(primary, standby), name: database)
        try await Installation.open(both, reconnect: .retry) { installation in
          try await eventually {
            try await installation.number(
              """
              SELECT count(*)::int FROM pg_stat_replication
              WHERE state = 'streaming' AND sync_state = '\(isSynchronous ? "sync" : "async")'
              """) == 1
          }
          try await RunningEndpoint.with(arguments) { endpoint in
            let submitted =
              jobs == 0 ? [] : try await installation.submit(jobs, user: user, image: picture)
            try #require(submitted.count == jobs)
            try await body(
              FailoverTrial(
                primary: primary, standby: standby,
                trial: WorkerTrial(installation: installation, endpoint: endpoint, jobs: submitted)))
          }
        }
      }
    }
  }

  private static func conninfo(_ primary: ServerCluster, _ standby: ServerCluster) -> String {
    "host=127.0.0.1,127.0.0.1 port=\(primary.port),\(standby.port) user=postgres dbname=\(database)"
      + " target_session_attrs=read-write"
  }

  /// The primary's process dies, as with its machine, and the standby takes over.
  func failOver() async throws {
    try await primary.kill()
    try await standby.promote()
  }

  /// Waits until the standby has all that the primary has written.
  func caughtUp() async throws {
    let position = try await onPrimary("SELECT pg_current_wal_flush_lsn()::text")
    try await eventually {
      try await onStandby("SELECT (pg_last_wal_replay_lsn() >= '\(position)')::text") == "true"
    }
  }

  /// Asks the primary alone.
  func onPrimary(_ sql: String) async throws -> String { try await ask(primary, sql) }

  /// Asks the standby alone, promoted or not.
  func onStandby(_ sql: String) async throws -> String { try await ask(standby, sql) }

  private func ask(_ server: ServerCluster, _ sql: String) async throws -> String {
    let database = TestDatabase(conninfo: server.conninfo(database: Self.database), name: Self.database)
    return try await Installation.open(database) { try await $0.text(sql) }
  }

  /// Tells a worker to stop, and expects that it has come through in one life.
  func end(_ workers: [Executable], _ location: SourceLocation = #_sourceLocation) async {
    for worker in workers {
      worker.send(SIGTERM)
      let ended = await worker.ended()
      #expect(ended.code == 0, "\(ended.messages)", sourceLocation: location)
    }
  }
}
