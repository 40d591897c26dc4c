internal import PostgreSQL
internal import Queue

/// The user of a token, as the gateway sees them.
struct AppUser: Sendable, Equatable {
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
      SQLFunction(
        "gateway_user", 2, "o_user_id", "o_user", "o_name", "o_email", "o_plan_name", "o_limit", "o_used",
        "o_month_start", "o_subscription"),
      [.int16(token.shard), .bytes(token.hash)], while: "asking whose a token is"
    ) { rows in
      guard let row = rows.first else { return nil }
      return AppUser(
        id: try row.int64("o_user_id"), reference: try row.string("o_user"),
        name: try row.stringIfPresent("o_name"), email: try row.stringIfPresent("o_email"),
        plan: try row.stringIfPresent("o_plan_name"),
        limit: try row.int32IfPresent("o_limit").map(Int.init),
        used: Int(try row.int32("o_used")),
        monthStart: try row.seconds("o_month_start"), subscription: try row.stringIfPresent("o_subscription"))
    }
  }
}
