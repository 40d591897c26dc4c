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
