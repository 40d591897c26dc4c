extension Endpoint {
  /// Where the calls of an endpoint are, below its base address.
  public struct Paths: Sendable {
    /// Make an account.
    public var register = "/api/register"
    /// Get a token for an account.
    public var login = "/api/login"
    /// Get a token for a refresh token.
    public var refresh = "/api/refresh-token"
    /// Analyse an image.
    public var analyze = "/api/analyze"
    /// Keep an analysis with the account.
    public var save: String
    /// The account's analyses.
    public var analyses: String
    /// One of the account's analyses is below this, by its id.
    public var analysis: String
    /// The account.
    public var profile = "/api/user-profile"
    /// Change the account.
    public var updateProfile = "/api/update-profile"
    /// Change the account's subscription.
    public var updateSubscription = "/api/update-subscription"
    /// Whether the backend is up.
    public var health = "/api/health"

    /// The paths of a variant.
    public init(_ dialect: Dialect) {
      switch dialect {
      case .guide:
        save = "/api/analyses/save"
        analyses = "/api/analyses"
        analysis = "/api/analyses"
      case .server:
        save = "/api/save-analysis"
        analyses = "/api/analysis-history"
        analysis = "/api/analysis"
      }
    }
  }
}
