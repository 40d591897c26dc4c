import Glibc

/// Writes what happens, a line an event.
///
/// The message of an event is a constant; what varies goes into fields, whose names decide what is redacted.
/// So no text of a person or of the network ends up in the message by accident.
public struct Log: Sendable {
  /// How lines look.
  public enum Format: Sendable, Equatable {
    /// An object of JSON in each line, for programs.
    case json
    /// Time, level, message, `name=value`, for people.
    case human(colour: Bool)
  }

  /// Fields in the order they are written.
  public typealias Fields = KeyValuePairs<String, LogValue>

  /// The least important level that is written.
  public let level: Level
  private let format: Format
  private let sink: (any LogSink)?
  private let now: @Sendable () -> UnixTime
  private let fields: [(name: String, value: LogValue)]

  /// Makes a log that writes to `sink`, with `fields` in every line.
  public init(
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

  /// Writes nothing.
  static let discard = Log(.error, .json, nil, { UnixTime(seconds: 0) }, [])

  /// Writes to standard error: lines for people on a terminal, JSON elsewhere. `NO_COLOR` is obeyed.
  public static func standardError(level: Level = .info, environment: [String: String]) -> Log {
    let wantsColour = (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    let format = isatty(2) == 1 ? Format.human(colour: wantsColour) : .json
    return Log(level: level, format: format, sink: DescriptorSink(2))
  }

  /// The same log with more fields in every line.
  public func with(_ more: Fields) -> Log {
    Log(level, format, sink, now, fields + more.map { (name: $0.key, value: $0.value) })
  }

  /// Whether events of a level are written.
  public func writes(_ level: Level) -> Bool {
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
    /// Something that failed.
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
