/// What a watcher of a descriptor wants to hear of.
public struct Interest: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// The set with the given bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// The descriptor can be read, or its peer has closed.
  public static let read = Interest(rawValue: 1)
  /// The descriptor can be written.
  public static let write = Interest(rawValue: 2)
}

/// What epoll reported of a descriptor.
public struct Readiness: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// The set with the given bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// There is something to read, the end of the stream included.
  public static let read = Readiness(rawValue: 1)
  /// There is room to write.
  public static let write = Readiness(rawValue: 2)
  /// Both directions are closed.
  public static let hangup = Readiness(rawValue: 4)
  /// The descriptor has an error pending.
  public static let error = Readiness(rawValue: 8)
}
