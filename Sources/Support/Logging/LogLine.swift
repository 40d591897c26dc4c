/// One event of the log, before it is written in a format.
struct LogLine {
  let time: UnixTime
  let level: Log.Level
  let message: String
  let fields: [(name: String, value: LogValue)]

  private static let longestText = 500

  /// An object of JSON in one line: `time`, `level`, `message`, then the fields.
  var json: [UInt8] {
    var line = Array("{\"time\":\"\(time.rfc3339)\",\"level\":\"\(level.rawValue)\",\"message\":".utf8)
    JSONWriter.append(message, to: &line)
    for (name, value) in fields {
      line.append(UInt8(ascii: ","))
      JSONWriter.append(Self.key(name, value), to: &line)
      line.append(UInt8(ascii: ":"))
      switch Self.shown(name, value) {
      case .string(let text): JSONWriter.append(printable(text, limit: Self.longestText), to: &line)
      case let other: line += Self.plain(other).utf8
      }
    }
    line += "}\n".utf8
    return line
  }

  /// For a person: time of day, level, message, `name=value`.
  func human(colour: Bool) -> [UInt8] {
    let clock = time.rfc3339.dropFirst(11).prefix(12)
    let label = level.rawValue.uppercased()
    let painted = colour ? "\u{1B}[\(level.colour)m\(label)\u{1B}[0m" : label
    let space = String(repeating: " ", count: max(0, 7 - label.count))
    var line = "\(clock) \(painted)\(space) \(message)"
    for (name, value) in fields {
      line += " \(printable(name, limit: 60))=\(Self.forPerson(Self.shown(name, value)))"
    }
    return Array((line + "\n").utf8)
  }

  private static func shown(_ name: String, _ value: LogValue) -> LogValue {
    if Redaction.hides(name) { return .string("<redacted>") }
    if case .double(let number) = value, !number.isFinite { return .string("\(number)") }
    return value
  }

  private static func key(_ name: String, _ value: LogValue) -> String {
    let name = printable(name, limit: 60)
    if case .duration = value, !Redaction.hides(name) { return name + "_ms" }
    return name
  }

  private static func plain(_ value: LogValue) -> String {
    switch value {
    case .string(let text): text
    case .int(let number): String(number)
    case .double(let number): "\(number)"
    case .bool(let flag): flag ? "true" : "false"
    case .duration(let duration): milliseconds(duration)
    }
  }

  private static func forPerson(_ value: LogValue) -> String {
    switch value {
    case .string(let text):
      let clean = printable(text, limit: longestText)
      let needsQuotes = clean.isEmpty || clean.contains { $0 == " " || $0 == "\"" || $0 == "=" }
      return needsQuotes
        ? "\"\(clean.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "'"))\""
        : clean
    case .duration(let duration): return milliseconds(duration) + "ms"
    default: return plain(value)
    }
  }

  /// Milliseconds, with microseconds after the point where there are any.
  private static func milliseconds(_ duration: Duration) -> String {
    let (whole, rest) = duration.microseconds.quotientAndRemainder(dividingBy: 1000)
    return rest == 0 ? String(whole) : "\(Double(duration.microseconds) / 1000)"
  }
}

/// A field's value in a log line.
public enum LogValue: Sendable, Equatable {
  /// A text; bounded, and stripped of control characters when written.
  case string(String)
  /// A whole number.
  case int(Int64)
  /// A number; one that is not finite is written as text.
  case double(Double)
  /// Yes or no.
  case bool(Bool)
  /// A length of time; written in milliseconds, under the field's name with `_ms`.
  case duration(Duration)

  /// Any whole number; one beyond 64 bits is clamped.
  public static func count(_ number: some BinaryInteger) -> LogValue {
    .int(Int64(clamping: number))
  }

  /// An error by its description, which must carry no secret.
  public static func error(_ error: any Error) -> LogValue {
    .string(String(describing: error))
  }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
  /// A text.
  public init(stringLiteral text: String) { self = .string(text) }
  /// A whole number.
  public init(integerLiteral number: Int64) { self = .int(number) }
  /// A number.
  public init(floatLiteral number: Double) { self = .double(number) }
  /// Yes or no.
  public init(booleanLiteral flag: Bool) { self = .bool(flag) }
}
