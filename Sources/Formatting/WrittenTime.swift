/// A moment as ISO 8601 writes it: `2025-03-22T12:34:56.789Z`, also with an offset like `+07:00`, also without a
/// fraction, seconds or a zone, of which whoever reads it may require what they need.
public struct WrittenTime: Sendable, Equatable {
  /// The date.
  public let date: CivilDate
  /// Seconds since midnight; the sixtieth second of a leap is the first of the next minute.
  public let secondOfDay: Int
  /// Whether the seconds are there.
  public let hasSeconds: Bool
  /// The part of the last second, below one.
  public let fraction: Double
  /// Seconds that the zone is ahead of UTC; nil where none is named.
  public let offset: Int?

  /// Reads a time, in which every field has its place and range, and the day is one that the month has; nil for
  /// anything else.
  public init?(_ text: String) {
    var scanner = DateScanner(text)
    guard let year = scanner.number(digits: 4), scanner.take("-"), let month = scanner.number(digits: 2),
      scanner.take("-"), let day = scanner.number(digits: 2),
      let date = CivilDate(year: year, month: month, day: day),
      scanner.take("T") || scanner.take(" ") || scanner.take("t"),
      let (ofDay, hasSeconds) = scanner.clock()
    else { return nil }
    var fraction = 0.0
    if hasSeconds, scanner.take(".") || scanner.take(",") {
      guard let read = scanner.fraction() else { return nil }
      fraction = read
    }
    let offset = scanner.offset()
    guard scanner.isAtEnd else { return nil }
    (self.date, secondOfDay, self.hasSeconds) = (date, ofDay, hasSeconds)
    (self.fraction, self.offset) = (fraction, offset)
  }

  /// Seconds since 1970; nil where no zone is named.
  public var secondsSince1970: Double? {
    offset.map { Double(date.number * 86_400 + secondOfDay - $0) + fraction }
  }
}
