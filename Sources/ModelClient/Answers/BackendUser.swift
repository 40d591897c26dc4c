import Formatting

/// An account at the backend.
public struct BackendUser: Sendable, Equatable, CustomStringConvertible {
  /// The account's id.
  public var id: String
  /// Its e-mail address.
  public var email: String
  /// Its holder's name.
  public var name: String
  /// Its subscription.
  public var subscription: Subscription
  /// How many analyses the backend has counted.
  public var analysisCount: Int
  /// When the backend's count last began anew, in seconds since 1970; nil when it does not say.
  public var lastResetDate: Double?

  /// An account with all that is known of it.
  public init(
    id: String, email: String, name: String, subscription: Subscription, analysisCount: Int,
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
    guard let name = try fields.text("name", limit: FieldReader.shortLimit) else {
      throw fields.missing("name")
    }
    self.name = name
    subscription = try Subscription(fields)
    guard let count = try fields.count("analysisCount") else { throw fields.missing("analysisCount") }
    analysisCount = count
    lastResetDate = try fields.time("lastResetDate")
  }

  /// The id and the subscription; neither address nor name.
  public var description: String { "account \(id) (\(subscription.rawValue))" }
}
