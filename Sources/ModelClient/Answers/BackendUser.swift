import Formatting

/// An account at the backend.
public struct BackendUser: Sendable, Equatable, CustomStringConvertible {
  /// The account's id.
  public var id: String
  /// Its e-mail address.
  public var email: String
  /// Its holder's name; nil when the backend does not say.
  public var name: String?
  /// Its subscription.
  public var subscription: Subscription
  /// How many analyses the backend has counted; nil when it does not say.
  public var analysisCount: Int?
  /// When the backend's count last began anew, in seconds since 1970; nil when it does not say.
  public var lastResetDate: Double?

  /// An account with all that is known of it.
  public init(
    id: String, email: String, name: String?, subscription: Subscription, analysisCount: Int? = nil,
    lastResetDate: Double? = nil
  ) {
    self.id = id
    self.email = email
    self.name = name
    self.subscription = subscription
    self.analysisCount = analysisCount
    self.lastResetDate = lastResetDate
  }

  init(_ fields: FieldReader) throws(DecodingFailure) {
    id = try fields.requiredIdentifier("id")
    email = try fields.requiredText("email")
    name = fields.text("name", limit: FieldReader.shortLimit)
    subscription = try Subscription(fields)
    analysisCount = fields.count("analysisCount")
    lastResetDate = fields.time("lastResetDate", "last_reset_date")
  }

  /// The account that an answer describes under `user`; nil where it describes none, or not as it should.
  init?(in answer: FieldReader) {
    guard let fields = answer.optional("user") else { return nil }
    guard let user = try? BackendUser(fields) else { return nil }
    self = user
  }

  /// The id and the subscription; neither address nor name.
  public var description: String { "account \(id) (\(subscription.rawValue))" }
}
