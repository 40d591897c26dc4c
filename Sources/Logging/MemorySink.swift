import Synchronization

/// Keeps log lines, for tests.
public final class MemorySink: LogSink {
  private let kept = Mutex<[String]>([])

  /// Makes an empty one.
  public init() {}

  /// Every line so far, without line breaks.
  public var lines: [String] { kept.withLock { $0 } }

  /// Keeps the line.
  public func write(_ line: [UInt8]) {
    let text = String(decoding: line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...], as: UTF8.self)
    kept.withLock { $0.append(text) }
  }
}
