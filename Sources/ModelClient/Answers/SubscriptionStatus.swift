/// What the backend says of an account's use when an analysis is saved.
public struct SubscriptionStatus: Sendable, Equatable {
  /// The subscription.
  public var subscription: Subscription
  /// How many analyses the backend has counted; nil when it does not say.
  public var analysisCount: Int?
  /// How many a month allows; nil for any number.
  public var analysisLimit: Int?
  /// How many are left; nil for any number.
  public var analysisRemaining: Int?
  /// When the count last began anew, in seconds since 1970; nil when the backend does not say.
  public var lastResetDate: Double?

  init(_ fields: FieldReader) throws(DecodingFailure) {
    subscription = try Subscription(fields)
    analysisCount = fields.count("analysisCount")
    analysisLimit = fields.count("analysisLimit")
    analysisRemaining = fields.count("analysisRemaining")
    lastResetDate = fields.time("lastResetDate", "last_reset_date")
  }
}
