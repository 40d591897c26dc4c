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

  init(method: String, path: String) {
    if let (allowed, route) = Self.fixed[path] {
      self = method == allowed ? route : .wrongMethod(allowed: allowed)
    } else if path.hasPrefix(Self.analyses), path.utf8.count > Self.analyses.utf8.count {
      let id = String(path.dropFirst(Self.analyses.count))
      self = method == "DELETE" ? .delete(id) : .wrongMethod(allowed: "DELETE")
    } else {
      self = .unknown
    }
  }

  private static let analyses = "/api/analyses/"

  private static let fixed: [String: (String, Route)] = [
    "/api/analyze": ("POST", .analyze),
    "/api/register": ("POST", .register),
    "/api/login": ("POST", .logIn),
    "/api/refresh-token": ("POST", .refresh),
    "/api/analyses/save": ("POST", .save),
    "/api/save-analysis": ("POST", .save),
    "/api/analyses": ("GET", .list),
    "/api/user-profile": ("GET", .profile),
    "/api/update-profile": ("PUT", .updateProfile),
    "/api/update-subscription": ("POST", .updateSubscription),
    "/api/health": ("GET", .health),
    "/api/stats": ("GET", .statistics),
  ]
}
