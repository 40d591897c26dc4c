public import HTTPTransfer
public import Support

/// What a registration brings. The account is made then, so that nothing in the answer can be a failure.
public struct Registration: Sendable, Equatable {
  /// The account's first token; nil where the answer has none that can be used: then it logs in.
  public var session: Session?
  /// The account; nil where the answer does not describe it.
  public var user: EndpointUser?
}

/// What a login or a refresh brings.
public struct Session: Sendable, Equatable {
  /// The token for authenticated calls.
  public var token: Secret
  /// The token by which the next one may be had; nil where the deployment has none.
  var refreshToken: Secret?
  /// The account; nil after a refresh, and where the answer does not describe it.
  public var user: EndpointUser?
  /// When the token ends by this machine's clock, in seconds since 1970; nil when nothing says so.
  var expiresAt: Double?

  /// Reads a session.
  ///
  /// - Parameter receivedAt: The present time.
  init(_ fields: AnswerFields, _ names: Endpoint.Fields, receivedAt: Double) throws(DecodingFailure) {
    var token: String?
    for name in names.token where token == nil { token = try Self.token(fields, name) }
    guard let token else { throw fields.missing(names.token.first ?? "token") }
    self.token = Secret(token)
    // Without one that can be sent, the next token comes by a login.
    refreshToken = try? Self.token(fields, names.refreshToken).map { Secret($0) }
    expiresAt = TokenExpiry.of(token, answer: fields.object, receivedAt: receivedAt)
    user = EndpointUser(in: fields)
  }

  /// A token goes into a header, so it must fit there: visible ASCII.
  private static func token(_ fields: AnswerFields, _ name: String) throws(DecodingFailure) -> String? {
    guard let value = fields[name] else { return nil }
    guard let text = value.text, (1...16_384).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw DecodingFailure(fields.path(of: name), "is not a token")
    }
    return text
  }
}

/// An account at the endpoint.
public struct EndpointUser: Sendable, Equatable, CustomStringConvertible {
  /// The account's id.
  public var id: String
  /// Its e-mail address.
  public var email: String
  /// Its holder's name; nil when the endpoint does not say.
  public var name: String?
  /// Its subscription.
  public var subscription: Subscription
  /// How many analyses the endpoint has counted; nil when it does not say.
  public var analysisCount: Int?
  /// When the endpoint's count last began anew, in seconds since 1970; nil when it does not say.
  public var lastResetDate: Double?

  /// An account with all that is known of it.
  init(
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

  init(_ fields: AnswerFields) throws(DecodingFailure) {
    id = try fields.requiredIdentifier("id")
    email = try fields.requiredText("email")
    name = fields.text("name", limit: AnswerFields.shortLimit)
    subscription = try Subscription(fields)
    analysisCount = fields.count("analysisCount")
    lastResetDate = fields.time("lastResetDate", "last_reset_date")
  }

  /// The account that an answer describes under `user`; nil where it describes none, or not as it should.
  init?(in answer: AnswerFields) {
    guard let fields = answer.optional("user") else { return nil }
    guard let user = try? EndpointUser(fields) else { return nil }
    self = user
  }

  /// The id and the subscription; neither address nor name.
  public var description: String { "account \(id) (\(subscription.rawValue))" }
}

/// A subscription at the endpoint. One that is not known is a failure, never taken for the free one.
public enum Subscription: String, Sendable, CaseIterable {
  /// Some analyses a month, shown as "Basic".
  case free
  /// Unlimited, shown as "Premium".
  case premium

  init(_ fields: AnswerFields) throws(DecodingFailure) {
    guard let value = fields["subscription"] else { throw fields.missing("subscription") }
    guard let text = value.text, let known = Subscription(rawValue: text) else {
      throw DecodingFailure(fields.path(of: "subscription"), "is not a subscription that is known")
    }
    self = known
  }
}

/// What the endpoint says of an account's use when an analysis is saved.
public struct SubscriptionStatus: Sendable, Equatable {
  /// The subscription.
  public var subscription: Subscription
  /// How many analyses the endpoint has counted; nil when it does not say.
  public var analysisCount: Int?
  /// How many a month allows; nil for any number.
  public var analysisLimit: Int?
  /// How many are left; nil for any number.
  public var analysisRemaining: Int?
  /// When the count last began anew, in seconds since 1970; nil when the endpoint does not say.
  public var lastResetDate: Double?

  init(_ fields: AnswerFields) throws(DecodingFailure) {
    subscription = try Subscription(fields)
    analysisCount = fields.count("analysisCount")
    analysisLimit = fields.count("analysisLimit").flatMap { $0 < .noLimit ? $0 : nil }
    analysisRemaining = fields.count("analysisRemaining").flatMap { $0 < .noLimit ? $0 : nil }
    lastResetDate = fields.time("lastResetDate", "last_reset_date")
  }
}

/// What the endpoint answers to a save. The analysis is saved then, so that nothing in the answer can be a failure.
public struct SaveReceipt: Sendable, Equatable {
  /// The endpoint's id of the saved analysis; nil when it does not say.
  public var id: String?
  /// The account's use after it; nil when the endpoint does not say.
  public var subscription: SubscriptionStatus?

  init(_ answer: JSONPart) {
    let fields = try? AnswerFields(answer, path: "")
    id = fields?.optional("analysis")?.identifier("id")
    subscription = fields?.optional("subscription").flatMap { try? SubscriptionStatus($0) }
  }
}

/// What an endpoint keeps with an account.
public struct AnalysisHistory: Sendable, Equatable {
  /// The analyses, in the endpoint's order.
  public var analyses: [SavedAnalysis]
  /// The account's use; nil when the endpoint does not say.
  public var subscription: SubscriptionStatus?
}

/// An analysis that the endpoint keeps with an account.
public struct SavedAnalysis: Sendable, Equatable {
  /// The endpoint's id of it, which need not be the id under which it was sent.
  public var id: String
  /// What was analysed.
  public var kind: AnalysisKind
  /// What was found.
  public var conditions: [Condition]
  /// When it was saved, in seconds since 1970; nil when the endpoint does not say.
  public var createdAt: Double?

  init(_ fields: AnswerFields, normalIDs: Set<String>) throws(DecodingFailure) {
    id = try fields.requiredIdentifier("id")
    kind = try AnalysisDecoder.kind(fields)
    conditions = try AnalysisDecoder.conditions(fields, normalIDs)
    createdAt = fields.time("created_at", "timestamp")
  }
}

/// What the endpoint's health answer tells besides that it is up.
public struct HealthAnswer: Sendable, Equatable {
  /// When what happened.
  public var timing: Timing
  /// By how many seconds this machine's clock is ahead of the endpoint's; nil when the answer has no date. A
  /// date has whole seconds.
  public var clockAhead: Double?
  /// When the endpoint's certificate ends, in seconds since 1970; nil without TLS, and where the transfer is
  /// not configured to read certificates.
  public var certificateEnds: Double?
}
