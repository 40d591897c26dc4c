/// A moment and how clocks in a zone show it, both as the database computed them.
struct LocalTime: Equatable, Sendable {
  /// Whole seconds since 1970 in UTC.
  let seconds: Int64
  /// What the zone's clocks show, as if it were seconds since 1970 in UTC.
  let local: Int64

  /// A moment and its local time in microseconds, of which the part below a second is dropped.
  init(microseconds: Int64, local localMicroseconds: Int64) {
    seconds = Self.floor(microseconds, 1_000_000)
    local = Self.floor(localMicroseconds, 1_000_000)
  }

  /// The local time with its offset as ISO 8601 has it, for instance `2026-10-01T00:00:00+07:00`. An
  /// offset of odd seconds, as before the age of zones, is shown to the minute.
  var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends that text.
  func append(to bytes: inout [UInt8]) {
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

  /// A moment in UTC, for instance `2026-10-01T00:00:00Z`.
  static func utcText(microseconds: Int64) -> String {
    var bytes: [UInt8] = []
    appendClock(floor(microseconds, 1_000_000), to: &bytes)
    bytes.append(0x5A)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends date and time, for instance `2026-10-01T00:00:00`; a year has at least four digits.
  private static func appendClock(_ seconds: Int64, to bytes: inout [UInt8]) {
    let days = floor(seconds, 86_400)
    let second = seconds - days * 86_400
    let (year, month, day) = date(days)
    if (0..<10_000).contains(year) {
      bytes.append(DigitText.digit(year / 1_000))
      bytes.append(DigitText.digit(year / 100 % 10))
      bytes.append(DigitText.digit(year / 10 % 10))
      bytes.append(DigitText.digit(year % 10))
    } else {
      DigitText.append(year, to: &bytes)
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 15) { text in
      text[0] = 0x2D
      two(month, into: text, at: 1)
      text[3] = 0x2D
      two(day, into: text, at: 4)
      text[6] = 0x54
      two(second / 3600, into: text, at: 7)
      text[9] = 0x3A
      two(second / 60 % 60, into: text, at: 10)
      text[12] = 0x3A
      two(second % 60, into: text, at: 13)
      bytes.append(contentsOf: text)
    }
  }

  /// The date of a number of days since 1970 in the Gregorian calendar, by counting years from 1 March, so
  /// that the leap day is a year's last.
  private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468  // since 1 March of the year 0
    let era = floor(shifted, 146_097)
    let ofEra = shifted - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * march + 2) / 5 + 1
    let month = march < 10 ? march + 3 : march - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }

  /// Two digits of a number below 100.
  private static func two(_ number: Int64, into text: UnsafeMutableBufferPointer<UInt8>, at place: Int) {
    text[place] = DigitText.digit(number / 10)
    text[place + 1] = DigitText.digit(number % 10)
  }
}
