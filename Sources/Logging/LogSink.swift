/// Where log lines go. Called by `Log` from any thread, once a line; must not wait for long and cannot fail:
/// a line that cannot be written is lost.
public protocol LogSink: Sendable {
  /// Takes a whole line, with its line break.
  func write(_ line: [UInt8])
}
