public import Support

/// What one worker keeps of one shard between claims: the order of the lanes and a scan mark for each.
///
/// It decides and remembers, and does nothing itself: the caller sends what ``next(count:paused:quarantineInFlight:now:)``
/// gives and reports the answer by ``claimed(_:for:count:now:)``. A request may be sent before the answer
/// to the one before it is known.
public struct ShardClaims: Sendable {
  private var schedule: LaneSchedule
  private var scanMarks: [Lane: ScanMark]
  /// How far the lanes were claimed by what is published, as last heard.
  private var publishedFurthest: [Lane: Int64] = [:]
  private let lanes: [Lane]

  /// The state of a worker that has not asked yet.
  public init(kinds: [AnalysisKind], rules: ClaimRules = .init(), now: ContinuousClock.Instant) {
    schedule = LaneSchedule(kinds: kinds, rules: rules)
    lanes = schedule.lanes
    let mark = ScanMark(now: now, interval: rules.fallBackInterval)
    scanMarks = Dictionary(uniqueKeysWithValues: lanes.map { ($0, mark) })
  }

  /// What the next claim asks, lane by lane; empty when nothing is worth asking yet.
  public mutating func next(
    count: Int, paused: Set<AnalysisKind> = [], quarantineInFlight: Bool, now: ContinuousClock.Instant
  ) -> [LaneClaim] {
    schedule.next(count: count, paused: paused, quarantineInFlight: quarantineInFlight, now: now).map {
      LaneClaim(lane: $0.lane, from: scanMarks[$0.lane]?.start(now: now) ?? 0, limit: $0.limit)
    }
  }

  /// Takes in the answer to a claim.
  ///
  /// - Parameters:
  ///   - leases: what was claimed.
  ///   - request: what was asked, in the order in which it was asked.
  ///   - count: how many jobs the claim might take in all.
  public mutating func claimed(
    _ leases: [ClaimedLease], for request: [LaneClaim], count: Int, now: ContinuousClock.Instant
  ) {
    var left = count
    for lane in request {
      guard left > 0 else { return }
      let asked = min(lane.limit, left)
      let jobs = leases.filter { $0.lane == lane.lane }.flatMap(\.jobs)
      // Where cancelled jobs were dropped there may be more behind them.
      let continueFrom = leases.first { $0.lane == lane.lane && $0.continueFrom != nil }?.continueFrom
      let short = jobs.count < asked && continueFrom == nil
      left -= jobs.count
      let proven = scanMarks[lane.lane]?.provesEmpty(from: lane.from) ?? false
      let last = jobs.map(\.virtualTime).max()
      scanMarks[lane.lane]?.claimed(from: lane.from, last: continueFrom ?? last, short: short)
      if !short {
        schedule.foundJobs(lane.lane)
      } else if proven {
        schedule.foundEmpty(lane.lane, now: now)
      }
    }
  }

  /// The outcome of a claim is not known: every lane falls back and is asked again.
  public mutating func claimFailed() {
    wakeUp()
  }

  /// Something was queued, or jobs came back.
  public mutating func wakeUp() {
    schedule.wakeUp()
    for lane in lanes { scanMarks[lane]?.wakeUp() }
  }

  /// Takes in what the database said of the shard: the published mark of each lane in which jobs wait. Those are asked
  /// from there, and the others are known to be empty.
  public mutating func looked(_ waiting: [Lane: Int64], now: ContinuousClock.Instant) {
    for lane in lanes {
      guard let scanFrom = waiting[lane] else {
        schedule.foundEmpty(lane, now: now)
        continue
      }
      schedule.foundJobs(lane)
      scanMarks[lane]?.published(scanFrom)
      scanMarks[lane]?.wakeUp()
    }
  }

  /// Takes in what `tick` answered.
  public mutating func published(_ marks: [Lane: PublishedMark]) {
    for (lane, mark) in marks {
      scanMarks[lane]?.published(mark.scanFrom)
      if scanMarks[lane] != nil { publishedFurthest[lane] = mark.furthest }
    }
  }

  /// The furthest virtual time claimed in each lane, for `tick`.
  public var marks: [(lane: Lane, furthest: Int64)] {
    lanes.map { (lane: $0, furthest: scanMarks[$0]?.furthest ?? 0) }
  }

  /// Whether a mark is further than what is known to be published.
  public var hasUnpublishedMarks: Bool {
    marks.contains { $0.furthest > publishedFurthest[$0.lane, default: 0] }
  }

  /// How many claims begin with each priority.
  public var shares: LaneShares {
    get { schedule.shares }
    set { schedule.shares = newValue }
  }

  /// Whether there is nothing to ask for, as far as is known.
  public func isIdle(paused: Set<AnalysisKind> = [], quarantineInFlight: Bool) -> Bool {
    schedule.isIdle(paused: paused, quarantineInFlight: quarantineInFlight)
  }
}

/// What is published of a lane.
public struct PublishedMark: Sendable, Equatable {
  /// From where it is to be scanned.
  var scanFrom: Int64
  /// How far it was claimed, as far as workers have said.
  public var furthest: Int64
}

/// What a claim asks of one lane.
public struct LaneClaim: Sendable, Equatable {
  /// The lane.
  public var lane: Lane
  /// The virtual time from which to look.
  var from: Int64
  /// How many jobs at most.
  public var limit: Int
  /// Of these, how many whose images have to be cleaned first.
  public var unsanitized: Unsanitized

  /// How many jobs whose images have to be cleaned a claim takes of a lane; others stay where they wait.
  public enum Unsanitized: Int32, Sendable {
    /// As many as there are.
    case any = 0
    case none = 1
    /// One, of a user of whom the worker holds no job.
    case oneOfAnother = 2
  }

  /// What to ask of a lane.
  public init(lane: Lane, from: Int64, limit: Int, unsanitized: Unsanitized = .any) {
    self.lane = lane
    self.from = from
    self.limit = limit
    self.unsanitized = unsanitized
  }

  /// The limit as the database takes it: what it says of unsanitized jobs is in its highest bits.
  var code: Int32 { unsanitized.rawValue << 24 | Int32(min(max(limit, 0), 0xFF_FFFF)) }
}

/// From which virtual time a worker claims in one lane, so that a claim does not step over the dead rows
/// of jobs that were claimed before.
///
/// The mark is kept in memory and runs ahead with each claim. It falls back to the mark that the workers
/// published at least two seconds ago when a claim comes back short, on a wake-up and at least every
/// 250 ms, so that a job which was given a smaller virtual time meanwhile is found. What committed later
/// than that is found by a sweep from zero, which one process makes about once a minute: it lowers the
/// published mark, and the next claim of every worker that hears of it falls back there.
struct ScanMark: Sendable, Equatable {
  /// The furthest virtual time that was claimed; what is published.
  private(set) var furthest: Int64 = 0
  /// The published mark, as last heard.
  private(set) var scanFrom: Int64 = 0

  private var position: Int64 = 0
  private var fellBackAt: ContinuousClock.Instant
  private var mustFallBack = false
  private let interval: Duration

  /// A mark that starts from zero and falls back at least once an `interval`.
  init(now: ContinuousClock.Instant, interval: Duration = .milliseconds(250)) {
    fellBackAt = now
    self.interval = interval
  }

  /// From where to claim now.
  mutating func start(now: ContinuousClock.Instant) -> Int64 {
    if mustFallBack || now - fellBackAt >= interval {
      position = scanFrom
      mustFallBack = false
      fellBackAt = now
    }
    return position
  }

  /// Takes in a claim's answer.
  ///
  /// - Parameters:
  ///   - from: what ``start(now:)`` gave for the claim.
  ///   - last: the greatest virtual time claimed; nil when nothing was.
  ///   - short: whether there were fewer jobs than asked for.
  mutating func claimed(from: Int64, last: Int64?, short: Bool) {
    if let last {
      furthest = max(furthest, last)
      position = max(from, last)
    }
    if short { mustFallBack = true }
  }

  /// Something was queued or came back: the next claim falls back.
  mutating func wakeUp() {
    mustFallBack = true
  }

  /// Takes in the published mark. One that was lowered, by a sweep or when the database was restored, is fallen back
  /// to by the next claim; a mark that lies behind it, since others have claimed meanwhile, is moved up to it at once.
  mutating func published(_ scanFrom: Int64) {
    if scanFrom < self.scanFrom { mustFallBack = true }
    self.scanFrom = scanFrom
    position = max(position, scanFrom)
  }

  /// Whether a short claim from here means that the lane is empty.
  func provesEmpty(from: Int64) -> Bool {
    from <= scanFrom
  }
}
