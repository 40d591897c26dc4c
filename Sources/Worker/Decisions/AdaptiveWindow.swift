/// How many calls may be in flight at one endpoint: grows while latency holds, halves when the endpoint
/// asks for less.
///
/// The window begins at its greatest size, since most endpoints are sized for it. A sign of overload (429,
/// 503, a timeout) halves it, at most once in the time that a call takes, for the calls already in flight
/// will all say the same. Each window's worth of good answers in a row adds one call again, unless their
/// latency has more than doubled against the best that was seen. The best is forgotten within some thousand
/// answers, or an endpoint that became slower for good would never have its whole window again.
struct AdaptiveWindow: Sendable {
  /// The greatest size, in calls.
  let greatest: Int
  /// The present size, in calls; never below 1.
  private(set) var size: Int

  /// By how much the best latency that is remembered grows with each answer: doubled after 1,400.
  private static let forgetting = 1.0005

  private var goodInARow = 0
  private var callsSinceHalving = Int.max
  private var bestLatency: Duration?
  private var smoothedLatency: Duration?

  init(greatest: Int) {
    self.greatest = max(1, greatest)
    size = self.greatest
  }

  /// Takes note of an answer that was neither an overload nor a timeout.
  mutating func succeeded(after latency: Duration) {
    if callsSinceHalving < Int.max { callsSinceHalving += 1 }
    let smoothed = smoothedLatency.map { $0 * 0.9 + latency * 0.1 } ?? latency
    smoothedLatency = smoothed
    bestLatency = min((bestLatency ?? smoothed) * Self.forgetting, smoothed)
    guard size < greatest else { return }
    goodInARow += 1
    guard goodInARow >= size else { return }
    goodInARow = 0
    // Below four milliseconds the latency of an endpoint is noise of the machine.
    let tolerated = max((bestLatency ?? smoothed) * 2, .milliseconds(4))
    if smoothed <= tolerated { size += 1 }
  }

  /// Takes note of a 429, a 503 or a timeout; answers whether the window was halved by it.
  @discardableResult
  mutating func overloaded() -> Bool {
    goodInARow = 0
    guard callsSinceHalving >= size else {
      callsSinceHalving += 1
      return false
    }
    callsSinceHalving = 0
    size = max(1, size / 2)
    return true
  }
}
