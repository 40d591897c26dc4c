/// A decimal number as it is written: `0.50`, `-12.00`. An amount of money passes through the program as these digits,
/// since a binary number would round it.
public struct DecimalText: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The digits.
  public let description: String

  /// Takes a number as PostgreSQL's `numeric` writes it: a sign where it is negative, digits, and digits after a point
  /// or no point; nil for anything else.
  public init?(_ text: String) {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count),
      parts.allSatisfy({
        !$0.isEmpty && $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      })
    else { return nil }
    description = text
  }

  /// How many digits stand behind the point.
  public var fractionDigits: Int {
    description.utf8.lastIndex(of: UInt8(ascii: ".")).map { point in
      description.utf8.distance(from: point, to: description.utf8.endIndex) - 1
    } ?? 0
  }

  /// The nearest binary number, for a spreadsheet's cell; nil where that would not show the same digits again.
  public var double: Double? {
    // 15 decimal digits always come back out of a Double as they went in.
    let significant = description.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".") }
      .drop { $0 == UInt8(ascii: "0") }
    return significant.count <= 15 ? Double(description) : nil
  }
}
