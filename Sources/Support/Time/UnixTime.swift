import Glibc

/// A moment as the system's clock gives it.
public struct UnixTime: Sendable, Hashable, Comparable {
  /// Since 1970-01-01T00:00:00Z.
  public let seconds: Int64
  /// 0 to 999,999,999, after `seconds`.
  let nanoseconds: Int32

  /// Makes a moment.
  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// A moment by a number of seconds, to the microsecond (a double holds no more of today's times) and within the
  /// years 1 to 9999.
  public init(secondsSince1970 time: Double) {
    let bounded = min(253_402_300_799, max(-62_135_596_800, time))
    let (seconds, microseconds) = Int64((bounded * 1_000_000).rounded()).dividedDown(by: 1_000_000)
    self.init(seconds: seconds, nanoseconds: Int32(microseconds) * 1000)
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

  /// Seconds and their fraction.
  public var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

  /// Its day in UTC.
  public var date: CivilDate { CivilDate(number: Int(seconds.dividedDown(by: 86_400).quotient)) }

  /// `2026-10-01T08:00:00.250Z`: RFC 3339 in UTC with milliseconds.
  public var rfc3339: String {
    let milliseconds = String(nanoseconds / 1_000_000)
    return "\(clock).\(String(repeating: "0", count: 3 - milliseconds.count))\(milliseconds)Z"
  }

  /// `2026-10-01T08:00:00Z`: RFC 3339 in UTC without a fraction.
  public var rfc3339Seconds: String { clock + "Z" }

  /// `Thu, 01 Oct 2026 08:00:00 GMT`, the form of HTTP's headers.
  public var httpDate: String {
    let (text, date) = (clock, date)
    let (weekday, month) = (CivilDate.weekdayNames[date.weekday], CivilDate.monthNames[date.month - 1])
    return "\(weekday), \(text.dropLast(9).suffix(2)) \(month) \(text.dropLast(15)) \(text.suffix(8)) GMT"
  }

  private var clock: String {
    var bytes: [UInt8] = []
    LocalTime.appendClock(seconds, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// How moments and lengths of time are shown.
public enum Moment {
  /// The years 1 to 9999; outside there is no RFC 3339.
  private static let writable = -62_135_596_800.0..<253_402_300_800.0

  /// `2026-10-01T08:00:00.250Z`; nil for the infinities.
  public static func exact(_ seconds: Double) -> String? {
    guard writable.contains(seconds) else { return nil }
    return UnixTime(secondsSince1970: seconds).rfc3339
  }

  /// `2026-10-01 08:00:00Z`, or an empty text.
  public static func short(_ seconds: Double?) -> String {
    guard let text = seconds.flatMap(exact) else { return "" }
    return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + "Z"
  }

  /// `3 s`, `12 min`, `5 h`, `2 d`: the largest unit of which there are at least two, rounded down.
  public static func age(_ seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, abs(seconds) < 1e15 else { return "" }
    let whole = max(0, Int(seconds))
    for (unit, length) in [("d", 86_400), ("h", 3_600), ("min", 60)] where whole >= 2 * length {
      return "\(whole / length) \(unit)"
    }
    return "\(whole) s"
  }
}
