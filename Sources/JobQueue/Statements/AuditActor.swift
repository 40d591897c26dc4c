public import PostgreSQL

/// Who does something and why, as the audit records it. The database role and the client's address are not said: the
/// server knows them itself.
public struct AuditActor: Sendable, Equatable {
  /// The user of the operating system.
  public var user: String?
  /// The machine.
  public var host: String?
  /// Why, in the operator's own words.
  public var reason: String?

  /// Somebody, with what is known of them.
  public init(user: String?, host: String?, reason: String? = nil) {
    self.user = user
    self.host = host
    self.reason = reason
  }

  /// What tells the server, for the rest of its transaction.
  public var statement: SQLStatement {
    SQLStatement(
      "SELECT analysis.act_as($1, $2, $3)",
      [.text(user.map(storable)), .text(host.map(storable)), .text(reason.map(storable))],
      label: "saying who acts")
  }
}
