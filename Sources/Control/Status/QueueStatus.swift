import FoundationEssentials
public import PostgreSQL
public import Queue
internal import Support

/// What is in the queue and who works on it. Cheap to ask: workers keep the counts, and where none does, every count
/// is bounded.
public struct QueueStatus: Sendable, Equatable {
  /// One of the lanes, over all shards.
  struct LaneStatus: Sendable, Equatable {
    let lane: Lane
    var waiting: BoundedCount
    /// Jobs in workers' hands.
    var inFlight: Int
    /// For how many seconds the job at the lane's head has been waiting; nil when none waits.
    var oldestWaitingSeconds: Double?

    /// Whether jobs wait or run in it.
    var hasJobs: Bool { waiting.value > 0 || inFlight > 0 }
  }

  /// How many results were stored a second, as workers report it; nil where nothing is known of the time.
  struct DoneRates: Sendable, Equatable, Decodable {
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
    let host: String
    let pid: Int32
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
  var pendingRefunds = BoundedCount(0)
  /// The workers, by machine and process.
  var workers: [WorkerStatus] = []
  /// What operators have paused.
  var pauses: [OperatorPause] = []
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

  /// How it is, in one sentence: the state in its words, and how many jobs wait for it, or how soon none does. Nil where
  /// the schema of before does not say.
  var sentence: String? {
    guard let state else { return nil }
    let open = waiting.value + inFlight
    let wait =
      waiting.value == 0 ? "nothing waits" : "\(waiting) \(waiting.value == 1 ? "job waits" : "jobs wait")"
    guard state.name == .working else {
      return "\(state.words.prefix(1).uppercased())\(state.words.dropFirst()); \(wait)"
    }
    guard open > 0 else { return "Working: nothing waits" }
    guard let rate = rates.minute, let emptyIn else {
      return "Working: \(wait), \(inFlight) in workers' hands"
    }
    return "Working: \(Chart.shown(rate)) a second, empty in \(Moment.age(emptyIn))"
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

extension QueueStatus {
  /// Asks for everything at once.
  static func statement(bound: Int) -> Statement<QueueStatus> {
    Statement(
      SQLFunction("queue_overview", 1), [.int32(Int32(clamping: bound + 1))], as: String.self,
      while: "reading the queue's status"
    ) { text in
      try QueueStatus(JSONDecoder().decode(FoundStatus.self, from: Data(text.utf8)))
    }
  }

  private init(_ overview: FoundStatus) throws {
    lanes = try overview.lanes.map(LaneStatus.init)
    scheduled = BoundedCount(overview.scheduled, isExact: overview.isScheduledExact)
    nextScheduledAt = overview.nextRun
    nextScheduledIn = overview.nextRunIn
    dead = BoundedCount(overview.dead, isExact: overview.isDeadExact)
    pendingRefunds = BoundedCount(overview.refunds, isExact: overview.isRefundsExact)
    add(workers: overview.workers.map(WorkerStatus.init))
    pauses = try overview.pauses.map(OperatorPause.init)
    gauges = overview.gauges
    countedAgo = overview.countedAgo
    state = overview.state
    rates = overview.rates
  }
}

/// What `analysis.queue_overview` answers.
private struct FoundStatus: Decodable {
  struct Lane: Decodable {
    var lane: Int16
    var waiting: Int
    var isExact: Bool
    var isKept: Bool
    var inFlight: Int
    var oldest: Double?
  }

  struct Worker: Decodable {
    var id: Int64
    var host: String
    var pid: Int32
    var version: String
    var startedAt: Double
    var age: Double
    var heartbeatAgo: Double
    var inFlight: Int
    var report: String?
    var hasEnded: Bool
  }

  struct Pause: Decodable {
    var scope: String
    var name: String
    var reason: String?
    var by: String
    var since: Double
    var until: Double?
    var secondsLeft: Double?
  }

  var lanes: [Lane]
  var scheduled: Int
  var isScheduledExact: Bool
  var nextRun: Double?
  var nextRunIn: Double?
  var dead: Int
  var isDeadExact: Bool
  var refunds: Int
  var isRefundsExact: Bool
  var countedAgo: Double?
  var workers: [Worker]
  var pauses: [Pause]
  var rates: QueueStatus.DoneRates
  var gauges: [String: Int64]
  var state: QueueState?
}

extension QueueStatus.LaneStatus {
  fileprivate init(_ found: FoundStatus.Lane) throws {
    self.init(
      lane: try Lane(stored: found.lane),
      waiting: BoundedCount(found.waiting, isExact: found.isExact, isAbout: found.isKept),
      inFlight: found.inFlight, oldestWaitingSeconds: found.oldest)
  }
}

extension QueueStatus.WorkerStatus {
  fileprivate init(_ found: FoundStatus.Worker) {
    self.init(
      id: found.id, host: found.host, pid: found.pid, version: found.version, startedAt: found.startedAt,
      age: found.age, heartbeatAgo: found.heartbeatAgo, inFlight: found.inFlight,
      report: found.report.flatMap(WorkerReport.init(json:)), hasEnded: found.hasEnded)
  }
}

extension OperatorPause {
  fileprivate init(_ found: FoundStatus.Pause) throws {
    self.init(
      try Scope(scope: found.scope, name: found.name), reason: found.reason, by: found.by,
      since: found.since, until: found.until, secondsLeft: found.secondsLeft)
  }
}

/// Whether jobs are run, and why not, as `analysis.queue_state` says it once for all who show it.
public struct QueueState: Sendable, Equatable, Decodable {
  /// What the queue does.
  public enum Name: String, Sendable, CaseIterable, Decodable {
    case working, paused
    case noWorker = "no worker"
    case endpointShut = "endpoint shut"
  }

  /// What the queue does.
  public let name: Name
  /// Of which type, and why, as far as there is more to say.
  let why: String?

  /// A state with its parts.
  init(_ name: Name, why: String? = nil) {
    self.name = name
    self.why = why
  }

  /// `working`, `paused: ear jobs, the lamp is broken`.
  var words: String { name.rawValue + (why.map { ": \(printable($0))" } ?? "") }

  private struct Columns: Decodable {
    let state: String
    let why: String?
  }

  static let statement = Statement(
    SQLFunction("queue_state", 0), as: Columns.self, while: "reading the queue's state"
  ) { found in
    Name(rawValue: found.state).map { QueueState($0, why: found.why) }
  }
}
