/// Lengths of time as people type them: `250ms`, `30s`, `1h30m`, `7d`.
extension Duration {
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  /// Reads one; nil for anything else. A bare number is none: whether seconds or milliseconds were meant is not ours to
  /// guess. One that no number holds is the longest there is.
  public init?(written text: String) {
    var rest = text[...]
    var total: Int64 = 0
    var smallest = Int64.max
    repeat {
      let digits = rest.prefix { ("0"..."9").contains($0) }
      rest = rest.dropFirst(digits.count)
      let suffix = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest.dropFirst(suffix.count)
      guard !digits.isEmpty, let unit = Self.units.first(where: { $0.suffix == suffix }),
        unit.milliseconds < smallest
      else { return nil }
      smallest = unit.milliseconds
      let (part, overflow) = (Int64(digits) ?? .max).multipliedReportingOverflow(by: unit.milliseconds)
      let (sum, carried) = total.addingReportingOverflow(overflow ? .max : part)
      total = carried ? .max : sum
    } while !rest.isEmpty
    self = .milliseconds(total)
  }

  /// As people type it.
  public var written: String {
    var rest = milliseconds
    guard rest > 0 else { return "0s" }
    var parts = ""
    for unit in Self.units where rest >= unit.milliseconds {
      parts += "\(rest / unit.milliseconds)\(unit.suffix)"
      rest %= unit.milliseconds
    }
    return parts
  }
}
