import FoundationEssentials
import Support

/// What a method and a path ask for.
enum Route: Equatable, Sendable {
  case register, logIn, refresh
  case analyze
  case save, list
  case delete(String)
  case profile, updateProfile, updateSubscription
  case health, statistics
  /// The path is known, the method is not; `allowed` is.
  case wrongMethod(allowed: String)
  case unknown
  /// What the real server does not know: it answers each GET with its application's page.
  case page, noPage

  init(method: String, path: String, _ dialect: EndpointConfiguration.Dialect) {
    let saved = Self.savedAnalysis(dialect)
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    let (allowed, route): (String, Route)
    if let known = Self.common[path] ?? (dialect == .guide ? Self.guide : Self.server)[path] {
      (allowed, route) = known
    } else if path.hasPrefix(saved), path.utf8.count > saved.utf8.count {
      (allowed, route) = ("DELETE", .delete(String(path.dropFirst(saved.count))))
    } else {
      (allowed, route) = ("", .unknown)
    }
    self =
      switch dialect {
      case _ where method == allowed: route
      case .guide: allowed.isEmpty ? .unknown : .wrongMethod(allowed: allowed)
      case .server: method == "GET" || method == "HEAD" ? .page : .noPage
      }
  }

  /// Every path of a dialect; the number of an analysis follows the last.
  static func paths(_ dialect: EndpointConfiguration.Dialect) -> [String] {
    Array(common.keys) + Array((dialect == .guide ? guide : server).keys) + [savedAnalysis(dialect)]
  }

  private static func savedAnalysis(_ dialect: EndpointConfiguration.Dialect) -> String {
    dialect == .guide ? "/api/analyses/" : "/api/analysis/"
  }

  private static let common: [String: (String, Route)] = [
    "/api/analyze": ("POST", .analyze),
    "/api/register": ("POST", .register),
    "/api/login": ("POST", .logIn),
    "/api/refresh-token": ("POST", .refresh),
    "/api/user-profile": ("GET", .profile),
    "/api/update-profile": ("PUT", .updateProfile),
    "/api/update-subscription": ("POST", .updateSubscription),
    "/api/health": ("GET", .health),
    "/api/stats": ("GET", .statistics),
  ]

  private static let guide: [String: (String, Route)] = [
    "/api/analyses/save": ("POST", .save), "/api/analyses": ("GET", .list),
  ]

  private static let server: [String: (String, Route)] = [
    "/api/save-analysis": ("POST", .save), "/api/analysis-history": ("GET", .list),
  ]
}

/// The JSON bodies clients send.
enum CallBody {
  struct Credentials: Decodable {
    let email: String
    let password: String
    let name: String?
  }

  struct Refresh: Decodable {
    let refreshToken: String
  }

  struct Save: Decodable {
    let id: String?
    let type: String
    let conditions: JSONValue
  }

  struct Profile: Decodable {
    let name: String?
    let email: String?
  }

  /// `subscription` of the guide, or `subscription_level` of the real server.
  struct Plan: Decodable {
    let subscription: String?
    let subscriptionLevel: String?

    private enum CodingKeys: String, CodingKey {
      case subscription
      case subscriptionLevel = "subscription_level"
    }

    func level(_ dialect: EndpointConfiguration.Dialect) -> AccountSubscription? {
      (dialect == .guide ? subscription : subscriptionLevel).flatMap(AccountSubscription.init(rawValue:))
    }
  }

  /// Whether a body is JSON at all.
  static func isJSON(_ bytes: [UInt8]) -> Bool { decode(JSONValue.self, bytes) != nil }

  /// The body of a request, or nil if it is not of that form.
  static func decode<Body: Decodable>(_ type: Body.Type, _ bytes: [UInt8]) -> Body? {
    try? JSONDecoder().decode(type, from: Data(bytes))
  }
}
