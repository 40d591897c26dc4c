import Synchronization

/// What the worker has come to last, by the number of calls in flight.
///
/// The endpoint alone, which runs next in the same round, is set against it: on a machine whose pace drifts, the
/// ratio of two neighbours says more than that of two medians.
final class WorkerRates: Sendable {
  private let rates = Mutex<[Int: Double]>([:])

  /// Notes jobs a second.
  func note(_ rate: Double, inFlight: Int) { rates.withLock { $0[inFlight] = rate } }

  /// How much the worker made of what the endpoint alone gives, in percent; nil when no worker has run.
  func percent(of limit: Double, inFlight: Int) -> Double? {
    guard limit > 0 else { return nil }
    return rates.withLock { $0[inFlight] }.map { $0 / limit * 100 }
  }
}
