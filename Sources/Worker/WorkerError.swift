/// Why a worker could not run or ended otherwise than asked.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it is; it decides the exit code.
  public enum Kind: Sendable {
    /// The database does not answer, or its schema does not fit this program.
    case unreachable
    /// The database role may not do what a worker does.
    case permission
    /// The worker was told something that cannot be.
    case configuration
    /// Anything else.
    case fault
  }

  /// What happened and what to do next.
  public let description: String
  /// What kind of failure it is.
  public let kind: Kind

  init(_ description: String, kind: Kind) {
    self.description = description
    self.kind = kind
  }
}
