public import PostgreSQL
public import Queue
internal import Support

/// What is in the queue and who works on it. Cheap to ask: workers keep the counts, and where none does, every count
/// is bounded.
public struct QueueStatus: Sendable, Equatable {
  /// One of the lanes, over all shards.
  struct LaneStatus: Sendable, Equatable {
    /// The lane.
    let lane: Lane
    /// Jobs that wait.
    var waiting: BoundedCount
    /// Jobs in workers' hands.
    var inFlight: Int
    /// For how many seconds the job at the lane's head has been waiting; nil when none waits.
    var oldestWaitingSeconds: Double?
  }

  /// How many results were stored a second, as workers report it; nil where nothing is known of the time.
  struct DoneRates: Sendable, Equatable {
    /// Over the last ten seconds.
    var tenSeconds: Double?
    /// Over the last minute.
    var minute: Double?
    /// Over the last five minutes.
    var fiveMinutes: Double?
  }

  /// A worker that was heard of in the last hour.
  struct WorkerStatus: Sendable, Equatable {
    /// The worker's random number.
    let id: Int64
    /// The machine's name.
    let host: String
    /// The process's number.
    let pid: Int32
    /// The program's version.
    let version: String
    /// When it started, in seconds since 1970.
    let startedAt: Double
    /// How many seconds ago that was, by the server's clock.
    var age: Double
    /// How many seconds ago it was last heard of.
    var heartbeatAgo: Double
    /// The jobs in its hands, as it said itself.
    var inFlight: Int
    /// What it says of itself; nil from a worker that has said nothing yet, or of a version that says nothing.
    var report: WorkerReport?
    /// Whether it has ended in order.
    var hasEnded = false

    /// Whether it lives, was lost or has ended.
    var state: State {
      if hasEnded { return .ended }
      return Self.life.contains(heartbeatAgo) ? .alive : .lost
    }

    /// After so many seconds without a heartbeat a worker is lost: its leases have passed, and others take its jobs. One to
    /// come is from before the server's clock was set back. `analysis.worker_lives` has the same.
    private static let life = 0.0...15.0

    /// What has become of a worker.
    enum State: String, Sendable {
      case alive, lost, ended
    }
  }

  /// The lanes, by number.
  var lanes: [LaneStatus] = []
  /// Jobs that run later.
  public internal(set) var scheduled = BoundedCount(0)
  /// When the next of them runs, in seconds since 1970; nil when there is none.
  var nextScheduledAt: Double?
  /// In how many seconds that is, by the server's clock; negative when it is due.
  var nextScheduledIn: Double?
  /// Jobs that died and were neither retried nor removed.
  public internal(set) var dead = BoundedCount(0)
  /// Quota units that are still to be written back.
  public internal(set) var pendingRefunds = BoundedCount(0)
  /// The workers, by machine and process.
  var workers: [WorkerStatus] = []
  /// What operators have paused.
  public internal(set) var pauses: [OperatorPause] = []
  /// The server's estimates, by name.
  var gauges: [String: Int64] = [:]
  /// How many seconds ago a worker counted what is shown; nil where no worker keeps counts, and all was counted for
  /// this answer.
  public internal(set) var countedAgo: Double?
  /// How fast jobs are done.
  var rates = DoneRates()
  /// Whether jobs are run; nil where the schema of before does not say.
  public internal(set) var state: QueueState?

  /// Jobs that wait, over all lanes.
  public var waiting: BoundedCount { lanes.reduce(BoundedCount(0)) { $0 + $1.waiting } }
  /// Jobs in workers' hands, over all lanes.
  var inFlight: Int { lanes.reduce(0) { $0 + $1.inFlight } }
  /// For how many seconds the job that waits longest has been waiting, as far as the lanes' heads tell.
  var oldestWaitingSeconds: Double? { lanes.compactMap(\.oldestWaitingSeconds).max() }

  /// In how many seconds nothing waits or runs any more, if no job comes and jobs are done as fast as in the last
  /// minute; nil where nothing was done in it, or jobs are not run.
  var emptyIn: Double? {
    guard waiting.value + inFlight > 0 else { return 0 }
    guard state?.name == .working else { return nil }
    guard let rate = rates.minute, rate > 0 else { return nil }
    return Double(waiting.value + inFlight) / rate
  }

  /// Asks a database, by one statement. Counts that a worker has kept are some seconds old. All counts of a shard
  /// are of one moment: a job that goes from one table to the next meanwhile is counted once.
  ///
  /// - Parameter bound: where counting stops, for each lane and shard, while no worker keeps counts.
  public static func read(
    _ database: ConnectionPool, bound: Int = 10_000
  ) async throws(JobQueueError) -> QueueStatus {
    try await statement(bound: bound).run(on: database)
  }

  /// Adds a shard's workers; one that serves several shards is one worker, as last heard in any of them.
  mutating func add(workers others: [WorkerStatus]) {
    for other in others {
      guard let index = workers.firstIndex(where: { $0.id == other.id }) else {
        workers.append(other)
        continue
      }
      workers[index].heartbeatAgo = min(workers[index].heartbeatAgo, other.heartbeatAgo)
      workers[index].inFlight += other.inFlight
      workers[index].report = workers[index].report ?? other.report
      workers[index].hasEnded = workers[index].hasEnded && other.hasEnded
    }
  }
}
