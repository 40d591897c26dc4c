import Formatting

/// An analysis that an account has saved, under the server's own id.
struct SavedAnalysis: Sendable, Encodable {
  let id: String
  let type: String
  let conditions: JSONValue
  let createdAt: String

  private enum CodingKeys: String, CodingKey {
    case id, type, conditions
    case createdAt = "created_at"
  }
}

/// What saved analyses leave of the month.
struct SubscriptionStatus: Sendable, Encodable {
  let subscription: Subscription
  let analysisCount: Int
  /// Nil, answered as null, where there is no limit.
  let analysisLimit: Int?
  let analysisRemaining: Int?
  let lastResetDate: String
  /// The real server writes the date's name in snake case.
  let dialect: EndpointConfiguration.Dialect

  private enum CodingKeys: String, CodingKey {
    case subscription, analysisCount, analysisLimit, analysisRemaining, lastResetDate
    case snakeCaseResetDate = "last_reset_date"
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(subscription, forKey: .subscription)
    try container.encode(analysisCount, forKey: .analysisCount)
    try container.encode(analysisLimit, forKey: .analysisLimit)
    try container.encode(analysisRemaining, forKey: .analysisRemaining)
    try container.encode(lastResetDate, forKey: dialect == .guide ? .lastResetDate : .snakeCaseResetDate)
  }
}
