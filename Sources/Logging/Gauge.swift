import Synchronization

/// A number that goes up and down, such as the jobs in flight.
public final class Gauge: Sendable {
  private let level = Atomic<Int>(0)

  /// States the number.
  public func set(_ number: Int) {
    level.store(number, ordering: .relaxed)
  }

  /// Adds to the number, or takes from it.
  public func add(_ number: Int) {
    level.wrappingAdd(number, ordering: .relaxed)
  }

  /// The present number.
  public var value: Int { level.load(ordering: .relaxed) }
}
