/// A moment as ISO 8601 writes it: `2025-03-22T12:34:56.789Z`, also with an offset like `+07:00`, also without a
/// fraction, seconds or a zone, of which whoever reads it may require what they need.
public struct WrittenTime: Sendable, Equatable {
  /// The date.
  public let date: CivilDate
  /// Seconds since midnight; the sixtieth second of a leap is the first of the next minute.
  let secondOfDay: Int
  /// Whether the seconds are there.
  public let hasSeconds: Bool
  /// The part of the last second, below one.
  let fraction: Double
  /// Seconds that the zone is ahead of UTC; nil where none is named.
  public let offset: Int?

  /// Reads a time, in which every field has its place and range, and the day is one that the month has; nil for
  /// anything else.
  public init?(_ text: String) {
    var scanner = DateScanner(text)
    guard let date = scanner.date(), scanner.take("T") || scanner.take(" ") || scanner.take("t"),
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

/// Takes a text apart from its beginning, for the fixed forms of dates.
public struct DateScanner {
  private var rest: Substring.UTF8View

  /// Begins with a text.
  public init(_ text: String) {
    rest = text[...].utf8
  }

  /// Whether nothing is left.
  public var isAtEnd: Bool { rest.isEmpty }

  /// Takes an expected text.
  public mutating func take(_ text: String) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// Takes exactly so many decimal digits.
  public mutating func number(digits count: Int) -> Int? {
    var (number, left) = (0, rest)
    for _ in 0..<count {
      guard let digit = left.popFirst(), Self.isDigit(digit) else { return nil }
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
    }
    rest = left
    return number
  }

  /// Takes a fraction's digits, at least one, and returns its value below one.
  mutating func fraction() -> Double? {
    let digits = rest.prefix { Self.isDigit($0) }
    guard !digits.isEmpty else { return nil }
    rest = rest.dropFirst(digits.count)
    return Double("0." + Substring(digits))
  }

  /// Takes one of some texts and returns its index among them.
  public mutating func index(in names: [String]) -> Int? {
    for (index, name) in names.enumerated() where take(name) { return index }
    return nil
  }

  /// Takes `hh:mm:ss`, the sixtieth second of a leap included, and returns the seconds of the day.
  public mutating func timeOfDay() -> Int? {
    guard let (seconds, hasSeconds) = clock(), hasSeconds else { return nil }
    return seconds
  }

  /// Takes `YYYY-MM-DD`, a day that its month has.
  mutating func date() -> CivilDate? {
    guard let year = number(digits: 4), take("-"), let month = number(digits: 2), take("-"),
      let day = number(digits: 2)
    else { return nil }
    return CivilDate(year: year, month: month, day: day)
  }

  /// Takes `hh:mm` or `hh:mm:ss`.
  mutating func clock() -> (secondOfDay: Int, hasSeconds: Bool)? {
    guard let hour = number(digits: 2), hour < 24, take(":"), let minute = number(digits: 2), minute < 60
    else {
      return nil
    }
    guard take(":") else { return (hour * 3600 + minute * 60, false) }
    guard let second = number(digits: 2), second <= 60 else { return nil }
    return (hour * 3600 + minute * 60 + second, true)
  }

  /// Takes `Z` or an offset like `+07:00` and returns its seconds.
  mutating func offset() -> Int? {
    if take("Z") || take("z") { return 0 }
    let isBehind = take("-")
    guard isBehind || take("+"), let hours = number(digits: 2), hours < 24 else { return nil }
    _ = take(":")
    guard let minutes = number(digits: 2), minutes < 60 else { return nil }
    return (isBehind ? -1 : 1) * (hours * 3600 + minutes * 60)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
