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
    let offset = (local - seconds) / 60
    let magnitude = abs(offset)
    return Self.clock(local)
      + (offset < 0 ? "-" : "+") + Self.two(magnitude / 60) + ":" + Self.two(magnitude % 60)
  }

  /// A moment in UTC, for instance `2026-10-01T00:00:00Z`.
  static func utcText(microseconds: Int64) -> String {
    clock(floor(microseconds, 1_000_000)) + "Z"
  }

  private static func clock(_ seconds: Int64) -> String {
    let days = floor(seconds, 86_400)
    let second = seconds - days * 86_400
    let (year, month, day) = date(days)
    return "\(four(year))-\(two(month))-\(two(day))T"
      + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60))"
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

  private static func two(_ number: Int64) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  private static func four(_ number: Int64) -> String {
    String(repeating: "0", count: max(0, 4 - String(number).count)) + String(number)
  }
}
