import Glibc

/// A moment as the system's clock gives it.
public struct UnixTime: Sendable, Hashable, Comparable {
  /// Since 1970-01-01T00:00:00Z.
  public let seconds: Int64
  /// 0 to 999,999,999, after `seconds`.
  public let nanoseconds: Int32

  /// Makes a moment.
  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The present moment by the system's clock.
  public static var now: UnixTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return UnixTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }

  /// The earlier first.
  public static func < (left: UnixTime, right: UnixTime) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }

  /// `2026-10-01T08:00:00.250Z`: RFC 3339 in UTC with milliseconds.
  public var rfc3339: String {
    let (days, ofDay) = Self.floorDivide(seconds, 86400)
    let date = Self.civil(days)
    let milliseconds = Int64(nanoseconds / 1_000_000)
    return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
      + "T\(padded(ofDay / 3600, 2)):\(padded(ofDay / 60 % 60, 2)):\(padded(ofDay % 60, 2))"
      + ".\(padded(milliseconds, 3))Z"
  }

  /// Year, month and day of a day number in the proleptic Gregorian calendar. Years are counted from March,
  /// so that the leap day is the last of its year; 400 years have 146,097 days.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, ofEra) = floorDivide(days + 719_468, 146_097)
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let fromMarch = (5 * ofYear + 2) / 153
    let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * fromMarch + 2) / 5 + 1)
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, rest: Int64) {
    let rest = value % divisor
    return rest < 0 ? (value / divisor - 1, rest + divisor) : (value / divisor, rest)
  }
}

private func padded(_ number: Int64, _ width: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
