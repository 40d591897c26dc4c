public import FoundationEssentials
import Support

extension ValueFormat where Value == Duration {
  /// A length of time with its unit: `250ms`, `30s`, `5m`, `2h`, `7d`; parts may be joined: `1h30m`.
  public static var duration: Self { duration(in: .zero ... .seconds(Int64(Int32.max))) }

  /// A length of time within a range.
  public static func duration(in range: ClosedRange<Duration>) -> Self {
    ValueFormat(
      name: "DURATION",
      parse: { (given: String) throws(ValueError) -> Duration in
        let value = try DurationText.parse(given)
        guard range.contains(value) else {
          let low = DurationText.text(range.lowerBound)
          throw ValueError("is outside the range \(low) to \(DurationText.text(range.upperBound))")
        }
        return value
      },
      text: DurationText.text)
  }
}

/// Lengths of time as people type them. A bare number is refused: whether seconds or milliseconds were
/// meant is not ours to guess.
enum DurationText {
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]
  private static let complaint =
    "is not a length of time; write a number with its unit, for example 250ms, 30s or 5m"

  static func parse(_ text: String) throws(ValueError) -> Duration {
    var rest = text[...]
    var total: Int64 = 0
    var smallest = Int64.max
    repeat {
      let digits = rest.prefix { ("0"..."9").contains($0) }
      rest = rest.dropFirst(digits.count)
      let suffix = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest.dropFirst(suffix.count)
      guard let count = Int64(digits), let unit = units.first(where: { $0.suffix == suffix }),
        unit.milliseconds < smallest
      else { throw ValueError(complaint) }
      smallest = unit.milliseconds
      let (part, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
      let (sum, carried) = total.addingReportingOverflow(part)
      guard !overflow, !carried else { throw ValueError("is too long") }
      total = sum
    } while !rest.isEmpty
    return .milliseconds(total)
  }

  @Sendable static func text(_ duration: Duration) -> String {
    var rest = duration.milliseconds
    guard rest > 0 else { return "0s" }
    var parts = ""
    for unit in units where rest >= unit.milliseconds {
      parts += "\(rest / unit.milliseconds)\(unit.suffix)"
      rest %= unit.milliseconds
    }
    return parts
  }
}

extension ValueFormat where Value == Date {
  /// A moment in ISO 8601 with its zone: `2026-10-01T08:00:00Z`, `2026-10-01T08:00:00.250+07:00`.
  /// A text without a zone is refused, because a month's bill may hang on it.
  public static var time: Self {
    ValueFormat(
      name: "TIME",
      parse: { (given: String) throws(ValueError) -> Date in
        guard let time = WrittenTime(given), time.date.year >= 1970 else {
          throw ValueError(
            "is not a time; write it as 2026-10-01T08:00:00Z, or with an offset such as +07:00 for the Z")
        }
        guard let seconds = time.secondsSince1970 else {
          throw ValueError("has no zone; add Z for UTC or an offset such as +07:00")
        }
        return Date(timeIntervalSince1970: seconds)
      },
      text: { $0.formatted(.iso8601) })
  }
}
