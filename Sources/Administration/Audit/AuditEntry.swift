import PostgreSQL

/// One thing that somebody did.
public struct AuditEntry: Sendable, Equatable {
  /// Its number in the chain.
  public let id: Int64
  /// When, in seconds since 1970.
  public let at: Double
  /// The database role that connected.
  public let role: String
  /// The user of the operating system, as the client says.
  public let user: String?
  /// The machine, as the client says.
  public let host: String?
  /// The client's address, as the server sees it; nil for a local socket.
  public let address: String?
  /// What was done, in a word.
  public let action: String
  /// What it was done to.
  public let object: String
  /// Why, if that was said.
  public let reason: String?
  /// What else matters of it, as a JSON object.
  public let detail: String?
  /// Its hash, in hexadecimal.
  public let hash: String

  /// An entry with its parts.
  public init(
    id: Int64, at: Double, role: String, user: String?, host: String?, address: String?, action: String,
    object: String, reason: String?, detail: String?, hash: String
  ) {
    self.id = id
    self.at = at
    self.role = role
    self.user = user
    self.host = host
    self.address = address
    self.action = action
    self.object = object
    self.reason = reason
    self.detail = detail
    self.hash = hash
  }
}

extension AuditEntry {
  /// Reads a row of `sql/queue/audit_list.sql`.
  init(_ row: Row) throws {
    self.init(
      id: try row.int64(0), at: try row.double(1), role: try row.string(2), user: try row.stringIfPresent(3),
      host: try row.stringIfPresent(4), address: try row.stringIfPresent(5), action: try row.string(6),
      object: try row.string(7), reason: try row.stringIfPresent(8), detail: try row.stringIfPresent(9),
      hash: try row.string(10))
  }
}
