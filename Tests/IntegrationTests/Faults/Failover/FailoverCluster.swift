import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

/// A primary and a streaming standby, and an installation whose programs know both, the primary first.
struct FailoverCluster {
  let primary: ServerCluster
  let standby: ServerCluster
  let installation: Installation

  static let database = "analysis"
  static let user = "clinic-1"

  /// Submits jobs of one user and runs the body.
  ///
  /// - Parameter isSynchronous: Whether a commit is answered only when the standby has it.
  static func with(
    jobs: Int = 0, isSynchronous: Bool, endpoint arguments: [String] = ["--delay", "20ms"],
    _ body: (FailoverCluster) async throws -> Void
  ) async throws {
    var options = ServerCluster.Options()
    options.listensOnTCP = true
    // The rows are about what the other server has, not about this machine's disk.
    options.settings = ["fsync": "off"]
    try await withServerCluster(options) { primary in
      try await withQueue(in: TestDatabase(conninfo: primary.conninfo(), name: "postgres")) {
        try await $0.execute("CREATE DATABASE \(database)")
      }
      try await DatabaseTemplate.migrated.prepare(
        TestDatabase(conninfo: primary.conninfo(database: database), name: database))
      try await withStandby(of: primary, named: "second", options) { standby in
        if isSynchronous { try await primary.set(["synchronous_standby_names": "second"]) }
        let both = TestDatabase(conninfo: conninfo(primary, standby), name: database)
        try await withQueue(in: both, reconnect: .retry) { queue in
          try await eventually {
            try await queue.number(
              """
              SELECT count(*)::int FROM pg_stat_replication
              WHERE state = 'streaming' AND sync_state = '\(isSynchronous ? "sync" : "async")'
              """) == 1
          }
          try await Installation.with(queue, jobs: jobs, endpoint: arguments) {
            try await body(FailoverCluster(primary: primary, standby: standby, installation: $0))
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
    return try await withQueue(in: database) { try await $0.text(sql) }
  }
}
