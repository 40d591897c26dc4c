internal import PostgreSQL
internal import Queue

/// The user of a token, as the gateway sees them.
struct AppUser: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "userID", "reference": "user", "plan": "planName"]

  /// By number, which stays when they are renamed.
  let id: Int64
  /// What the queue calls them, by which encrypted images are bound to them.
  let reference: String
  let name: String?
  let email: String?
  let plan: String?
  /// nil where there is none.
  let limit: Int?
  let used: Int
  /// When the running month began, in seconds since 1970.
  let monthStart: Double
  /// What the endpoint's account called their plan, where it was told.
  let subscription: String?

  /// Asks whose a token is; nil where it is not valid.
  static func statement(_ token: AppToken) -> Statement<AppUser?> {
    Statement(
      SQLFunction("gateway_user", 2), [.int16(token.shard), .bytes(token.hash)], as: AppUser?.self,
      while: "asking whose a token is")
  }
}
