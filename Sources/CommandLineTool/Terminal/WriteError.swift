/// A text could not be written to a descriptor.
public struct WriteError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The system's error number.
  public let errno: Int32
  /// The system's words for it.
  public let reason: String

  /// Whether the reading side is gone.
  public var isBrokenPipe: Bool { errno == WriteError.brokenPipe }

  /// Whether a disk, or somebody's share of it, is full: there may be room again later.
  public var isFullDisk: Bool { WriteError.fullDisk.contains(errno) }

  /// What happened.
  public var description: String { "the output cannot be written: \(reason)" }
}
