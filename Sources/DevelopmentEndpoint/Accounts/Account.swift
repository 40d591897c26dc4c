import Formatting

/// An account as the endpoint keeps it.
struct Account: Sendable {
  let id: String
  var email: String
  var name: String
  var subscription: Subscription
  /// Analyses in the month of `lastReset`.
  var analysisCount = 0
  /// Seconds since 1970 when the count was last set to 0.
  var lastReset: Double
  var passwordHash: [UInt8]
  var saved: [SavedAnalysis] = []

  /// Begins the count anew if a month has begun since the last time.
  mutating func resetIfMonthChanged(now: Double) {
    let (today, then) = (UnixTime(secondsSince1970: now).date, UnixTime(secondsSince1970: lastReset).date)
    if (today.year, today.month) != (then.year, then.month) {
      analysisCount = 0
      lastReset = now
    }
  }

  /// The account as a dialect shows it: the real server's answers have no count.
  func profile(_ dialect: EndpointConfiguration.Dialect) -> UserProfile {
    let isGuide = dialect == .guide
    return UserProfile(
      id: id, email: email, name: name, subscription: subscription,
      analysisCount: isGuide ? analysisCount : nil,
      lastResetDate: isGuide ? UnixTime(secondsSince1970: lastReset).rfc3339 : nil)
  }

  /// What the month leaves of a limit.
  func status(limit: Int?, _ dialect: EndpointConfiguration.Dialect) -> SubscriptionStatus {
    let limit = subscription == .free ? limit : nil
    return SubscriptionStatus(
      subscription: subscription, analysisCount: analysisCount, analysisLimit: limit,
      analysisRemaining: limit.map { max(0, $0 - analysisCount) },
      lastResetDate: UnixTime(secondsSince1970: lastReset).rfc3339, dialect: dialect)
  }
}

/// An account as answers show it.
struct UserProfile: Sendable, Encodable {
  let id: String
  let email: String
  let name: String
  let subscription: Subscription
  let analysisCount: Int?
  let lastResetDate: String?
}
