import FoundationEssentials
import PostgreSQL
import Queue
import Support

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
    rates = DoneRates(
      tenSeconds: overview.rates.tenSeconds, minute: overview.rates.minute,
      fiveMinutes: overview.rates.fiveMinutes)
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

  struct Rates: Decodable {
    var tenSeconds: Double?
    var minute: Double?
    var fiveMinutes: Double?
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
  var rates: Rates
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
