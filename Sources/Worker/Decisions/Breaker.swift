/// Whether an endpoint is called at all: open after too many failures in a row, then probed by single
/// calls, closed by the first that succeeds.
///
/// Failures that count are those of the endpoint as a whole (refused connections, timeouts, 5xx), never
/// those of one image. The time for which it stays open doubles from one second to half a minute.
///
/// Each call is told how it was admitted and says so when it ends, for calls that began before the breaker
/// opened end while a probe is under way. What they say of the endpoint counts, but only the probe itself
/// ends the probing: else there would be two at a time.
struct Breaker: Sendable {
  enum State: Equatable, Sendable {
    case closed
    case open(until: ContinuousClock.Instant)
    /// One probe is under way.
    case probing
  }

  /// How a call was admitted.
  enum Admission: Equatable, Sendable {
    case ordinary
    /// It is the probe with this number.
    case probe(Int)
  }

  /// Failures in a row that open it. Ten is more than the calls of one bad second at a small window, and
  /// few enough that a dead endpoint costs a queue next to nothing.
  static let threshold = 10

  /// Until when no call is admitted; nil while closed.
  private var openUntil: ContinuousClock.Instant?
  /// The probe that is under way.
  private var probe: Int?
  private var lastProbe = 0
  /// Since when it has not been closed; nil while it is.
  private var shutSince: ContinuousClock.Instant?
  private var failuresInARow = 0
  private var timesOpened = 0

  var state: State {
    guard let openUntil else { return .closed }
    return probe == nil ? .open(until: openUntil) : .probing
  }

  /// How a call may begin now, nil when it may not. While open, the one that is admitted is the probe.
  mutating func admits(at now: ContinuousClock.Instant) -> Admission? {
    switch state {
    case .closed: return .ordinary
    case .probing: return nil
    case .open(let until):
      guard now >= until else { return nil }
      lastProbe += 1
      probe = lastProbe
      return .probe(lastProbe)
    }
  }

  /// Whether a call might be admitted now.
  func mayAdmit(at now: ContinuousClock.Instant) -> Bool {
    switch state {
    case .closed: true
    case .probing: false
    case .open(let until): now >= until
    }
  }

  /// When a refused caller should ask again; nil while closed or while a probe is under way.
  var reopens: ContinuousClock.Instant? {
    if case .open(let until) = state { until } else { nil }
  }

  /// Whether whoever waits for it would wait for longer than a moment.
  func isShutForLong(at now: ContinuousClock.Instant) -> Bool {
    reopens.map { $0 - now > .seconds(5) } ?? false
  }

  /// Whether no call can be expected to succeed within a time: it stays open for longer, or probes have
  /// failed for so long already. Without the second rule a drain would wait for ever for an endpoint that is
  /// probed more often than the time is long.
  func isShut(beyond horizon: Duration, at now: ContinuousClock.Instant) -> Bool {
    guard let shutSince else { return false }
    if now - shutSince >= horizon { return true }
    return reopens.map { $0 > now + horizon } ?? false
  }

  /// Takes note of an answer, of whichever call; answers whether this closed the breaker.
  @discardableResult
  mutating func succeeded() -> Bool {
    failuresInARow = 0
    timesOpened = 0
    probe = nil
    shutSince = nil
    defer { openUntil = nil }
    return openUntil != nil
  }

  /// Takes note of a failure of the endpoint; answers whether this opened the breaker.
  @discardableResult
  mutating func failed(_ admission: Admission, at now: ContinuousClock.Instant) -> Bool {
    failuresInARow += 1
    let opens = openUntil == nil ? failuresInARow >= Self.threshold : endsProbe(admission)
    guard opens else { return false }  // too few yet, or the rest of those that were in flight
    timesOpened += 1
    let seconds = min(30, 1 << min(timesOpened - 1, 5))
    open(until: now + .seconds(seconds), at: now)
    return true
  }

  /// Keeps the endpoint from being called until a probe after the given time; answers whether this is news,
  /// which it is not for the other calls that were in flight.
  @discardableResult
  mutating func pause(
    _ admission: Admission, for time: Duration, at now: ContinuousClock.Instant
  ) -> Bool {
    let wasProbe = endsProbe(admission)
    if !wasProbe, let openUntil, openUntil >= now + time - .seconds(1) { return false }
    open(until: now + time, at: now)
    return true
  }

  /// Takes note that a call ended without saying anything of the endpoint, for instance by a stop. If it was
  /// the probe, another may begin at once.
  mutating func abandoned(_ admission: Admission, at now: ContinuousClock.Instant) {
    if endsProbe(admission) { openUntil = now }
  }

  private mutating func open(until: ContinuousClock.Instant, at now: ContinuousClock.Instant) {
    openUntil = until
    shutSince = shutSince ?? now
  }

  /// Takes note of the end of a call; answers whether it was the probe that is under way.
  private mutating func endsProbe(_ admission: Admission) -> Bool {
    guard case .probe(let number) = admission, number == probe else { return false }
    probe = nil
    return true
  }
}
