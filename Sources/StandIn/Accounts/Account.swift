import FoundationEssentials
import Support

/// An account as the endpoint keeps it.
struct Account: Sendable {
  let id: String
  var email: String
  var name: String
  var subscription: AccountSubscription
  /// Analyses in the month of `lastReset`.
  var analysisCount = 0
  /// Seconds since 1970 when the count was last set to 0.
  var lastReset: Double
  var passwordHash: [UInt8]
  var saved: [AccountAnalysis] = []

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
      lastResetDate: isGuide ? dialect.moment(lastReset) : nil)
  }

  /// What the month leaves of a limit.
  func status(limit: Int?, _ dialect: EndpointConfiguration.Dialect) -> AccountSubscriptionStatus {
    let limit = subscription == .free ? limit : nil
    let noLimit: Int? = dialect == .guide ? .noLimit : nil
    return AccountSubscriptionStatus(
      subscription: subscription, analysisCount: analysisCount, analysisLimit: limit ?? noLimit,
      analysisRemaining: limit.map { max(0, $0 - analysisCount) } ?? noLimit,
      lastResetDate: dialect.moment(lastReset), dialect: dialect)
  }
}

/// An account as answers show it.
struct UserProfile: Sendable, Encodable {
  let id: String
  let email: String
  let name: String
  let subscription: AccountSubscription
  let analysisCount: Int?
  let lastResetDate: String?
}

/// An account to be made, with its password in clear.
struct NewAccount: Sendable, Decodable {
  /// The address the account logs in with.
  var email: String
  /// The password; only a keyed hash of it is kept.
  var password: String
  /// The name shown in profiles; the address when missing.
  var name: String?
  /// The plan; free when missing.
  var subscription: AccountSubscription?

  /// Reads a JSON list of accounts: `[{"email": …, "password": …, "name": …, "subscription": "premium"}]`.
  ///
  /// - Throws: `EndpointError` if the text is not of that form.
  static func list(parsing json: String) throws(EndpointError) -> [NewAccount] {
    do {
      return try JSONDecoder().decode([NewAccount].self, from: Data(json.utf8))
    } catch {
      throw EndpointError(
        .unreadable, "the file of accounts is no JSON list of {\"email\": …, \"password\": …}")
    }
  }
}

/// The plan of an account.
enum AccountSubscription: String, Sendable, Codable {
  /// Limited to a number of analyses a month; shown as "Basic".
  case free
  /// Unlimited; shown as "Premium".
  case premium
}

/// An analysis that an account has saved, under the server's own id.
struct AccountAnalysis: Sendable, Encodable {
  let id: String
  let type: String
  let conditions: JSONValue
  let createdAt: String
  /// The same: the guide's client reads no other. Nil where the dialect is the real server's.
  let timestamp: String?

  private enum CodingKeys: String, CodingKey {
    case id, type, conditions, timestamp
    case createdAt = "created_at"
  }
}

/// What saved analyses leave of the month.
struct AccountSubscriptionStatus: Sendable, Encodable {
  let subscription: AccountSubscription
  let analysisCount: Int
  /// Nil, answered as null, where there is no limit and the dialect is the real server's.
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

/// What a client saves comes back as it was.
extension JSONValue: Codable {
  /// Reads any JSON value.
  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      let members = try container.decode([String: JSONValue].self)
      self = .object(members.map { Member(name: $0.key, value: $0.value) })
    }
  }

  /// Writes the value.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value), .raw(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .object(let members):
      try container.encode(Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value) }))
    }
  }
}
