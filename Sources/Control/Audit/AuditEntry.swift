public import PostgreSQL
import Queue

/// One thing that somebody did.
public struct AuditEntry: Sendable, Equatable, RenamedColumns {
  /// It is the user of the operating system.
  public static let columns = ["user": "osUser"]

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
