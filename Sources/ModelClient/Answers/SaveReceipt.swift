import Formatting

/// What the backend answers to a save.
public struct SaveReceipt: Sendable, Equatable {
  /// The backend's id of the saved analysis; nil when it does not say.
  public var id: String?
  /// The account's use after it; nil when the backend does not say.
  public var subscription: SubscriptionStatus?

  init(_ fields: FieldReader) throws(DecodingFailure) {
    id = try fields["analysis"].flatMap { value throws(DecodingFailure) in
      try FieldReader(value, path: "analysis").identifier("id")
    }
    subscription = try fields["subscription"].map { value throws(DecodingFailure) in
      try SubscriptionStatus(FieldReader(value, path: "subscription"))
    }
  }
}
