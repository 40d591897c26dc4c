internal import EventLoop
public import Formatting
internal import Synchronization

/// The HTTP server of an installed program: a few pages, each made by an asynchronous function.
///
/// While a page is made its connection is suspended, so that neither the daemon's thread nor a thread of Swift's pool
/// waits. What clients may take is bounded: connections, time, and the sizes of headers and bodies.
public final class HTTPServer: Sendable {
  /// How much the clients may take.
  public struct Bounds: Sendable {
    /// The daemon's own: connections, their memory, their idle time.
    public var daemon = HTTPDaemon.Bounds()
    /// How long a page may take; then the answer is 503.
    public var answer: Duration = .seconds(10)
    /// Bytes of a body; a larger one is refused with 413. No page takes one as yet: it is thrown away.
    public var body = 4096

    /// The usual bounds.
    public init() {}
  }

  private let daemon: HTTPDaemon
  private let core: ServerCore

  /// Where it listens, with the port that the system chose.
  public var address: ListenAddress { daemon.address }

  /// Starts to serve.
  ///
  /// - Throws: `HTTPServingError` where the address cannot be listened on.
  public init(
    _ address: ListenAddress, _ routes: [HTTPRoute], bounds: Bounds = Bounds()
  ) throws(HTTPServingError) {
    let core = ServerCore(routes, bounds, isLoopback: address.isLoopback)
    daemon = try HTTPDaemon(address, bounds.daemon) { _, method, path in
      PageExchange(core, method: method, path: path)
    }
    self.core = core
  }

  deinit { core.close() }

  /// Stops: no new connection, pages that are being made are answered with 503. It returns when all is closed.
  public func stop() async {
    daemon.quiesce()
    core.close()
    let daemon = daemon
    // It waits for the daemon's thread, which no thread of the pool may do.
    if await HelperThread.value(of: { daemon.stop() }) == nil { daemon.stop() }
  }
}

/// One page: the path that asks for it, and what makes it.
public struct HTTPRoute: Sendable {
  /// The path, without a query.
  public let path: String
  let answer: @Sendable () async -> HTTPAnswer

  /// A page that GET and HEAD ask for.
  public init(_ path: String, _ answer: @escaping @Sendable () async -> HTTPAnswer) {
    self.path = path
    self.answer = answer
  }
}

/// What goes back to a client.
public struct HTTPAnswer: Sendable, Equatable {
  /// The status.
  public var status: Int
  /// The body's type.
  public var contentType: String
  /// The body.
  public var body: [UInt8]
  /// What the path may be asked by; of 405 alone.
  var allow: String?

  /// An answer with its parts.
  public init(_ status: Int = 200, contentType: String, body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A line of text.
  public static func text(_ status: Int, _ line: String) -> HTTPAnswer {
    HTTPAnswer(status, contentType: "text/plain; charset=utf-8", body: Array((line + "\n").utf8))
  }

  /// A JSON value.
  public static func json(_ status: Int, _ value: JSONValue) -> HTTPAnswer {
    HTTPAnswer(status, contentType: "application/json", body: value.bytes + Array("\n".utf8))
  }

  /// Nothing of a request is in here: what a client sends cannot become a header of its answer.
  var headers: [(name: String, value: String)] {
    [
      ("Content-Type", contentType), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
      ("Content-Security-Policy", "default-src 'none'"),
    ] + (allow.map { [("Allow", $0)] } ?? [])
  }
}

/// What all requests share.
final class ServerCore: Sendable {
  private struct State {
    var isClosed = false
    var lastNumber: UInt64 = 0
    /// The pages that are being made.
    var pending: [UInt64: PendingPage] = [:]
  }

  private let routes: [String: HTTPRoute]
  private let isLoopback: Bool
  private let state = Mutex(State())
  let bounds: HTTPServer.Bounds

  init(_ routes: [HTTPRoute], _ bounds: HTTPServer.Bounds, isLoopback: Bool) {
    self.routes = Dictionary(uniqueKeysWithValues: routes.map { ($0.path, $0) })
    self.bounds = bounds
    self.isLoopback = isLoopback
  }

  /// The page that a request is for, or why there is none.
  func route(method: String, path: String, host: String?) -> Result<HTTPRoute, RefusedRequest> {
    guard !isLoopback || Self.isThisMachine(host) else {
      // A page of the web whose name was made to stand for 127.0.0.1 would else read it by somebody's browser.
      return .failure(RefusedRequest(.text(421, "This server is reached as 127.0.0.1 or localhost alone.")))
    }
    guard let route = routes[path] else {
      let known = routes.keys.sorted().joined(separator: " ")
      return .failure(RefusedRequest(.text(404, "There is no such page. There are: \(known)")))
    }
    guard method == "GET" || method == "HEAD" else {
      var refusal = HTTPAnswer.text(405, "This page is read by GET.")
      refusal.allow = "GET, HEAD"
      return .failure(RefusedRequest(refusal))
    }
    return .success(route)
  }

  /// Whether a request names this machine by its loopback, with a port or without; one without a name is none of a
  /// browser. A name that only looks like an address, such as `127.x.example.org`, may stand for any machine.
  private static func isThisMachine(_ host: String?) -> Bool {
    guard let host else { return true }
    return (ListenAddress(host) ?? ListenAddress(host + ":80"))?.isLoopback ?? false
  }

  /// Suspends a connection and begins to make its page; false when the server is closing.
  func make(_ route: HTTPRoute, _ page: PendingPage) -> Bool {
    // Under the lock, so that none is suspended after `close` has resumed them.
    let number: UInt64? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.lastNumber += 1
      state.pending[state.lastNumber] = page
      page.connection.suspend()
      return state.lastNumber
    }
    guard let number else { return false }
    let work = Task { finish(number, await route.answer()) }
    let limit = Task { [bounds] in
      do { try await Task.sleep(for: bounds.answer) } catch { return }  // it was made before
      finish(number, .text(503, "The page took too long."))
      work.cancel()
    }
    page.whenFinished { limit.cancel() }
    return true
  }

  private func finish(_ number: UInt64, _ answer: HTTPAnswer) {
    state.withLock { $0.pending.removeValue(forKey: number) }?.finish(answer)
  }

  /// Answers all pages that are being made, and makes none from now on.
  func close() {
    let pending = state.withLock { state in
      defer { state.pending = [:] }
      state.isClosed = true
      return state.pending.values
    }
    for page in pending { page.finish(.text(503, "The program is stopping.")) }
  }
}

/// Why a request gets no page.
struct RefusedRequest: Error {
  let answer: HTTPAnswer

  init(_ answer: HTTPAnswer) {
    self.answer = answer
  }
}

/// A page that is being made, while its connection is suspended.
final class PendingPage: Sendable {
  private struct State {
    var answer: HTTPAnswer?
    var whenFinished: (@Sendable () -> Void)?
  }

  let connection: HTTPConnection
  private let state = Mutex(State())

  init(_ connection: HTTPConnection) {
    self.connection = connection
  }

  /// What there is to be sent.
  var answer: HTTPAnswer? { state.withLock { $0.answer } }

  /// Calls the closure when it is finished, at once if it is.
  func whenFinished(_ body: @escaping @Sendable () -> Void) {
    let isFinished = state.withLock { state in
      if state.answer == nil { state.whenFinished = body }
      return state.answer != nil
    }
    if isFinished { body() }
  }

  /// The connection goes on with this answer. Called once.
  func finish(_ answer: HTTPAnswer) {
    let told = state.withLock { state in
      state.answer = answer
      defer { state.whenFinished = nil }
      return state.whenFinished
    }
    told?()
    connection.resume()
  }
}

/// One request for a page.
private final class PageExchange: HTTPExchange {
  private let core: ServerCore
  private let method: String
  private let path: String
  private var route: HTTPRoute?
  private var page: PendingPage?
  private var bodyBytes = 0

  init(_ core: ServerCore, method: String, path: String) {
    self.core = core
    self.method = method
    self.path = path
  }

  override func begin(_ connection: HTTPConnection) -> Bool {
    switch core.route(method: method, path: path, host: connection.header("Host")) {
    case .failure(let refused): return deliver(refused.answer, connection)
    case .success(let route): self.route = route
    }
    if let length = connection.header("Content-Length"), Int(length).map({ $0 > core.bounds.body }) ?? true {
      return deliver(.text(413, "The request's body is too large."), connection)
    }
    return true
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bodyBytes += bytes.count
    // One that did not announce its length.
    return bodyBytes <= core.bounds.body
  }

  override func advance(_ connection: HTTPConnection) -> Bool {
    if let page { return page.answer.map { deliver($0, connection) } ?? false }
    guard let route else { return false }
    let page = PendingPage(connection)
    self.page = page
    return core.make(route, page) || deliver(.text(503, "The program is stopping."), connection)
  }

  private func deliver(_ answer: HTTPAnswer, _ connection: HTTPConnection) -> Bool {
    connection.answer(answer.status, answer.headers, answer.body)
  }
}
