/// A calendar month in which jobs are counted, as the label that a job carries from its submit on.
///
/// Which moments it holds depends on the user's billing zone and is the database's to compute; here it
/// is only a label.
public struct Period: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
  /// Year times twelve plus the month, counted from zero: 2026-11 is 24322.
  public let label: Int16

  /// The month with a label; nil outside the years 2000 to 2700.
  public init?(label: Int16) {
    guard (2000 * 12..<2700 * 12).contains(Int(label)) else { return nil }
    self.label = label
  }

  /// The month of a year; nil when the month is not from 1 to 12 or the year not from 2000 to 2699.
  public init?(year: Int, month: Int) {
    guard (1...12).contains(month), (2000..<2700).contains(year) else { return nil }
    self.init(label: Int16(year * 12 + month - 1))
  }

  /// Reads `YYYY-MM`; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 4, parts[1].count == 2,
      parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }),
      let year = Int(parts[0]), let month = Int(parts[1])
    else { return nil }
    self.init(year: year, month: month)
  }

  /// The year.
  public var year: Int { Int(label) / 12 }

  /// The month, from 1 to 12.
  public var month: Int { Int(label) % 12 + 1 }

  /// The month after this; nil at the end of the years that are known.
  public var next: Period? { Period(label: label + 1) }

  /// The month before this; nil at the beginning of the years that are known.
  public var previous: Period? { Period(label: label - 1) }

  /// The month as `YYYY-MM`.
  public var description: String {
    "\(year)-\(month < 10 ? "0" : "")\(month)"
  }

  /// Orders months by time.
  public static func < (left: Period, right: Period) -> Bool {
    left.label < right.label
  }
}
