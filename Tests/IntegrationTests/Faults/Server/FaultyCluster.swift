import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

/// An installation on a cluster of the test's own, and what befalls the server; at the end every job has exactly one
/// end, and none has paid an attempt for it.
struct FaultyCluster {
  let cluster: ServerCluster
  /// What the programs' connections go through; the test's own go past it.
  let proxy: FaultProxy
  let installation: Installation

  var queue: QueueFixture { installation.queue }

  /// Makes the cluster, the schema and the jobs, and runs the body.
  static func with(
    jobs: Int, endpoint arguments: [String] = ["--delay", "20ms"],
    _ options: ServerCluster.Options = ServerCluster.Options(),
    _ body: (FaultyCluster) async throws -> Void
  ) async throws {
    try await withServerCluster(options) { cluster in
      let proxy = try FaultProxy(to: .socket(cluster.socketPath))
      defer { proxy.stop() }
      try await withQueue(on: cluster, through: proxy) { queue in
        try await Installation.with(queue, jobs: jobs, endpoint: arguments) {
          try await body(FaultyCluster(cluster: cluster, proxy: proxy, installation: $0))
        }
      }
    }
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
    try await eventuallyThere(location) { try await queue.results == installation.jobs.count }
  }

  /// The server's time, as soon as it answers.
  func timeOfReturn(_ location: SourceLocation = #_sourceLocation) async throws -> String {
    var time = ""
    try await eventuallyThere(location) {
      time = try await queue.text("SELECT clock_timestamp()::text")
      return true
    }
    return time
  }

  /// The backends of the workers.
  func backends(_ condition: String = "true") async throws -> [Int32] {
    try await queue.pool.query(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'analysis-worker' AND \(condition)"
    ).map { try $0.int32(0) }
  }

  /// Every job has its result, no attempt was paid, and all invariants hold.
  func expectUnharmed(
    also later: [JobID] = [], unrecorded: Int = 0, crashes: Int = 0,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    try await installation.expectNoAttemptConsumed(location)
    try await installation.expectEachEnded(also: later, unrecorded: unrecorded, crashes: crashes, location)
  }
}
