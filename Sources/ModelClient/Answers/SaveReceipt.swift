import Formatting

/// What the backend answers to a save. The analysis is saved then, so that nothing in the answer can be a failure.
public struct SaveReceipt: Sendable, Equatable {
  /// The backend's id of the saved analysis; nil when it does not say.
  public var id: String?
  /// The account's use after it; nil when the backend does not say.
  public var subscription: SubscriptionStatus?

  init(_ answer: JSONValue) {
    let fields = try? FieldReader(answer, path: "")
    id = fields?.optional("analysis")?.identifier("id")
    subscription = fields?.optional("subscription").flatMap { try? SubscriptionStatus($0) }
  }
}
