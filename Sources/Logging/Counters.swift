import Synchronization

/// The named counters and gauges of a process. Ask for each once and keep it: the look-up takes a lock.
public final class Counters: Sendable {
  /// A number at one moment.
  public struct Reading: Sendable, Equatable {
    /// Whether it only grows.
    public enum Kind: String, Sendable {
      /// It only grows.
      case counter
      /// It goes up and down.
      case gauge
    }

    /// The name it was asked for by.
    public let name: String
    /// Whether it only grows.
    public let kind: Kind
    /// The number.
    public let value: Int
  }

  private struct Named {
    var counters: [String: Counter] = [:]
    var gauges: [String: Gauge] = [:]
  }

  private let named = Mutex(Named())

  /// Makes an empty set.
  public init() {}

  /// The counter of a name, made when first asked for.
  public func counter(_ name: String) -> Counter {
    named.withLock { named in
      if let known = named.counters[name] { return known }
      let made = Counter()
      named.counters[name] = made
      return made
    }
  }

  /// The gauge of a name, made when first asked for.
  public func gauge(_ name: String) -> Gauge {
    named.withLock { named in
      if let known = named.gauges[name] { return known }
      let made = Gauge()
      named.gauges[name] = made
      return made
    }
  }

  /// Every number, by name.
  public func snapshot() -> [Reading] {
    let (counters, gauges) = named.withLock { ($0.counters, $0.gauges) }
    let readings =
      counters.map { Reading(name: $0.key, kind: .counter, value: $0.value.value) }
      + gauges.map { Reading(name: $0.key, kind: .gauge, value: $0.value.value) }
    return readings.sorted { ($0.name, $0.kind.rawValue) < ($1.name, $1.kind.rawValue) }
  }
}
