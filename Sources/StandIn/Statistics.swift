import Synchronization

/// Counts of what has been answered.
final class Statistics: Sendable {
  private struct State {
    var outcomes: [String: Int] = [:]
    var calls = 0
    var inFlight = 0
    var maximumInFlight = 0
  }

  private let state = Mutex(State())

  /// Uploads that are open.
  var inFlight: Int { state.withLock { $0.inFlight } }

  /// An upload has begun.
  ///
  /// - Returns: uploads open now, this one included.
  func began() -> Int {
    state.withLock { state in
      state.calls += 1
      state.inFlight += 1
      state.maximumInFlight = max(state.maximumInFlight, state.inFlight)
      return state.inFlight
    }
  }

  /// What an upload was answered with is settled.
  func answered(_ outcome: String) {
    state.withLock { $0.outcomes[outcome, default: 0] += 1 }
  }

  /// An upload has ended, whether its answer was read or not.
  func ended() {
    state.withLock { $0.inFlight -= 1 }
  }

  /// The counts, with those of the other parts.
  func snapshot(of core: EndpointCore) -> EndpointStatistics {
    let (tries, accounts) = (core.tries.summary, core.accounts.summary)
    return state.withLock { state in
      EndpointStatistics(
        uploads: state.calls, inFlight: state.inFlight, maximumInFlight: state.maximumInFlight,
        outcomes: state.outcomes, keys: tries.keys, repeatedTries: tries.repeats, images: core.cache.count,
        accounts: accounts.accounts, logins: accounts.logins, refreshes: accounts.refreshes)
    }
  }
}

/// What the endpoint has done since it started.
struct EndpointStatistics: Sendable, Codable, Equatable {
  /// Uploads that have begun.
  let uploads: Int
  /// Uploads open now.
  let inFlight: Int
  /// The most uploads that were open at once.
  let maximumInFlight: Int
  /// Uploads by what became of them: `analysis`, a class of failure, or `status-401` and the like where the
  /// endpoint itself refused.
  let outcomes: [String: Int]
  /// Different idempotency keys (or pictures, where a request had no key).
  let keys: Int
  /// Tries beyond the first of each key.
  let repeatedTries: Int
  /// Pictures in the cache.
  let images: Int
  /// Accounts there are.
  let accounts: Int
  /// Log-ins that succeeded.
  let logins: Int
  /// Refresh tokens exchanged.
  let refreshes: Int
}
