import Support

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
