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
