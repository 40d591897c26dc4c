import Support

/// Reads the times that the endpoint sends.
enum AnswerTime {
  /// From 1970 up to the end of the year 9999; milliseconds taken for seconds lie far beyond it.
  private static let range = 0.0..<253_402_300_800.0

  /// Reads a text (ISO 8601 with its zone, with or without a fraction) or a number (seconds since 1970).
  ///
  /// Anything else is nil, never the present time.
  static func read(_ value: JSONPart) -> Double? {
    guard let time = value.number ?? value.text.flatMap(iso8601), range.contains(time) else { return nil }
    return time
  }

  /// A text with its seconds and its zone.
  static func iso8601(_ text: String) -> Double? {
    guard let time = WrittenTime(text), time.hasSeconds else { return nil }
    return time.secondsSince1970
  }
}

/// When a certificate ends, as TLS libraries write it: `Nov  1 12:00:00 2026 GMT` or `2026-11-01 12:00:00 GMT`.
enum CertificateDate {
  /// Seconds since 1970; nil for anything else.
  static func seconds(_ text: String) -> Double? {
    if let date = isoDate(text) { return date }
    guard text.hasSuffix(" GMT") else { return nil }
    // With any day of the week before it, and without the zone, it is a date of HTTP's third form.
    return RetryAfter.date("Sun \(text.dropLast(4))", now: 0)
  }

  private static func isoDate(_ text: String) -> Double? {
    var scanner = DateScanner(text)
    guard let year = scanner.number(digits: 4), scanner.take("-"), let month = scanner.number(digits: 2),
      scanner.take("-"), let day = scanner.number(digits: 2), scanner.take(" "),
      let time = scanner.timeOfDay(), scanner.take(" GMT"), scanner.isAtEnd,
      let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    return Double(date.number * 86_400 + time)
  }
}

/// The `Retry-After` header: seconds, or a date in one of HTTP's three forms (RFC 9110).
package enum RetryAfter {
  /// Seconds from now; nil for anything that is neither. A date that has passed is zero.
  package static func seconds(_ text: String, now: Double) -> Double? {
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return Double(text)  // any number of digits: clamped by whoever asks
    }
    guard let date = date(text, now: now) else { return nil }
    return max(0, date - now)
  }

  private static let months = CivilDate.monthNames
  private static let days = CivilDate.weekdayNames
  private static let longDays = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]

  static func date(_ text: String, now: Double) -> Double? {
    internetDate(text) ?? oldDate(text, now: now) ?? cDate(text)
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`.
  private static func internetDate(_ text: String) -> Double? {
    var scanner = DateScanner(text)
    guard scanner.index(in: days) != nil, scanner.take(", "), let day = scanner.number(digits: 2),
      scanner.take(" "), let month = scanner.index(in: months), scanner.take(" "),
      let year = scanner.number(digits: 4), scanner.take(" ")
    else { return nil }
    return finish(&scanner, year, month, day, " GMT")
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`; a year that seems more than 50 years ahead is of the century before.
  private static func oldDate(_ text: String, now: Double) -> Double? {
    var scanner = DateScanner(text)
    guard scanner.index(in: longDays) != nil, scanner.take(", "), let day = scanner.number(digits: 2),
      scanner.take("-"), let month = scanner.index(in: months), scanner.take("-"),
      let short = scanner.number(digits: 2), scanner.take(" ")
    else { return nil }
    let present = 1970 + Int(now / 31_556_952)  // the mean length of a year in seconds
    let year = present - present % 100 + short
    return finish(&scanner, year > present + 50 ? year - 100 : year, month, day, " GMT")
  }

  /// `Sun Nov  6 08:49:37 1994`.
  private static func cDate(_ text: String) -> Double? {
    var scanner = DateScanner(text)
    guard scanner.index(in: days) != nil, scanner.take(" "), let month = scanner.index(in: months),
      scanner.take(" "),
      let day = scanner.number(digits: 2) ?? (scanner.take(" ") ? scanner.number(digits: 1) : nil),
      scanner.take(" "), let time = scanner.timeOfDay(), scanner.take(" "),
      let year = scanner.number(digits: 4), scanner.isAtEnd,
      let date = CivilDate(year: year, month: month + 1, day: day)
    else { return nil }
    return Double(date.number * 86_400 + time)
  }

  private static func finish(
    _ scanner: inout DateScanner, _ year: Int, _ month: Int, _ day: Int, _ end: String
  ) -> Double? {
    guard let time = scanner.timeOfDay(), scanner.take(end), scanner.isAtEnd,
      let date = CivilDate(year: year, month: month + 1, day: day)
    else { return nil }
    return Double(date.number * 86_400 + time)
  }
}

/// Where the client reads the time, so that tests can set it.
public struct WallClock: Sendable {
  /// Seconds since 1970.
  public var now: @Sendable () -> Double
  /// The clock for pauses, which never jumps.
  var monotonic: @Sendable () -> ContinuousClock.Instant

  /// A clock of the caller's.
  init(
    now: @escaping @Sendable () -> Double, monotonic: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    self.now = now
    self.monotonic = monotonic
  }

  /// The machine's clocks.
  public static let system = WallClock(
    now: { UnixTime.now.secondsSince1970 },
    monotonic: { ContinuousClock.now })
}
