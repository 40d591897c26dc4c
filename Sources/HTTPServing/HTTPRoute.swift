/// One page: the path that asks for it, and what makes it.
public struct HTTPRoute: Sendable {
  /// How it is asked for.
  let method: HTTPRequest.Method
  /// The path, without a query. A `*` between slashes stands for any one part: `/jobs/*`.
  public let path: String
  /// Whether it is answered by whatever name the server was asked; otherwise a server on the loopback answers by the
  /// loopback's names alone. To be allowed only where the page asks who reads it.
  public var answersAnyName = false
  let body: Body
  /// Whether who asks is let in, decided when the headers are there; nil lets in, an answer refuses. Without it all are.
  let admit: (@Sendable (HTTPRequest) async -> HTTPAnswer?)?
  let answer: @Sendable (HTTPRequest) async -> HTTPAnswer

  /// What of a request's body the page takes.
  enum Body: Sendable {
    /// Nothing; it is thrown away.
    case none
    /// The fields of a form.
    case form
    /// All of it, of any kind, up to so many bytes.
    case bytes(Int)
    case upload(UploadForm)
  }

  /// A page that GET and HEAD ask for.
  public init(_ path: String, _ answer: @escaping @Sendable () async -> HTTPAnswer) {
    self.init(.get, path) { _ in await answer() }
  }

  /// A page that is made from its request; to `post` a form is sent.
  public init(
    _ method: HTTPRequest.Method, _ path: String,
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
  ) {
    self.init(method, path, method == .post ? .form : .none, admit: nil, answer)
  }

  /// A page that is made from its request and the whole of its body.
  ///
  /// - Parameters:
  ///   - bytes: How many the body may have.
  ///   - admit: Called when the headers are there: nil lets in, an answer refuses. What it decides without waiting, it
  ///     decides before anything of the body is kept.
  public init(
    _ method: HTTPRequest.Method, _ path: String, bodyUpTo bytes: Int,
    admit: (@Sendable (HTTPRequest) async -> HTTPAnswer?)? = nil,
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
  ) {
    self.init(method, path, .bytes(bytes), admit: admit, answer)
  }

  /// A page to which a file is sent.
  ///
  /// - Parameter admit: As for a body of bytes.
  public init(
    upload form: UploadForm, to path: String, admit: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer?,
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
  ) {
    self.init(.post, path, .upload(form), admit: admit, answer)
  }

  /// The same page below a path, under which a proxy passes it on.
  ///
  /// - Parameter base: The path, without a slash at its end; empty for the root.
  public func below(_ base: String) -> HTTPRoute {
    guard !base.isEmpty else { return self }
    var route = HTTPRoute(method, path == "/" ? base : base + path, body, admit: admit) { [answer] request in
      var request = request
      let own = request.path.dropFirst(base.count)
      request.path = own.isEmpty ? "/" : String(own)
      return await answer(request)
    }
    route.answersAnyName = answersAnyName
    return route
  }

  private init(
    _ method: HTTPRequest.Method, _ path: String, _ body: Body,
    admit: (@Sendable (HTTPRequest) async -> HTTPAnswer?)?,
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
  ) {
    self.method = method
    self.path = path
    self.body = body
    self.admit = admit
    self.answer = answer
  }
}

/// The routes of a server, found by path and method.
struct HTTPRoutes: Sendable {
  /// A route with what stands for each `*` of its path.
  struct Match {
    let route: HTTPRoute
    let parameters: [String]
  }

  private let fixed: [String: [HTTPRoute]]
  private let patterns: [HTTPRoute]
  private let paths: String
  private let someAnswerAnyName: Bool

  init(_ routes: [HTTPRoute]) {
    fixed = Dictionary(grouping: routes.filter { !$0.path.contains("*") }, by: \.path)
    patterns = routes.filter { $0.path.contains("*") }
    someAnswerAnyName = routes.contains { $0.answersAnyName }
    paths = Set(routes.map(\.path)).sorted().joined(separator: " ")
  }

  /// The route that answers a request, or what is said where there is none.
  func match(method: String, path: String) -> Result<Match, HTTPRefusal> {
    let found = found(path)
    guard !found.isEmpty else {
      return .failure(HTTPRefusal(404, "There is no such page. There are: \(paths)"))
    }
    let asked = HTTPRequest.Method(rawValue: method == "HEAD" ? "GET" : method)
    if let match = found.first(where: { $0.route.method == asked }) { return .success(match) }
    let allowed = methods(path).joined(separator: ", ")
    var refusal = HTTPRefusal(405, "This page is asked for by \(allowed).")
    refusal.headers.append(("Allow", allowed))
    return .failure(refusal)
  }

  /// How a path may be asked for; empty where there is no such path.
  func methods(_ path: String) -> [String] {
    found(path).flatMap { $0.route.method == .get ? ["GET", "HEAD"] : [$0.route.method.rawValue] }
  }

  /// Whether what is said of a path is said by whatever name the server was asked; that there is none where any page is
  /// shown so.
  func answersAnyName(_ path: String) -> Bool {
    let found = found(path)
    return found.isEmpty ? someAnswerAnyName : found.contains { $0.route.answersAnyName }
  }

  /// What a path asks for, also where it ends in a slash more than the route's.
  private func found(_ path: String) -> [Match] {
    let exact = exactly(path)
    return exact.isEmpty && path.hasSuffix("/") ? exactly(String(path.dropLast())) : exact
  }

  private func exactly(_ path: String) -> [Match] {
    fixed[path].map { routes in routes.map { Match(route: $0, parameters: []) } }
      ?? patterns.compactMap { route in
        Self.parameters(of: path, in: route.path).map { Match(route: route, parameters: $0) }
      }
  }

  private static func parameters(of path: String, in pattern: String) -> [String]? {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let wanted = pattern.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == wanted.count else { return nil }
    var parameters: [String] = []
    for (part, wanted) in zip(parts, wanted) {
      if wanted == "*", !part.isEmpty {
        parameters.append(String(part))
      } else if part != wanted {
        return nil
      }
    }
    return parameters
  }
}
