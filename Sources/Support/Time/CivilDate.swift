/// A day of the proleptic Gregorian calendar: the one place where days become years, months and days, and back.
///
/// Years are counted from March, so that the leap day is the last of its year; 400 years have 146,097 days.
public struct CivilDate: Sendable, Hashable, Codable, Comparable, CustomStringConvertible {
  /// The year; 0 is the one before 1.
  public let year: Int
  /// From 1 to 12.
  public let month: Int
  /// From 1 to 31.
  public let day: Int

  /// The months' names in HTTP, certificates and the like.
  public static let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  /// The weekdays' names in HTTP.
  public static let weekdayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

  /// A day; nil when there is no such month or day.
  public init?(year: Int, month: Int, day: Int) {
    guard (1...12).contains(month), (1...Self.length(ofMonth: month, year: year)).contains(day) else {
      return nil
    }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Reads a day as ISO 8601 writes it, `2026-10-01`; nil for anything else.
  public init?(_ text: String) {
    var scanner = DateScanner(text)
    guard let date = scanner.date(), scanner.isAtEnd else { return nil }
    self = date
  }

  /// The day with a number, counted from 1970-01-01.
  public init(number: Int) {
    let (era, ofEra) = (number + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let fromMarch = (5 * ofYear + 2) / 153
    month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    day = ofYear - (153 * fromMarch + 2) / 5 + 1
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Days since 1970-01-01.
  public var number: Int {
    let (era, yearOfEra) = (month <= 2 ? year - 1 : year).dividedDown(by: 400)
    let ofYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear - 719_468
  }

  /// The day as ISO 8601 writes it: `2026-10-01`.
  public var description: String {
    let year = String(repeating: "0", count: max(0, 4 - String(year).count)) + String(year)
    return "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
  }

  /// Orders days by time.
  public static func < (left: CivilDate, right: CivilDate) -> Bool { left.number < right.number }

  /// 0 is Sunday.
  var weekday: Int { (number + 4).dividedDown(by: 7).rest }

  /// The first day of the month after.
  public var startOfNextMonth: CivilDate {
    // 32 days after the first of a month is always in the next.
    let next = CivilDate(number: number - day + 1 + 32)
    return CivilDate(number: next.number - next.day + 1)
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension BinaryInteger {
  /// The quotient rounded down, and what is left, which is never negative.
  func dividedDown(by divisor: Self) -> (quotient: Self, rest: Self) {
    let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }
}

/// A moment and how clocks in a zone show it, both as the database computed them.
public struct LocalTime: Equatable, Sendable, Codable {
  /// Whole seconds since 1970 in UTC.
  public let seconds: Int64
  /// What the zone's clocks show, as if it were seconds since 1970 in UTC.
  let local: Int64

  /// A moment and its local time in microseconds, of which the part below a second is dropped.
  public init(microseconds: Int64, local localMicroseconds: Int64) {
    seconds = microseconds.dividedDown(by: 1_000_000).quotient
    local = localMicroseconds.dividedDown(by: 1_000_000).quotient
  }

  /// The local time with its offset as ISO 8601 has it, for instance `2026-10-01T00:00:00+07:00`. An
  /// offset of odd seconds, as before the age of zones, is shown to the minute.
  public var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The day that the zone's calendar shows.
  public var date: CivilDate { CivilDate(number: Int(local.dividedDown(by: 86_400).quotient)) }

  /// Seconds since that day's first, as the zone's clocks count them.
  public var secondOfDay: Int { Int(local.dividedDown(by: 86_400).rest) }

  /// As short as it can be read: `2026-10-01` at midnight, else `2026-10-15 14:30`, with seconds where there are some.
  public var short: String {
    let text = text
    let second = secondOfDay
    if second == 0 { return String(text.prefix { $0 != "T" }) }
    let clock = text.dropLast(6).replacing("T", with: " ")
    return String(second % 60 == 0 ? clock.dropLast(3) : clock[...])
  }

  /// Appends that text.
  public func append(to bytes: inout [UInt8]) {
    Self.appendClock(local, to: &bytes)
    let offset = (local - seconds) / 60
    let magnitude = abs(offset)
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 6) { text in
      text[0] = offset < 0 ? 0x2D : 0x2B
      Self.two(magnitude / 60, into: text, at: 1)
      text[3] = 0x3A
      Self.two(magnitude % 60, into: text, at: 4)
      bytes.append(contentsOf: text)
    }
  }

  /// Appends date and time, for instance `2026-10-01T00:00:00`; a year has at least four digits.
  static func appendClock(_ seconds: Int64, to bytes: inout [UInt8]) {
    let (days, second) = seconds.dividedDown(by: 86_400)
    let date = CivilDate(number: Int(days))
    let year = String(date.year.magnitude)
    if date.year < 0 { bytes.append(0x2D) }
    for _ in year.utf8.count..<max(4, year.utf8.count) { bytes.append(0x30) }
    bytes.append(contentsOf: year.utf8)
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 15) { text in
      text[0] = 0x2D
      two(Int64(date.month), into: text, at: 1)
      text[3] = 0x2D
      two(Int64(date.day), into: text, at: 4)
      text[6] = 0x54
      two(second / 3600, into: text, at: 7)
      text[9] = 0x3A
      two(second / 60 % 60, into: text, at: 10)
      text[12] = 0x3A
      two(second % 60, into: text, at: 13)
      bytes.append(contentsOf: text)
    }
  }

  /// Two digits of a number below 100.
  private static func two(_ number: Int64, into text: UnsafeMutableBufferPointer<UInt8>, at index: Int) {
    text[index] = UInt8(truncatingIfNeeded: number / 10) + 0x30
    text[index + 1] = UInt8(truncatingIfNeeded: number % 10) + 0x30
  }
}

/// Lengths of time as numbers: the one place where they are taken apart.
extension Duration {
  /// Seconds with their fraction.
  public var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

  /// Whole milliseconds, rounded towards zero and bounded by what the number can hold.
  public var milliseconds: Int64 { whole(1_000) }

  /// Whole milliseconds, rounded up, so that a wait of so many is never too short.
  public var millisecondsRoundedUp: Int64 {
    let whole = milliseconds
    return whole < .max && self > .milliseconds(whole) ? whole + 1 : whole
  }

  /// Whole microseconds, rounded towards zero and bounded by what the number can hold.
  var microseconds: Int64 { whole(1_000_000) }

  /// Whole nanoseconds, rounded towards zero and bounded by what the number can hold.
  var nanoseconds: Int64 { whole(1_000_000_000) }

  private func whole(_ parts: Int64) -> Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: parts)
    let (sum, carried) = whole.addingReportingOverflow(attoseconds / (1_000_000_000_000_000_000 / parts))
    return overflow || carried ? (seconds < 0 ? .min : .max) : sum
  }
}
