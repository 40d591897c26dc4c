import PostgreSQL
import Queue

/// One thing that somebody did.
public struct AuditEntry: Sendable, Equatable {
  /// Its number in the chain; nil while it is not chained.
  public let id: Int64?
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
  /// Its hash, in hexadecimal; nil while it is not chained.
  public let hash: String?

  /// An entry with its parts.
  public init(
    id: Int64?, at: Double, role: String, user: String?, host: String?, address: String?, action: String,
    object: String, reason: String?, detail: String?, hash: String?
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
  static let function = SQLFunction(
    "audit_list", 9, "o_id", "o_at", "o_role", "o_os_user", "o_host", "o_address", "o_action", "o_object",
    "o_reason", "o_detail", "o_hash")

  /// Reads a row of it.
  init(_ row: Row) throws {
    self.init(
      id: try row.int64("o_id"), at: try row.seconds("o_at"), role: try row.string("o_role"),
      user: try row.stringIfPresent("o_os_user"), host: try row.stringIfPresent("o_host"),
      address: try row.stringIfPresent("o_address"), action: try row.string("o_action"),
      object: try row.string("o_object"), reason: try row.stringIfPresent("o_reason"),
      detail: try row.jsonTextIfPresent("o_detail"), hash: try row.string("o_hash"))
  }

  /// Reads a row of `sql/audit/drafts.sql`.
  init(draft row: Row) throws {
    self.init(
      id: nil, at: try row.seconds("at"), role: try row.string("role"),
      user: try row.stringIfPresent("os_user"), host: try row.stringIfPresent("host"),
      address: try row.stringIfPresent("address"), action: try row.string("action"),
      object: try row.string("object"), reason: try row.stringIfPresent("reason"),
      detail: try row.jsonTextIfPresent("detail"), hash: nil)
  }
}
