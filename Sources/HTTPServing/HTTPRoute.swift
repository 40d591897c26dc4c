/// One page: the path that asks for it, and what makes it.
public struct HTTPRoute: Sendable {
  /// How it is asked for.
  public let method: HTTPRequest.Method
  /// The path, without a query. A `*` between slashes stands for any one part: `/jobs/*`.
  public let path: String
  /// Whether it is answered by whatever name the server was asked; otherwise a server on the loopback answers by the
  /// loopback's names alone. To be allowed only where the page asks who reads it.
  public var answersAnyName = false
  let body: Body
  let answer: @Sendable (HTTPRequest) async -> HTTPAnswer

  /// What of a request's body the page takes.
  enum Body: Sendable {
    /// Nothing; it is thrown away.
    case none
    /// The fields of a form.
    case form
    /// All of it, of any kind, up to so many bytes.
    case bytes(Int)
    /// A file, once whoever sends it was let in: nil lets in, an answer refuses.
    case upload(UploadForm, admit: @Sendable (HTTPRequest) async -> HTTPAnswer?)
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
    self.init(method, path, method == .post ? .form : .none, answer)
  }

  /// A page that is made from its request and the whole of its body.
  ///
  /// - Parameter bytes: How many the body may have.
  public init(
    _ method: HTTPRequest.Method, _ path: String, bodyUpTo bytes: Int,
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
  ) {
    self.init(method, path, .bytes(bytes), answer)
  }

  /// A page to which a file is sent.
  ///
  /// - Parameter admit: Called when the headers are there, before the body is read: nil lets it in, an answer refuses.
  public init(
    upload form: UploadForm, to path: String, admit: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer?,
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
  ) {
    self.init(.post, path, .upload(form, admit: admit), answer)
  }

  private init(
    _ method: HTTPRequest.Method, _ path: String, _ body: Body,
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPAnswer
  ) {
    self.method = method
    self.path = path
    self.body = body
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

  init(_ routes: [HTTPRoute]) {
    fixed = Dictionary(grouping: routes.filter { !$0.path.contains("*") }, by: \.path)
    patterns = routes.filter { $0.path.contains("*") }
    paths = Set(routes.map(\.path)).sorted().joined(separator: " ")
  }

  /// The route that answers a request, or what is said where there is none.
  func match(method: String, path: String) -> Result<Match, HTTPRefusal> {
    let found =
      fixed[path].map { routes in routes.map { Match(route: $0, parameters: []) } }
      ?? patterns.compactMap { route in
        Self.parameters(of: path, in: route.path).map { Match(route: route, parameters: $0) }
      }
    guard !found.isEmpty else {
      return .failure(HTTPRefusal(404, "There is no such page. There are: \(paths)"))
    }
    let asked = HTTPRequest.Method(rawValue: method == "HEAD" ? "GET" : method)
    if let match = found.first(where: { $0.route.method == asked }) { return .success(match) }
    let allowed = found.flatMap { $0.route.method == .get ? ["GET", "HEAD"] : [$0.route.method.rawValue] }
    var refusal = HTTPRefusal(405, "This page is asked for by \(allowed.joined(separator: ", ")).")
    refusal.headers.append(("Allow", allowed.joined(separator: ", ")))
    return .failure(refusal)
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
