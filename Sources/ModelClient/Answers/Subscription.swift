import Formatting

/// A subscription at the backend. One that is not known is a failure, never taken for the free one.
public enum Subscription: String, Sendable, CaseIterable {
  /// Some analyses a month, shown as "Basic".
  case free
  /// Unlimited, shown as "Premium".
  case premium

  init(_ fields: FieldReader) throws(DecodingFailure) {
    guard let value = fields["subscription"] else { throw fields.missing("subscription") }
    guard let text = value.text, let known = Subscription(rawValue: text) else {
      throw DecodingFailure(fields.place("subscription"), "is not a subscription that is known")
    }
    self = known
  }
}
