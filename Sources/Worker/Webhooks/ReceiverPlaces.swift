internal import Synchronization

/// How many receivers are sent something at the same time, and which are slow: these may have half of the places at
/// most, so that no number of them delays the others.
final class ReceiverPlaces: Sendable {
  /// A receiver is slow that takes longer than this for an event. The place of one that is busy for longer is given to
  /// another, as long as slow ones have not more than their half beside.
  private static let patience: Duration = .seconds(1)
  /// As many slow ones are known at most; a claim can leave out a thousand.
  private static let mostKnown = 900

  private struct State {
    var began: [Int32: ContinuousClock.Instant] = [:]
    var slow: Set<Int32> = []
  }

  private let places: Int
  private let state = Mutex(State())

  init(_ places: Int) {
    self.places = places
  }

  /// Those that are being sent something.
  var busy: [Int32] { state.withLock { $0.began.keys.sorted() } }

  /// Those that were slow the last time.
  var slow: [Int32] { state.withLock { $0.slow.sorted() } }

  /// For how many there is room, and for how many of those that are slow.
  func room(at now: ContinuousClock.Instant) -> (all: Int, slow: Int) {
    state.withLock { state in
      let slow = state.began.count { state.slow.contains($0.key) || now - $0.value > Self.patience }
      let half = max(places / 2, 1)
      let all = max(0, places - state.began.count + min(slow, half))
      return (all, min(all, max(0, half - slow)))
    }
  }

  func begin(_ webhook: Int32, at now: ContinuousClock.Instant) {
    state.withLock { $0.began[webhook] = now }
  }

  /// - Parameter events: How many it was sent one after the other.
  /// - Returns: Whether there was no room until now.
  func end(_ webhook: Int32, after events: Int, at now: ContinuousClock.Instant) -> Bool {
    let wasFull = room(at: now).all == 0
    state.withLock { state in
      guard let began = state.began.removeValue(forKey: webhook) else { return }
      if now - began <= Self.patience * max(events, 1) {
        state.slow.remove(webhook)
      } else if state.slow.count < Self.mostKnown {
        state.slow.insert(webhook)
      }
    }
    return wasFull
  }
}
