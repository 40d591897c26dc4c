public import AnalysisCore

/// What one worker keeps of one shard between claims: the order of the lanes and a scan mark for each.
///
/// It decides and remembers, and does nothing itself: the caller sends what ``next(count:paused:suspectInFlight:now:)``
/// gives and reports the answer by ``claimed(_:for:count:now:)``. A request may be sent before the answer
/// to the one before it is known.
public struct ShardClaims: Sendable {
  private var schedule: LaneSchedule
  private var scanMarks: [Lane: ScanMark]
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
    count: Int, paused: Set<AnalysisKind> = [], suspectInFlight: Bool, now: ContinuousClock.Instant
  ) -> [LaneClaim] {
    schedule.next(count: count, paused: paused, suspectInFlight: suspectInFlight, now: now).map {
      LaneClaim(lane: $0.lane, from: scanMarks[$0.lane]?.start(now: now) ?? 0, limit: $0.limit)
    }
  }

  /// Takes in the answer to a claim.
  ///
  /// - Parameters:
  ///   - batches: what was claimed.
  ///   - request: what was asked, in the order in which it was asked.
  ///   - count: how many jobs the claim might take in all.
  public mutating func claimed(
    _ batches: [ClaimedBatch], for request: [LaneClaim], count: Int, now: ContinuousClock.Instant
  ) {
    var left = count
    for lane in request {
      guard left > 0 else { return }
      let asked = min(lane.limit, left)
      let jobs = batches.filter { $0.lane == lane.lane }.flatMap(\.jobs)
      // Where cancelled jobs were dropped there may be more behind them.
      let continueFrom = batches.first { $0.lane == lane.lane && $0.continueFrom != nil }?.continueFrom
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

  /// Takes in what `tick` answered: the published mark of each lane.
  public mutating func published(_ scanFrom: [Lane: Int64]) {
    for (lane, mark) in scanFrom { scanMarks[lane]?.published(mark) }
  }

  /// The next claims look from nought, for what committed very late; every lane is asked again.
  public mutating func sweep() {
    schedule.wakeUp()
    for lane in lanes { scanMarks[lane]?.sweep() }
  }

  /// The furthest virtual time claimed in each lane, for `tick`.
  public var marks: [(lane: Lane, furthest: Int64)] {
    lanes.map { (lane: $0, furthest: scanMarks[$0]?.furthest ?? 0) }
  }

  /// When an idle worker should ask again.
  public func nextAsk(
    paused: Set<AnalysisKind> = [], now: ContinuousClock.Instant
  ) -> ContinuousClock.Instant {
    schedule.nextAsk(paused: paused, now: now)
  }
}
