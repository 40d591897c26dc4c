/// When the steps of a call were done, each counted from the call's start; zero for a step that a
/// kept-alive connection or plain HTTP leaves out.
public struct Timing: Sendable, Equatable {
  /// The server's name was resolved.
  public var nameLookup: Duration
  /// The connection was made.
  public var connected: Duration
  /// TLS was agreed.
  public var secured: Duration
  /// The answer's first byte came.
  public var firstByte: Duration
  /// The answer was whole.
  public var total: Duration

  /// The given times.
  public init(
    nameLookup: Duration = .zero, connected: Duration = .zero, secured: Duration = .zero,
    firstByte: Duration = .zero, total: Duration = .zero
  ) {
    self.nameLookup = nameLookup
    self.connected = connected
    self.secured = secured
    self.firstByte = firstByte
    self.total = total
  }
}
