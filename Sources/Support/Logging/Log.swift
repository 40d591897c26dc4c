import Glibc
import Synchronization

/// Writes what happens, a line an event.
///
/// The message of an event is a constant; what varies goes into fields, whose names decide what is redacted.
/// So no text of a person or of the network ends up in the message by accident.
public struct Log: Sendable {
  enum Format: Sendable, Equatable {
    /// An object of JSON in each line, for programs.
    case json
    /// Time, level, message, `name=value`, for people.
    case human(colour: Bool)
  }

  /// Fields in the order they are written.
  public typealias Fields = KeyValuePairs<String, LogValue>

  /// The least important level that is written.
  let level: Level
  private let format: Format
  private let sink: (any LogSink)?
  private let now: @Sendable () -> UnixTime
  private let fields: [(name: String, value: LogValue)]

  /// Makes a log that writes to `sink`, with `fields` in every line.
  init(
    level: Level = .info, format: Format = .json, sink: any LogSink,
    now: @escaping @Sendable () -> UnixTime = { .now }, fields: [(String, LogValue)] = []
  ) {
    self.init(level, format, sink, now, fields.map { (name: $0.0, value: $0.1) })
  }

  private init(
    _ level: Level, _ format: Format, _ sink: (any LogSink)?, _ now: @escaping @Sendable () -> UnixTime,
    _ fields: [(name: String, value: LogValue)]
  ) {
    self.level = level
    self.format = format
    self.sink = sink
    self.now = now
    self.fields = fields
  }

  static let discard = Log(.error, .json, nil, { UnixTime(seconds: 0) }, [])

  /// Writes to standard error: lines for people on a terminal, JSON elsewhere. `NO_COLOR` is obeyed.
  public static func standardError(level: Level = .info, environment: [String: String]) -> Log {
    let wantsColour = (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    let format = isatty(2) == 1 ? Format.human(colour: wantsColour) : .json
    return Log(level: level, format: format, sink: DescriptorSink(2))
  }

  /// The same log with more fields in every line.
  func with(_ more: Fields) -> Log {
    Log(level, format, sink, now, fields + more.map { (name: $0.key, value: $0.value) })
  }

  /// Whether events of a level are written.
  func writes(_ level: Level) -> Bool {
    sink != nil && level >= self.level
  }

  /// Every step, for a developer.
  func trace(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
    write(.trace, message, fields)
  }

  /// What helps to find a fault.
  public func debug(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
    write(.debug, message, fields)
  }

  /// What the program does.
  public func info(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
    write(.info, message, fields)
  }

  /// What an operator would want to know.
  public func notice(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
    write(.notice, message, fields)
  }

  /// Something that may need care soon.
  public func warning(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
    write(.warning, message, fields)
  }

  /// Something that failed.
  public func error(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
    write(.error, message, fields)
  }

  private func write(_ level: Level, _ message: StaticString, _ more: () -> Fields) {
    guard let sink, writes(level) else { return }
    let line = LogLine(
      time: now(), level: level, message: printable(String(describing: message)),
      fields: fields + more().map { (name: $0.key, value: $0.value) })
    switch format {
    case .json: sink.write(line.json)
    case .human(let colour): sink.write(line.human(colour: colour))
    }
  }
}

extension Log {
  /// How much an event matters.
  public enum Level: String, Sendable, CaseIterable, Comparable {
    /// Every step, for a developer.
    case trace
    /// What helps to find a fault.
    case debug
    /// What the program does.
    case info
    /// What an operator would want to know.
    case notice
    /// Something that may need care soon.
    case warning
    case error

    /// The less important first.
    public static func < (left: Level, right: Level) -> Bool {
      left.rank < right.rank
    }

    private var rank: Int {
      switch self {
      case .trace: 0
      case .debug: 1
      case .info: 2
      case .notice: 3
      case .warning: 4
      case .error: 5
      }
    }

    /// The terminal's colour number.
    var colour: Int {
      switch self {
      case .trace, .debug: 2
      case .info, .notice: 36
      case .warning: 33
      case .error: 31
      }
    }
  }
}

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
  case int(Int64)
  /// A number; one that is not finite is written as text.
  case double(Double)
  case bool(Bool)
  /// A length of time; written in milliseconds, under the field's name with `_ms`.
  case duration(Duration)

  /// Any whole number; one beyond 64 bits is clamped.
  public static func count(_ number: some BinaryInteger) -> LogValue {
    .int(Int64(clamping: number))
  }

  /// An error by its description, which must carry no secret.
  static func error(_ error: any Error) -> LogValue {
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

/// Where log lines go. Called by `Log` from any thread, once a line; must not wait for long and cannot fail:
/// a line that cannot be written is lost.
protocol LogSink: Sendable {
  /// Takes a whole line, with its line break.
  func write(_ line: [UInt8])
}

/// Writes each line by one `write(2)`, so that lines of several threads and processes do not mix.
struct DescriptorSink: LogSink {
  private let descriptor: Int32
  /// How long a line may wait for a reader that is behind.
  private static let patienceInMilliseconds: Int32 = 50

  /// Writes to a descriptor, which stays its owner's.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Writes the line; where the other side is gone or full, the line is lost rather than the caller held up.
  func write(_ line: [UInt8]) {
    // A pipe that is ready takes PIPE_BUF (4,096) bytes at once without blocking.
    var readiness = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&readiness, 1, Self.patienceInMilliseconds) > 0 else { return }
    var count: Int
    repeat {
      count = line.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    } while count < 0 && errno == EINTR
  }
}

/// Keeps log lines, for tests.
final class MemorySink: LogSink {
  private let kept = Mutex<[String]>([])

  /// Makes an empty one.
  init() {}

  /// Every line so far, without line breaks.
  var lines: [String] { kept.withLock { $0 } }

  func write(_ line: [UInt8]) {
    let text = String(decoding: line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...], as: UTF8.self)
    kept.withLock { $0.append(text) }
  }
}
