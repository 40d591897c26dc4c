import Synchronization

/// A metric as it is documented: its name, its type, its labels and what it means.
public struct MetricDefinition: Sendable, Equatable {
  /// The types of Prometheus that are used.
  public enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  /// Its name, by Prometheus' rules: units at the end, counters end in `_total`.
  public let name: String
  /// Its type.
  public let kind: Kind
  /// The names of its labels. None ever names a user.
  public let labels: [String]
  /// What it says, in a sentence without an end.
  let help: String

  /// Defines a metric.
  public init(_ name: String, _ kind: Kind, labels: [String] = [], help: String) {
    self.name = name
    self.kind = kind
    self.labels = labels
    self.help = help
  }

  /// The metric with one value and no label.
  public func value(_ value: Double?) -> MetricFamily {
    MetricFamily(self, value.map { [MetricSample([], $0)] } ?? [])
  }

  /// The metric with one value and no label.
  public func value(_ value: some BinaryInteger) -> MetricFamily { self.value(Double(value)) }

  /// The metric with a value for each value of its one label, in their order.
  public func values(_ values: [String: Int]) -> MetricFamily {
    MetricFamily(self, values.sorted { $0.key < $1.key }.map { MetricSample([$0.key], Double($0.value)) })
  }
}

/// A metric with its present values.
public struct MetricFamily: Sendable {
  /// What it measures.
  public let definition: MetricDefinition
  /// Its values.
  public let samples: [MetricSample]

  /// A metric with its values; without any it is not shown.
  public init(_ definition: MetricDefinition, _ samples: [MetricSample]) {
    self.definition = definition
    self.samples = samples
  }
}

/// One value of a metric.
public struct MetricSample: Sendable {
  /// What there is to be said.
  public enum Value: Sendable {
    case number(Double)
    /// What a histogram holds.
    case histogram(Histogram.Reading)
  }

  /// The values of the labels, in the order of their names; an empty one is as if there were no such label.
  public let labels: [String]
  /// Its value.
  public let value: Value

  /// A number under its labels.
  public init(_ labels: [String], _ number: Double) {
    self.labels = labels
    value = .number(number)
  }

  /// A histogram under its labels.
  public init(_ labels: [String], _ reading: Histogram.Reading) {
    self.labels = labels
    value = .histogram(reading)
  }
}

/// Prometheus' text format, version 0.0.4.
public enum Exposition {
  /// The type by which a server announces it.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// The text of metrics.
  public static func text(_ families: [MetricFamily]) -> String {
    var text = ""
    for family in families where !family.samples.isEmpty {
      let definition = family.definition
      text +=
        "# HELP \(definition.name) \(definition.help).\n# TYPE \(definition.name) \(definition.kind.rawValue)\n"
      for sample in family.samples { append(sample, of: definition, to: &text) }
    }
    return text
  }

  private static func append(_ sample: MetricSample, of definition: MetricDefinition, to text: inout String) {
    let labels = zip(definition.labels, sample.labels).filter { !$1.isEmpty }.map {
      "\($0)=\"\(escaped($1))\""
    }
    let name = definition.name
    switch sample.value {
    case .number(let number): text += "\(name)\(braced(labels)) \(written(number))\n"
    case .histogram(let reading):
      for (bound, count) in zip(Histogram.bounds, reading.cumulative) {
        text += "\(name)_bucket\(braced(labels + ["le=\"\(written(bound))\""])) \(count)\n"
      }
      text += "\(name)_bucket\(braced(labels + ["le=\"+Inf\""])) \(reading.count)\n"
      text += "\(name)_sum\(braced(labels)) \(written(reading.sum))\n"
      text += "\(name)_count\(braced(labels)) \(reading.count)\n"
    }
  }

  private static func braced(_ labels: [String]) -> String {
    labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
  }

  /// A whole number without a fraction, as people read it.
  private static func written(_ number: Double) -> String {
    Int64(exactly: number).map(String.init) ?? "\(number)"
  }

  /// A label's value: what could end it or its line is escaped.
  private static func escaped(_ value: String) -> String {
    var escaped = ""
    for character in value.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}

/// How long something took, each time, by bounds.
///
/// Cheap enough for every job: a short search and a lock that hardly anybody else wants.
public final class Histogram: Sendable {
  /// What was observed so far.
  public struct Reading: Sendable, Equatable {
    /// How many were at most as long as each bound, in the order of the bounds.
    var cumulative: [Int]
    /// How many there were.
    public var count: Int
    /// Seconds of all of them together.
    public var sum: Double
  }

  private struct State {
    /// The last is for what is above all bounds.
    var counts = [Int](repeating: 0, count: Histogram.bounds.count + 1)
    var nanoseconds: Int64 = 0
  }

  /// The bounds, in seconds: from a statement on the same machine to a call that uses all of its time.
  static let bounds: [Double] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
  ]
  private static let nanosecondBounds = bounds.map { Int64($0 * 1e9) }

  private let state = Mutex(State())

  /// Makes one that no set of counters names.
  public init() {}

  /// Takes note of one; a negative length is none.
  public func observe(_ duration: Duration) {
    let nanoseconds = max(0, duration.nanoseconds)
    let bounds = Self.nanosecondBounds
    var index = 0
    while index < bounds.count, nanoseconds > bounds[index] { index += 1 }
    state.withLock { state in
      state.counts[index] += 1
      state.nanoseconds &+= nanoseconds
    }
  }

  /// What was observed so far, all of one moment.
  public var reading: Reading {
    let (counts, nanoseconds) = state.withLock { ($0.counts, $0.nanoseconds) }
    var sum = 0
    let cumulative = counts.map { count in
      sum += count
      return sum
    }
    return Reading(cumulative: Array(cumulative.dropLast()), count: sum, sum: Double(nanoseconds) / 1e9)
  }
}

/// Counts by a label's value: answers by their status, refusals by their reason.
///
/// There are few values: one more than `most` is counted as `other`, so that nobody can fill the memory or a
/// monitoring's store by making up new ones.
public final class LabelledCounter: Sendable {
  /// How many values are counted apart.
  static let most = 64

  private let counts = Mutex<[String: Int]>([:])

  /// Makes one that no set of counters names.
  public init() {}

  /// Counts one more of a value.
  public func add(_ value: String) {
    counts.withLock { counts in
      let isRoom = counts[value] != nil || counts.count < Self.most
      counts[isRoom ? value : "other", default: 0] += 1
    }
  }

  /// The counts so far, by value.
  public var values: [String: Int] { counts.withLock { $0 } }
}

/// Whether a program can do its work now, with the state of all that it depends on.
public struct ServiceReadiness: Sendable, Equatable {
  /// Whether it can.
  public let isReady: Bool
  /// What it says of each dependency.
  public let facts: JSONValue

  /// An answer with its facts, an object.
  public init(isReady: Bool, _ facts: [JSONValue.Member]) {
    self.isReady = isReady
    self.facts = .object([JSONValue.Member(name: "ready", value: .bool(isReady))] + facts)
  }
}
