/// The plan of an account.
public enum Subscription: String, Sendable, Codable {
  /// Limited to a number of analyses a month; shown as "Basic".
  case free
  /// Unlimited; shown as "Premium".
  case premium
}
