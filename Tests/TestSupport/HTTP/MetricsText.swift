/// A text of metrics as a test looks at it.
public struct MetricsText: Sendable {
  /// The values by their name with its labels, as they are written: `up{job="a"}`.
  public let values: [String: Double]
  /// The names, of a histogram without its endings.
  public let names: Set<String>

  /// Reads a text; what is no line of it is left out.
  public init(_ text: String) {
    var values: [String: Double] = [:]
    var names: Set<String> = []
    for line in text.split(separator: "\n") {
      if line.hasPrefix("# TYPE ") { names.insert(String(line.split(separator: " ")[2])) }
      guard !line.hasPrefix("#"), let blank = line.lastIndex(of: " ") else { continue }
      values[String(line[..<blank])] = Double(line[line.index(after: blank)...])
    }
    self.values = values
    self.names = names
  }

  /// The value of a name with its labels.
  public subscript(_ name: String) -> Double? { values[name] }
}
