/// Reads a moment of ISO 8601 strictly: every field in its place and range, the day one that the month has.
struct MomentReader {
  private var rest: Substring.UTF8View
  private static let complaint =
    "is not a time; write it as 2026-10-01T08:00:00Z, or with an offset such as +07:00 for the Z"

  init(_ text: String) {
    rest = text[...].utf8
  }

  mutating func secondsSince1970() throws(ValueError) -> Double {
    let year = try number(4, 1970...9999)
    try expect("-")
    let month = try number(2, 1...12)
    try expect("-")
    let day = try number(2, 1...Self.days(in: month, of: year))
    try expect("T ")
    let hour = try number(2, 0...23)
    try expect(":")
    let minute = try number(2, 0...59)
    var second = 0
    var fraction = 0.0
    if take(":") {
      second = try number(2, 0...59)
      if take(".") { fraction = try self.fraction() }
    }
    guard !rest.isEmpty else {
      throw ValueError("has no zone; add Z for UTC or an offset such as +07:00")
    }
    let offset = try zoneOffset()
    guard rest.isEmpty else { throw ValueError(Self.complaint) }
    let whole = Self.dayNumber(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    return Double(whole) + fraction
  }

  /// Seconds to take away to come to UTC.
  private mutating func zoneOffset() throws(ValueError) -> Int {
    if take("Zz") { return 0 }
    let isNegative = rest.first == UInt8(ascii: "-")
    try expect("+-")
    let hours = try number(2, 0...23)
    _ = take(":")
    let minutes = try number(2, 0...59)
    return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
  }

  private mutating func fraction() throws(ValueError) -> Double {
    let digits = rest.prefix { (48...57).contains($0) }
    guard (1...9).contains(digits.count), let value = Double("0." + String(Substring(digits))) else {
      throw ValueError(Self.complaint)
    }
    rest = rest.dropFirst(digits.count)
    return value
  }

  private mutating func number(_ count: Int, _ range: ClosedRange<Int>) throws(ValueError) -> Int {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }),
      let value = Int(Substring(digits)), range.contains(value)
    else { throw ValueError(Self.complaint) }
    rest = rest.dropFirst(count)
    return value
  }

  private mutating func expect(_ characters: String) throws(ValueError) {
    guard take(characters) else { throw ValueError(Self.complaint) }
  }

  private mutating func take(_ characters: String) -> Bool {
    guard let first = rest.first, characters.utf8.contains(first) else { return false }
    rest = rest.dropFirst()
    return true
  }

  private static func days(in month: Int, of year: Int) -> Int {
    let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  }

  /// Days from 1 January 1970 in the proleptic Gregorian calendar; years are counted from March, so that
  /// the leap day is the last of its year.
  private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
