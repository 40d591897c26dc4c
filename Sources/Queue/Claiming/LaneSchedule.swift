import PostgreSQL
public import Support

/// In which order a claim goes through the lanes.
///
/// Each claim begins with the priority whose turn it is by the shares; what that one does not use the others have,
/// the most urgent first. Quarantined jobs come last, but on the turns of bulk first, so that they are never starved. The
/// types take turns within a priority. A lane that was found empty is left out for a short time, and when all were
/// found empty nothing is asked until somebody knows of a job.
struct LaneSchedule: Sendable {
  /// How many claims begin with each priority; it may change at any time.
  var shares: LaneShares {
    didSet { if shares != oldValue { claims = 0 } }
  }

  private let kinds: [AnalysisKind]
  private let rules: ClaimRules
  private var claims = 0
  /// How many claims began with each priority, by which the types take turns.
  private var begun: [Priority: Int] = [:]
  private var emptySince: [Lane: ContinuousClock.Instant] = [:]
  /// The quarantine lanes that had one when they were last asked.
  private var quarantinesWithJobs: Set<Lane> = []

  /// The schedule of a worker that serves some types.
  init(kinds: [AnalysisKind], rules: ClaimRules = .init()) {
    self.kinds = kinds
    self.rules = rules
    shares = rules.shares
  }

  /// Every lane that the worker serves.
  var lanes: [Lane] { kinds.flatMap(Lane.all(of:)) }

  /// The lanes for the next claim, in order, each with how many jobs may be taken from it; none when all are known
  /// to be empty.
  ///
  /// - Parameters:
  ///   - count: how many jobs the claim may take in all.
  ///   - paused: types that are not to be started now.
  ///   - quarantineInFlight: whether this process runs a quarantined job now; then no other is asked for.
  mutating func next(
    count: Int, paused: Set<AnalysisKind>, quarantineInFlight: Bool, now: ContinuousClock.Instant
  ) -> [(lane: Lane, limit: Int)] {
    guard count > 0, !isIdle(paused: paused, quarantineInFlight: quarantineInFlight) else { return [] }
    let first = shares.turns[claims % shares.turns.count]
    let turn = rotated(kinds.filter { !paused.contains($0) }, by: begun[first, default: 0])
    claims += 1
    begun[first, default: 0] += 1
    let quarantine = quarantineInFlight ? [] : turn.map { Lane.quarantine(of: $0) }
    let priorities = [first] + Priority.allCases.filter { $0 != first }
    let others = priorities.flatMap { priority in turn.map { Lane($0, priority) } }
    let order = first == .bulk ? quarantine + others : others + quarantine
    return limited(order.filter { isDue($0, now: now) }, count: count)
  }

  /// A lane was asked and had fewer jobs than it might have given.
  mutating func foundEmpty(_ lane: Lane, now: ContinuousClock.Instant) {
    emptySince[lane] = now
    quarantinesWithJobs.remove(lane)
  }

  /// A lane gave all that it was asked for, or is known to have jobs.
  mutating func foundJobs(_ lane: Lane) {
    emptySince[lane] = nil
    if lane.isQuarantine { quarantinesWithJobs.insert(lane) }
  }

  /// Something was queued: every lane is asked again.
  mutating func wakeUp() {
    emptySince.removeAll(keepingCapacity: true)
  }

  /// Whether there is nothing to ask for, as far as is known: every lane was found empty.
  ///
  /// The quarantined jobs are left out, whom a process may not be allowed to ask for. But they come one at a time: while
  /// there are more, the next is not made to wait.
  func isIdle(paused: Set<AnalysisKind> = [], quarantineInFlight: Bool) -> Bool {
    let kinds = kinds.filter { !paused.contains($0) }
    if !quarantineInFlight, kinds.contains(where: { quarantinesWithJobs.contains(.quarantine(of: $0)) }) {
      return false
    }
    return kinds.allSatisfy { kind in
      Priority.allCases.allSatisfy { emptySince[Lane(kind, $0)] != nil }
    }
  }

  private func isDue(_ lane: Lane, now: ContinuousClock.Instant) -> Bool {
    guard let since = emptySince[lane] else { return true }
    return now >= since + rules.emptyLanePause
  }

  private func rotated(_ kinds: [AnalysisKind], by turns: Int) -> [AnalysisKind] {
    guard kinds.count > 1 else { return kinds }
    let first = turns % kinds.count
    return Array(kinds[first...] + kinds[..<first])
  }

  /// Gives every lane the whole count, but all quarantined jobs together one.
  private func limited(_ lanes: [Lane], count: Int) -> [(lane: Lane, limit: Int)] {
    var quarantineAsked = false
    return lanes.compactMap { lane in
      guard lane.isQuarantine else { return (lane, count) }
      if quarantineAsked { return nil }
      quarantineAsked = true
      return (lane, 1)
    }
  }
}

/// The numbers by which a worker decides which lanes to ask, and when.
public struct ClaimRules: Sendable, Equatable {
  /// How many claims begin with each priority.
  var shares: LaneShares
  /// How long a lane that was found empty is left out while others have jobs.
  var emptyLanePause: Duration
  /// How long a scan mark may run ahead before it falls back.
  var fallBackInterval: Duration

  /// The usual numbers: of eight claims five for urgent jobs, two for normal ones and one for bulk, 50 ms for an
  /// empty lane, a fall back at least every 250 ms.
  public init(
    shares: LaneShares = .usual, emptyLanePause: Duration = .milliseconds(50),
    fallBackInterval: Duration = .milliseconds(250)
  ) {
    self.shares = shares
    self.emptyLanePause = emptyLanePause
    self.fallBackInterval = fallBackInterval
  }
}

/// What there is to do in one shard, as one call that reads tells it of all shards together.
public struct ShardWork: Sendable, Equatable {
  /// The lanes in which jobs wait, each with the published mark from which to claim.
  public var waiting: [Lane: Int64] = [:]
  /// Whether `tick` would move a mark on.
  public var movesMarks = false
  /// In how many seconds the next scheduled job is due; negative when it is, nil when there is none.
  public var nextRun: Double?
  /// Whether refunds, or places that were given up, are to be applied.
  public var owesRefunds = false
  /// How many jobs of the lanes asked for workers hold.
  public var held = 0
  /// Whether a lease may be lost.
  public var hasLostLeases = false
  /// The tasks of maintenance whose turn has come.
  public var turns: Set<String> = []

  /// Whether a scheduled job is due.
  public var isPromotionDue: Bool { nextRun.map { $0 <= 0 } ?? false }

  /// Asks which shards of a server have work; those that are left out have none.
  ///
  /// - Parameters:
  ///   - all: whether to look at leases and turns too.
  ///   - late: whether to look below the scan marks too, which takes longer.
  public static func statement(
    shards: [Int16], lanes: [Lane], all: Bool = false, late: Bool = false
  ) -> Statement<[Int16: ShardWork]> {
    Statement(
      function, [.array(shards), .array(lanes.map(\.code)), .bool(all), .bool(late)],
      while: "looking which shards have work"
    ) { rows in
      Dictionary(
        try rows.map { (try $0.int16("o_shard"), try ShardWork($0)) }, uniquingKeysWith: { first, _ in first }
      )
    }
  }

  private static let function = SQLFunction(
    "work", 4, "o_shard", "o_lanes", "o_scan_from", "o_marks", "o_next_run", "o_refunds", "o_held", "o_lost",
    "o_turns")

  /// The work of a shard in which nothing is to be done.
  public init() {}

  private init(_ row: Row) throws {
    let lanes = try row.arrayIfPresent("o_lanes", of: Int16.self) ?? []
    let scanFrom = try row.arrayIfPresent("o_scan_from", of: Int64.self) ?? []
    for (code, from) in zip(lanes, scanFrom) { waiting[try Lane(stored: code)] = from }
    movesMarks = try row.bool("o_marks")
    nextRun = try row.doubleIfPresent("o_next_run")
    owesRefunds = try row.bool("o_refunds")
    held = try row.int("o_held")
    hasLostLeases = try row.bool("o_lost")
    turns = Set(try row.array("o_turns", of: String.self))
  }
}
