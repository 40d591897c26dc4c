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
  public let help: String

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
  /// What it is.
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
    /// A number.
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
