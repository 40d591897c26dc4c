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
