internal import Endpoint
internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// What never changes while a worker runs: what it was told at its start, who it is, where its tasks run, its
/// connections, and where it counts and logs.
struct WorkerContext: Sendable {
  let configuration: WorkerConfiguration
  /// The endpoint of each type.
  let clients: [AnalysisKind: ModelClient]
  let identity: WorkerIdentity
  /// Under whose account it runs, for the audit.
  let auditActor: AuditActor
  let loop: EventLoop
  let log: Log
  let metrics: WorkerMetrics
  let failpoints: Failpoints
  let databases: WorkerDatabases
  /// Who is logged in at the database, once that is known.
  let login = LoginCell()
  /// Whether the database is away.
  let outage: DatabaseOutage
  /// Notifies of the jobs that have ended; nil where nobody wants to know.
  let ended: HintSender<(shard: Int16, job: JobID)>?
  /// The shards to go round; none before the database has answered.
  var shards: [Int16] = []

  /// The time that one statement may take.
  var deadline: Duration { configuration.statementDeadline }

  /// Runs a statement on the connection of the claims and the housekeeping.
  ///
  /// - Parameter time: How long it may take; nil for as long as any statement.
  func ask<Answer>(
    _ statement: Statement<Answer>, within time: Duration? = nil
  ) async throws(JobQueueError) -> Answer {
    try await statement.run(on: databases.control, deadline: time ?? deadline)
  }

  /// The statements of this worker for a shard.
  func statements(of shard: Int16) -> WorkerStatements { WorkerStatements(shard: shard, worker: identity) }
}

/// The connections of a worker: control (claims, housekeeping), leases, store, and two for images. What listens
/// has one of its own, and so have the signs of life: they must never wait behind another's slow statement.
struct WorkerDatabases {
  /// One reads while the other's rows are being taken in.
  static let imageConnections = 2

  let control: ConnectionPool
  let leases: ConnectionPool
  let store: ConnectionPool
  let images: ConnectionPool

  /// Connections that are made when they are first needed.
  init(_ database: ConnectionConfiguration, loop: EventLoop) {
    func pool(_ size: Int) -> ConnectionPool { ConnectionPool(database, on: loop, size: size) }
    control = pool(1)
    leases = pool(1)
    store = pool(1)
    images = pool(Self.imageConnections)
  }

  /// Notifies whoever listens of jobs that have ended, outside of the statements that store them: on the connection of the
  /// heartbeats, which has nothing to do for seconds on end. None of them waits longer than a second for it.
  func endedSender(_ log: Log) -> HintSender<(shard: Int16, job: JobID)> {
    HintSender(on: leases.loop) { [leases] jobs in
      do throws(JobQueueError) {
        try await WorkerStatements.notifyEnded(jobs).run(on: leases, deadline: .seconds(1))
      } catch {
        log.debug("The notification of ended jobs failed", ["error": .string(error.description)])
      }
    }
  }

  /// Lets go of what rests, since the server may be frozen: what is asked next is asked of one that answers.
  func closeIdle() async {
    for pool in [control, leases, store, images] { await pool.closeIdle() }
  }

  func close() async {
    for pool in [control, leases, store, images] { await pool.close() }
  }
}

/// Who is logged in at the database: errors for want of a role name the role and the login.
final class LoginCell: Sendable {
  private let login = Mutex<DatabaseLogin?>(nil)

  /// Keeps what the server said last.
  func keep(_ login: DatabaseLogin) { self.login.withLock { $0 = login } }

  /// The error as it is, or, where the login lacks the worker's role, one that says so.
  func named(_ error: JobQueueError) -> JobQueueError {
    guard error.lacksRole, let login = login.withLock({ $0 }) else { return error }
    return error.naming([.worker], for: "analysis-worker", login)
  }
}
