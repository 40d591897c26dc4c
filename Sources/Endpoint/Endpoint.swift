internal import Support

/// An endpoint: where it is and which of the API's variants it speaks.
public struct Endpoint: Sendable {
  /// The two variants that endpoints are known to speak; single paths and names may still be changed.
  public enum Dialect: String, CaseIterable, Sendable {
    /// As the endpoint's integration guide says.
    case guide
    /// As the endpoint's published server does.
    case server
  }

  /// What operators call it; kept with each result.
  public var name: String
  /// `https://host[:port][/prefix]`.
  var baseURL: String
  /// Where its calls are.
  var paths: Paths
  /// What its fields are called.
  var fields: Fields
  /// How long its calls may take.
  var deadlines = Deadlines()
  /// The conditions that mean "nothing found".
  var normalIDs = Condition.defaultNormalIDs
  /// The longest pause that an overloaded endpoint may ask for; a longer one is cut to this.
  var maximumRetryAfter: Duration = .seconds(3600)

  /// An endpoint of a variant.
  init(name: String, baseURL: String, dialect: Dialect = .server) {
    self.name = name
    self.baseURL = baseURL
    paths = Paths(dialect)
    fields = Fields(dialect)
  }

  /// The address of a path below the base.
  func url(_ path: String) -> String {
    var base = baseURL[...]
    while base.last == "/" { base.removeLast() }
    return base + (path.hasPrefix("/") ? path : "/" + path)
  }
}

extension Endpoint {
  /// Where the calls of an endpoint are, below its base address.
  struct Paths: Sendable {
    var register = "/api/register"
    /// Get a token for an account.
    var login = "/api/login"
    /// Get a token for a refresh token.
    var refresh = "/api/refresh-token"
    var analyze = "/api/analyze"
    /// Keep an analysis with the account.
    var save: String
    var analyses: String
    /// One of the account's analyses is below this, by its id.
    var analysis: String
    var profile = "/api/user-profile"
    var updateProfile = "/api/update-profile"
    /// Change the account's subscription.
    var updateSubscription = "/api/update-subscription"
    /// Whether the endpoint is up.
    var health = "/api/health"

    /// The paths of a variant.
    init(_ dialect: Dialect) {
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

extension Endpoint {
  /// What those fields are called whose names differ between deployments.
  struct Fields: Sendable {
    /// The token in the answer to a login, by the first of these names that is there.
    var token = ["token", "accessToken"]
    /// The refresh token, in requests and answers.
    var refreshToken = "refreshToken"
    /// The subscription, in the request to change it.
    var subscription: String
    /// The payment token, in the request to change the subscription.
    var paymentToken: String
    /// The list in the answer with the account's analyses.
    var analyses: String
    /// The header of the key that is the same for each attempt of a job.
    var idempotencyKey = "Idempotency-Key"

    /// The names of a variant.
    init(_ dialect: Dialect) {
      subscription = dialect == .guide ? "subscription" : "subscription_level"
      paymentToken = dialect == .guide ? "paymentToken" : "payment_token"
      analyses = dialect == .guide ? "analyses" : "history"
    }
  }
}

extension Endpoint {
  /// How long calls may take from their start to the answer's last byte.
  struct Deadlines: Sendable {
    /// An analysis; the endpoint's own limit is 120 s.
    var analyze: Duration = .seconds(120)
    /// Everything about accounts and saved analyses; the endpoint's own app waits 30 s.
    var account: Duration = .seconds(30)
    /// The question whether the endpoint is up.
    var health: Duration = .seconds(5)

    init() {}
  }
}
