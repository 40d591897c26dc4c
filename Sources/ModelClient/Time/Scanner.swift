/// Takes a text apart from its beginning, for the fixed forms of dates.
struct Scanner {
  private var rest: Substring.UTF8View

  init(_ text: String) {
    rest = text[...].utf8
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Takes an expected text.
  mutating func take(_ text: String) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// Takes exactly so many decimal digits.
  mutating func number(digits count: Int) -> Int? {
    let digits = rest.prefix(count)
    guard digits.count == count, digits.allSatisfy(Self.isDigit) else { return nil }
    rest = rest.dropFirst(count)
    return Int(Substring(digits))
  }

  /// Takes a fraction's digits, at least one, and returns its value below one.
  mutating func fraction() -> Double? {
    let digits = rest.prefix { Self.isDigit($0) }
    guard !digits.isEmpty else { return nil }
    rest = rest.dropFirst(digits.count)
    return Double("0." + Substring(digits))
  }

  /// Takes one of some texts and returns its place among them.
  mutating func index(in names: [String]) -> Int? {
    for (index, name) in names.enumerated() where take(name) { return index }
    return nil
  }

  /// Takes `hh:mm:ss`, the sixtieth second of a leap included, and returns the seconds of the day.
  mutating func timeOfDay() -> Int? {
    guard let hour = number(digits: 2), hour < 24, take(":"), let minute = number(digits: 2), minute < 60,
      take(":"), let second = number(digits: 2), second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
