import Formatting

/// Reads the times that the backend sends.
enum Timestamp {
  /// From 1970 up to the end of the year 9999; milliseconds taken for seconds lie far beyond it.
  private static let range = 0.0..<253_402_300_800.0

  /// Reads a text (ISO 8601 with its zone, with or without a fraction) or a number (seconds since 1970).
  ///
  /// Anything else is nil, never the present time.
  static func read(_ value: JSONValue) -> Double? {
    let time: Double? =
      switch value {
      case .string(let text): iso8601(text)
      case .number(let number): number
      default: nil
      }
    guard let time, range.contains(time) else { return nil }
    return time
  }

  /// Reads `2025-03-22T12:34:56.789Z`, also with an offset like `+07:00`, also without the fraction.
  static func iso8601(_ text: String) -> Double? {
    var scanner = Scanner(text)
    guard let year = scanner.number(digits: 4), scanner.take("-"), let month = scanner.number(digits: 2),
      scanner.take("-"), let day = scanner.number(digits: 2),
      let days = CivilDate.days(year: year, month: month, day: day),
      scanner.take("T") || scanner.take(" ") || scanner.take("t"), let ofDay = scanner.timeOfDay()
    else { return nil }
    var fraction = 0.0
    if scanner.take(".") || scanner.take(",") {
      guard let read = scanner.fraction() else { return nil }
      fraction = read
    }
    guard let offset = offset(&scanner), scanner.isAtEnd else { return nil }
    return Double(days * 86_400 + ofDay - offset) + fraction
  }

  private static func offset(_ scanner: inout Scanner) -> Int? {
    if scanner.take("Z") || scanner.take("z") { return 0 }
    let sign: Int
    if scanner.take("+") { sign = 1 } else if scanner.take("-") { sign = -1 } else { return nil }
    guard let hours = scanner.number(digits: 2), hours < 24 else { return nil }
    _ = scanner.take(":")
    guard let minutes = scanner.number(digits: 2), minutes < 60 else { return nil }
    return sign * (hours * 3600 + minutes * 60)
  }
}
