extension Endpoint {
  /// What those fields are called whose names differ between deployments.
  public struct Fields: Sendable {
    /// The token in the answer to a login, by the first of these names that is there.
    public var token = ["token", "accessToken"]
    /// The refresh token, in requests and answers.
    public var refreshToken = "refreshToken"
    /// The subscription, in the request to change it.
    public var subscription: String
    /// The payment token, in the request to change the subscription.
    public var paymentToken: String
    /// The list in the answer with the account's analyses.
    public var analyses: String
    /// The header of the key that is the same for each attempt of a job.
    public var idempotencyKey = "Idempotency-Key"

    /// The names of a variant.
    public init(_ dialect: Dialect) {
      subscription = dialect == .guide ? "subscription" : "subscription_level"
      paymentToken = dialect == .guide ? "paymentToken" : "payment_token"
      analyses = dialect == .guide ? "analyses" : "history"
    }
  }
}
