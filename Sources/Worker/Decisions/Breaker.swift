/// Whether an endpoint is called at all: open after too many failures in a row, then probed by single
/// calls, closed by the first that succeeds.
///
/// Failures that count are those of the endpoint as a whole (refused connections, timeouts, 5xx), never
/// those of one image. The time for which it stays open doubles from one second to half a minute.
struct Breaker: Sendable {
  enum State: Equatable, Sendable {
    case closed
    case open(until: ContinuousClock.Instant)
    /// One probe is under way.
    case probing
  }

  /// Failures in a row that open it. Ten is more than the calls of one bad second at a small window, and
  /// few enough that a dead endpoint costs a queue next to nothing.
  static let threshold = 10

  private(set) var state = State.closed
  /// Since when it has not been closed; nil while it is.
  private var shutSince: ContinuousClock.Instant?
  private var failuresInARow = 0
  private var timesOpened = 0

  /// Whether a call may begin now; a true answer while open makes that call the probe.
  mutating func admits(at now: ContinuousClock.Instant) -> Bool {
    switch state {
    case .closed: return true
    case .probing: return false
    case .open(let until):
      guard now >= until else { return false }
      state = .probing
      return true
    }
  }

  /// When a refused caller should ask again; nil while closed or while a probe is under way.
  var reopens: ContinuousClock.Instant? {
    if case .open(let until) = state { until } else { nil }
  }

  /// Whether no call can be expected to succeed within a time: it stays open for longer, or probes have
  /// failed for so long already. By the first alone, an endpoint that is probed more often than the time is
  /// long would be waited for for ever.
  func isShut(beyond horizon: Duration, at now: ContinuousClock.Instant) -> Bool {
    guard let shutSince else { return false }
    if now - shutSince >= horizon { return true }
    return reopens.map { $0 > now + horizon } ?? false
  }

  /// Takes note of an answer; answers whether this closed the breaker.
  @discardableResult
  mutating func succeeded() -> Bool {
    failuresInARow = 0
    timesOpened = 0
    guard state != .closed else { return false }
    state = .closed
    shutSince = nil
    return true
  }

  /// Takes note of a failure of the endpoint; answers whether this opened the breaker.
  @discardableResult
  mutating func failed(at now: ContinuousClock.Instant) -> Bool {
    failuresInARow += 1
    switch state {
    case .closed where failuresInARow < Self.threshold: return false
    case .open: return false  // the rest of those that were in flight
    case .closed, .probing:
      timesOpened += 1
      let seconds = min(30, 1 << min(timesOpened - 1, 5))
      state = .open(until: now + .seconds(seconds))
      shutSince = shutSince ?? now
      return true
    }
  }

  /// Keeps the endpoint from being called until a probe after the given time; answers whether this is news,
  /// which it is not for the other calls that were in flight.
  @discardableResult
  mutating func pause(for time: Duration, at now: ContinuousClock.Instant) -> Bool {
    if case .open(let until) = state, until >= now + time - .seconds(1) { return false }
    state = .open(until: now + time)
    shutSince = shutSince ?? now
    return true
  }

  /// Takes note that the probe ended without saying anything of the endpoint, for instance by a stop.
  mutating func probeAbandoned(at now: ContinuousClock.Instant) {
    if state == .probing { state = .open(until: now) }
  }
}
