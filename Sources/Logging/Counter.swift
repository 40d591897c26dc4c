import Synchronization

/// A number that only grows. Cheap enough for every job: one atomic addition.
public final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  /// Makes one that no set of counters names.
  public init() {}

  /// Counts some more; a negative number is ignored.
  public func add(_ number: Int = 1) {
    guard number > 0 else { return }
    count.wrappingAdd(number, ordering: .relaxed)
  }

  /// The count so far.
  public var value: Int { count.load(ordering: .relaxed) }
}
