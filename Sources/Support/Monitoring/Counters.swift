import Synchronization

/// The named counters, gauges and histograms of a process. Ask for each once and keep it: the look-up takes a lock.
public final class Counters: Sendable {
  private struct Named {
    var counters: [String: Counter] = [:]
    var gauges: [String: Gauge] = [:]
    var labelled: [String: LabelledCounter] = [:]
    var histograms: [String: Histogram] = [:]
  }

  private let named = Mutex(Named())

  /// Makes an empty set.
  public init() {}

  /// The counter of a name, made when first asked for.
  public func counter(_ name: String) -> Counter { known(name, \.counters, or: Counter()) }

  /// The gauge of a name, made when first asked for.
  public func gauge(_ name: String) -> Gauge { known(name, \.gauges, or: Gauge()) }

  /// The counters of a name, one for each value of a label, made when first asked for.
  public func labelled(_ name: String) -> LabelledCounter { known(name, \.labelled, or: LabelledCounter()) }

  /// The histogram of a name, made when first asked for.
  public func histogram(_ name: String) -> Histogram { known(name, \.histograms, or: Histogram()) }

  private func known<Meter: Sendable>(
    _ name: String, _ meters: any WritableKeyPath<Named, [String: Meter]> & Sendable,
    or make: @autoclosure () -> Meter
  ) -> Meter {
    named.withLock { named in
      if let known = named[keyPath: meters][name] { return known }
      let made = make()
      named[keyPath: meters][name] = made
      return made
    }
  }
}

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

/// A number that goes up and down, such as the jobs in flight.
public final class Gauge: Sendable {
  private let level = Atomic<Int>(0)

  /// Makes one that no set of counters names.
  public init() {}

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
