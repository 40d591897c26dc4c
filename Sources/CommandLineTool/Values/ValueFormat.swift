public import FoundationEssentials
import Support

/// How a text on the command line, in the environment or in a configuration file becomes a value.
public struct ValueFormat<Value: Sendable>: Sendable {
  /// What stands for the value in help: `N`, `DURATION`.
  public let name: String
  /// What a shell may offer while the value is typed.
  let completion: CompletionHint
  /// Reads a text; the error says what is wrong with it.
  public let parse: @Sendable (String) throws(ValueError) -> Value
  /// Writes a value the way it would be typed; shown in help as the default.
  public let text: @Sendable (Value) -> String

  /// Makes a format of your own.
  public init(
    name: String,
    completion: CompletionHint = .none,
    parse: @escaping @Sendable (String) throws(ValueError) -> Value,
    text: @escaping @Sendable (Value) -> String
  ) {
    self.name = name
    self.completion = completion
    self.parse = parse
    self.text = text
  }

  /// Makes the format of a type that parses its own text.
  ///
  /// - Parameters:
  ///   - read: Reads a text; nil if the text is not valid.
  ///   - complaint: What is wrong with such a text: "is not a batch's number, such as B17".
  public init(
    name: String, completion: CompletionHint = .none, read: @escaping @Sendable (String) -> Value?,
    else complaint: String, text: @escaping @Sendable (Value) -> String
  ) {
    self.init(
      name: name, completion: completion,
      parse: { (given: String) throws(ValueError) -> Value in
        guard let value = read(given) else { throw ValueError(complaint) }
        return value
      },
      text: text)
  }

  /// The same format with one more condition; `check` returns nil for a fine value, else what is wrong with it.
  public func refined(_ check: @escaping @Sendable (Value) -> String?) -> Self {
    let inner = parse
    return ValueFormat(
      name: name,
      completion: completion,
      parse: { (given: String) throws(ValueError) -> Value in
        let value = try inner(given)
        if let complaint = check(value) { throw ValueError(complaint) }
        return value
      },
      text: text)
  }
}

/// What a shell may offer while a value is being typed.
public enum CompletionHint: Sendable, Equatable {
  /// Nothing can be offered.
  case none
  case files
  case folders
  case words([String])
}

/// Why a text is not a value of the wanted kind, as a message for the person who typed it.
public struct ValueError: Error, Sendable, Equatable {
  /// What is wrong and what is accepted, to stand after the text itself: "is not a whole number".
  public let reason: String

  /// Makes an error with its reason.
  public init(_ reason: String) {
    self.reason = reason
  }
}

extension ValueFormat where Value == Int {
  /// Any whole number.
  public static var int: Self { int(in: Int.min...Int.max) }

  /// A whole number within a range.
  public static func int(in range: ClosedRange<Int>) -> Self {
    ValueFormat(
      name: "N",
      parse: { (given: String) throws(ValueError) -> Int in
        // Int's own initialiser takes "+5", which nobody means; a number too large for it is named as one.
        guard !given.hasPrefix("+"), isWholeNumber(given) else {
          throw ValueError("is not a whole number")
        }
        guard let value = Int(given), range.contains(value) else {
          throw ValueError("is outside the range \(rangeText(range))")
        }
        return value
      },
      text: { String($0) })
  }

  /// A number of bytes: `512`, `64KB`, `10MB` (powers of 1,000), `64MiB` (powers of 1,024).
  static var byteSize: Self { byteSize(in: 0...Int.max) }

  /// A number of bytes within a range.
  public static func byteSize(in range: ClosedRange<Int>) -> Self {
    ValueFormat(
      name: "SIZE",
      parse: { (given: String) throws(ValueError) -> Int in
        let bytes = try ByteSize.parse(given)
        guard range.contains(bytes) else {
          throw ValueError(
            "is outside the range \(ByteSize.text(range.lowerBound)) to \(ByteSize.text(range.upperBound))")
        }
        return bytes
      },
      text: ByteSize.text)
  }
}

extension ValueFormat where Value == Double {
  /// A finite number within a range, written with a decimal point.
  public static func double(in range: ClosedRange<Double>) -> Self {
    ValueFormat(
      name: "NUMBER",
      parse: { (given: String) throws(ValueError) -> Double in
        let isPlain = given.utf8.allSatisfy { (48...57).contains($0) || "+-.eE".utf8.contains($0) }
        guard isPlain, let value = Double(given), value.isFinite else {
          throw ValueError("is not a number")
        }
        guard range.contains(value) else {
          throw ValueError("is outside the range \(range.lowerBound) to \(range.upperBound)")
        }
        return value
      },
      text: { String($0) })
  }
}

private func isWholeNumber(_ text: String) -> Bool {
  let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
  return !digits.isEmpty && digits.utf8.allSatisfy { (48...57).contains($0) }
}

private func rangeText(_ range: ClosedRange<Int>) -> String {
  switch (range.lowerBound, range.upperBound) {
  case (Int.min, Int.max): "of a 64-bit number"
  case (let low, Int.max): "from \(low)"
  case (let low, let high): "\(low) to \(high)"
  }
}

/// Sizes in bytes with a unit: decimal units are powers of 1,000, binary ones (with an `i`) powers of 1,024.
enum ByteSize {
  private static let units: [(suffix: String, factor: Int)] = [
    ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1000), ("B", 1),
  ]

  static func parse(_ text: String) throws(ValueError) -> Int {
    let digits = text.prefix { ("0"..."9").contains($0) }
    let suffix = text.dropFirst(digits.count).lowercased()
    let factor = suffix.isEmpty ? 1 : units.first { $0.suffix.lowercased() == suffix }?.factor
    guard !digits.isEmpty, let factor else {
      throw ValueError("is not a size; write a whole number with a unit, for example 10MB or 64MiB")
    }
    guard let count = Int(digits) else { throw ValueError("is too large") }
    let (bytes, overflow) = count.multipliedReportingOverflow(by: factor)
    guard !overflow else { throw ValueError("is too large") }
    return bytes
  }

  /// The shortest exact writing of a number of bytes.
  @Sendable static func text(_ bytes: Int) -> String {
    guard bytes > 0 else { return String(bytes) }
    let exact = units.filter { bytes.isMultiple(of: $0.factor) && $0.factor > 1 }
    guard let best = exact.min(by: { bytes / $0.factor < bytes / $1.factor }) else { return String(bytes) }
    return "\(bytes / best.factor)\(best.suffix)"
  }
}

extension ValueFormat where Value == String {
  /// Any text but an empty one.
  public static var string: Self {
    ValueFormat(name: "TEXT", parse: notEmpty, text: { $0 })
  }

  /// Any text; an empty one stands for nothing.
  public static var any: Self {
    ValueFormat(name: "TEXT", parse: { (given: String) throws(ValueError) -> String in given }, text: { $0 })
  }

  /// A path of a file; it need not exist.
  public static var path: Self {
    ValueFormat(name: "FILE", completion: .files, parse: notEmpty, text: { $0 })
  }

  /// A path of a folder; it need not exist.
  public static var folder: Self {
    ValueFormat(name: "FOLDER", completion: .folders, parse: notEmpty, text: { $0 })
  }

  /// One of a list of words.
  public static func choice(_ words: [String]) -> Self {
    ValueFormat(
      name: words.joined(separator: "|"),
      completion: .words(words),
      parse: { (given: String) throws(ValueError) -> String in
        guard words.contains(given) else { throw wrongChoice(given, among: words) }
        return given
      },
      text: { $0 })
  }

  /// A calendar month as `YYYY-MM`.
  public static var month: Self {
    ValueFormat(
      name: "YYYY-MM",
      parse: { (given: String) throws(ValueError) -> String in
        let digits = Array(given.utf8)
        let isShaped =
          digits.count == 7 && digits[4] == UInt8(ascii: "-")
          && digits.enumerated().allSatisfy { $0.offset == 4 || (48...57).contains($0.element) }
        guard isShaped, let month = Int(given.suffix(2)), (1...12).contains(month) else {
          throw ValueError("is not a month; write it as YYYY-MM, for example 2026-10")
        }
        return given
      },
      text: { $0 })
  }

  /// A day of the calendar as `YYYY-MM-DD`.
  public static var day: Self {
    ValueFormat(
      name: "YYYY-MM-DD",
      parse: { (given: String) throws(ValueError) -> String in
        guard CivilDate(given) != nil else {
          throw ValueError("is not a day; write it as YYYY-MM-DD, for example 2026-10-01")
        }
        return given
      },
      text: { $0 })
  }

  private static func notEmpty(_ given: String) throws(ValueError) -> String {
    guard !given.isEmpty else { throw ValueError("is empty") }
    guard !given.utf8.contains(0) else { throw ValueError("holds a NUL character") }
    return given
  }
}

extension ValueFormat where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  /// One of the cases of an enum, by its raw value.
  public static func choice(_ type: Value.Type) -> Self {
    let words = Value.allCases.map(\.rawValue)
    return ValueFormat(
      name: words.joined(separator: "|"),
      completion: .words(words),
      parse: { (given: String) throws(ValueError) -> Value in
        guard let value = Value(rawValue: given) else { throw wrongChoice(given, among: words) }
        return value
      },
      text: { $0.rawValue })
  }
}

/// The error for a word that is not in the list, with the nearest one that is.
private func wrongChoice(_ given: String, among words: [String]) -> ValueError {
  let list = words.joined(separator: ", ")
  guard let near = nearest(to: given, among: words) else { return ValueError("is not one of \(list)") }
  return ValueError("is not one of \(list); did you mean '\(near)'?")
}

extension ValueFormat where Value == Duration {
  /// A length of time with its unit: `250ms`, `30s`, `5m`, `2h`, `7d`; parts may be joined: `1h30m`.
  public static var duration: Self { duration(in: .zero ... .seconds(Int64(Int32.max))) }

  /// A length of time within a range.
  public static func duration(in range: ClosedRange<Duration>) -> Self {
    ValueFormat(
      name: "DURATION",
      parse: { (given: String) throws(ValueError) -> Duration in
        guard let value = Duration(written: given) else {
          throw ValueError(
            "is not a length of time; write a number with its unit, for example 250ms, 30s or 5m")
        }
        guard range.contains(value) else {
          throw ValueError("is outside the range \(range.lowerBound.written) to \(range.upperBound.written)")
        }
        return value
      },
      text: { $0.written })
  }
}

extension ValueFormat where Value == Date {
  /// A moment in ISO 8601 with its zone: `2026-10-01T08:00:00Z`, `2026-10-01T08:00:00.250+07:00`.
  /// A text without a zone is refused, because a month's bill may hang on it.
  public static var time: Self {
    ValueFormat(
      name: "TIME",
      parse: { (given: String) throws(ValueError) -> Date in
        guard let time = WrittenTime(given), time.date.year >= 1970 else {
          throw ValueError(
            "is not a time; write it as 2026-10-01T08:00:00Z, or with an offset such as +07:00 for the Z")
        }
        guard let seconds = time.secondsSince1970 else {
          throw ValueError("has no zone; add Z for UTC or an offset such as +07:00")
        }
        return Date(timeIntervalSince1970: seconds)
      },
      text: { $0.formatted(.iso8601) })
  }
}
