/// A step of a migration that could not have a lock in time, and is going to be tried again.
public struct MigrationWait: Sendable, Equatable {
  /// Who has what the step waits for: a session, or a transaction that was prepared and is not over.
  public struct Blocker: Sendable, Equatable {
    /// The server's process; nil of a prepared transaction.
    public let process: Int32?
    /// The prepared transaction's name; nil of a session.
    public let prepared: String?
    /// The role; nil where this session's role may not know.
    public let role: String?
    /// Since when its transaction is open, in seconds since 1970; nil where this session's role may not know.
    public let since: Double?
  }

  /// The step's name.
  public let step: String
  /// The table or other thing that is locked; nil where it was not seen.
  public let object: String?
  /// Who has it, the oldest first; empty where it was not seen.
  public let blockers: [Blocker]
}
