public import AnalysisCore

/// In which order a claim goes through the lanes.
///
/// Urgent jobs come first, then normal ones, then bulk, then suspects; one claim in eight begins with
/// suspects and bulk, so that neither is ever starved. The kinds take turns within a priority. A lane
/// that was found empty is left out for a short time, or until a wake-up.
public struct LaneSchedule: Sendable {
  private let kinds: [AnalysisKind]
  private let rules: ClaimRules
  private var claims = 0
  private var emptySince: [Lane: ContinuousClock.Instant] = [:]
  /// The lanes of suspects that had one when they were last asked.
  private var lanesWithSuspects: Set<Lane> = []

  /// The schedule of a worker that serves some kinds.
  public init(kinds: [AnalysisKind], rules: ClaimRules = .init()) {
    self.kinds = kinds
    self.rules = rules
  }

  /// Every lane that the worker serves.
  public var lanes: [Lane] {
    kinds.flatMap { kind in Priority.allCases.map { Lane(kind, $0) } + [.suspects(of: kind)] }
  }

  /// The lanes for the next claim, in order, each with how many jobs may be taken from it.
  ///
  /// - Parameters:
  ///   - count: how many jobs the claim may take in all.
  ///   - paused: kinds that are not to be started now.
  ///   - suspectInFlight: whether this process runs a suspect now; then no other is asked for.
  public mutating func next(
    count: Int, paused: Set<AnalysisKind>, suspectInFlight: Bool, now: ContinuousClock.Instant
  ) -> [(lane: Lane, limit: Int)] {
    let turn = rotated(kinds.filter { !paused.contains($0) })
    guard count > 0, !turn.isEmpty else { return [] }
    if isIdle(turn, suspectInFlight: suspectInFlight, now: now) { return [] }
    let bulkFirst = claims % rules.bulkEvery == rules.bulkEvery - 1
    var order: [Lane] = []
    let suspects = suspectInFlight ? [] : turn.map { Lane.suspects(of: $0) }
    let bulk = turn.map { Lane($0, .bulk) }
    if bulkFirst { order += suspects + bulk }
    order += turn.map { Lane($0, .urgent) } + turn.map { Lane($0, .normal) }
    if !bulkFirst { order += bulk + suspects }
    claims += 1
    return limited(order.filter { isDue($0, now: now) }, count: count)
  }

  /// A lane was asked and had fewer jobs than it might have given.
  public mutating func foundEmpty(_ lane: Lane, now: ContinuousClock.Instant) {
    emptySince[lane] = now
    lanesWithSuspects.remove(lane)
  }

  /// A lane gave all that it was asked for.
  public mutating func foundJobs(_ lane: Lane) {
    emptySince[lane] = nil
    if lane.isForSuspects { lanesWithSuspects.insert(lane) }
  }

  /// Something was queued: every lane is asked again.
  public mutating func wakeUp() {
    emptySince.removeAll(keepingCapacity: true)
  }

  /// When the next claim is worth while: now, unless every lane was found empty.
  public func nextAsk(
    paused: Set<AnalysisKind>, now: ContinuousClock.Instant
  ) -> ContinuousClock.Instant {
    let lanes = ordinaryLanes(kinds.filter { !paused.contains($0) })
    let since = lanes.compactMap { emptySince[$0] }
    guard since.count == lanes.count else { return now }
    return (since.max() ?? now) + rules.idlePoll
  }

  /// Suspects come one at a time: while there are more, the next is not made to wait for an idle worker's turn.
  private func isIdle(
    _ kinds: [AnalysisKind], suspectInFlight: Bool, now: ContinuousClock.Instant
  ) -> Bool {
    if !suspectInFlight, kinds.contains(where: { lanesWithSuspects.contains(.suspects(of: $0)) }) {
      return false
    }
    let lanes = ordinaryLanes(kinds)
    let since = lanes.compactMap { emptySince[$0] }
    guard since.count == lanes.count, let last = since.max() else { return false }
    return now < last + rules.idlePoll
  }

  private func isDue(_ lane: Lane, now: ContinuousClock.Instant) -> Bool {
    guard let since = emptySince[lane] else { return true }
    return now >= since + rules.emptyLanePause
  }

  /// Whether a process is idle is told without the suspects, whom it may not be allowed to ask.
  private func ordinaryLanes(_ kinds: [AnalysisKind]) -> [Lane] {
    kinds.flatMap { kind in Priority.allCases.map { Lane(kind, $0) } }
  }

  private func rotated(_ kinds: [AnalysisKind]) -> [AnalysisKind] {
    guard kinds.count > 1 else { return kinds }
    // The bulk turns are counted in, or they would always fall to the same kind.
    let first = (claims + claims / rules.bulkEvery) % kinds.count
    return Array(kinds[first...] + kinds[..<first])
  }

  /// Gives every lane the whole count, but all suspects together one.
  private func limited(_ lanes: [Lane], count: Int) -> [(lane: Lane, limit: Int)] {
    var suspectAsked = false
    return lanes.compactMap { lane in
      guard lane.isForSuspects else { return (lane, count) }
      if suspectAsked { return nil }
      suspectAsked = true
      return (lane, 1)
    }
  }
}
