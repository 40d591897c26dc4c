internal import EventLoop
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
    /// Bytes of a body that no page takes, and that is thrown away; a larger one is refused with 413.
    public var body = 4096
    /// Bytes of a form; a larger one is refused with 413.
    public var form = 64 << 10

    /// The usual bounds.
    public init() {}
  }

  private let daemon: HTTPDaemon
  private let core: ServerCore

  /// Where it listens, with the port that the system chose.
  public var address: ListenAddress { daemon.address }

  /// Starts to serve.
  ///
  /// - Parameter events: What some of the routes answer with, which ends when the server stops.
  /// - Throws: `HTTPServingError` where the address cannot be listened on.
  public init(
    _ address: ListenAddress, _ routes: [HTTPRoute], bounds: Bounds = Bounds(), events: HTTPEvents? = nil
  ) throws(HTTPServingError) {
    let core = ServerCore(routes, bounds, events, isLoopback: address.isLoopback)
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

/// What all requests share.
final class ServerCore: Sendable {
  private struct State {
    var isClosed = false
    var lastNumber: UInt64 = 0
    /// The pages that are being made.
    var pending: [UInt64: PendingPage] = [:]
  }

  private let routes: HTTPRoutes
  private let events: HTTPEvents?
  private let asksForName: Bool
  private let state = Mutex(State())
  let bounds: HTTPServer.Bounds

  init(_ routes: [HTTPRoute], _ bounds: HTTPServer.Bounds, _ events: HTTPEvents?, isLoopback: Bool) {
    self.routes = HTTPRoutes(routes)
    self.bounds = bounds
    self.events = events
    asksForName = isLoopback
  }

  /// The page that a request is for, or why there is none.
  func route(method: String, path: String, host: String?) -> Result<HTTPRoutes.Match, RefusedRequest> {
    let match = routes.match(method: method, path: path)
    guard !asksForName || (try? match.get())?.route.answersAnyName == true || Self.isThisMachine(host) else {
      // A page of the web whose name was made to stand for 127.0.0.1 would else read it by somebody's browser.
      return .failure(RefusedRequest(.text(421, "This server is reached as 127.0.0.1 or localhost alone.")))
    }
    return match
  }

  /// Whether a request names this machine by its loopback, with a port or without; one without a name is none of a
  /// browser. A name that only looks like an address, such as `127.x.example.org`, may stand for any machine.
  private static func isThisMachine(_ host: String?) -> Bool {
    guard let host else { return true }
    return (ListenAddress(host) ?? ListenAddress(host + ":80"))?.isLoopback ?? false
  }

  /// Suspends a connection and begins to make its page; false when the server is closing.
  func make(_ route: HTTPRoute, _ request: HTTPRequest, _ page: PendingPage) -> Bool {
    // Under the lock, so that none is suspended after `close` has resumed them.
    let number: UInt64? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.lastNumber += 1
      state.pending[state.lastNumber] = page
      page.connection.suspend()
      return state.lastNumber
    }
    guard let number else { return false }
    let work = Task { finish(number, await route.answer(request)) }
    let limit = Task { [bounds] in
      do { try await Task.sleep(for: bounds.answer) } catch { return }  // it was made before
      let told =
        route.method == .post
        ? "This took too long and was stopped. A part of it may be done: look before you send the form again."
        : "The page took too long."
      finish(number, .text(503, told))
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
    events?.close()
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
  private var match: HTTPRoutes.Match?
  private var page: PendingPage?
  private var body: [UInt8] = []
  private var bodyBytes = 0

  init(_ core: ServerCore, method: String, path: String) {
    self.core = core
    self.method = method
    self.path = path
  }

  override func begin(_ connection: HTTPConnection) -> Bool {
    if let fault = faultOfHeaders(connection) {
      var answer = HTTPAnswer.text(400, fault)
      answer.headers.append(("Connection", "close"))
      return deliver(answer, connection)
    }
    switch core.route(method: method, path: path, host: connection.header("Host")) {
    case .failure(let refused): return deliver(refused.answer, connection)
    case .success(let match): self.match = match
    }
    if let length = connection.header("Content-Length"), Int(length).map({ $0 > bodyLimit }) ?? true {
      return deliver(.text(413, "The request's body is too large."), connection)
    }
    return true
  }

  /// What a proxy before this server may have read otherwise than it does: then what follows may be anybody's.
  private func faultOfHeaders(_ connection: HTTPConnection) -> String? {
    let lengths = connection.headers.all("content-length")
    let codings = connection.headers.all("transfer-encoding")
    if lengths.count + codings.count > 1 { return "The request says twice how long its body is." }
    if let coding = codings.first, coding.lowercased() != "chunked" {
      return "The request's body is coded in a way that is not understood."
    }
    if connection.headers.all("host").count > 1 { return "The request names two hosts." }
    return nil
  }

  private var takesForm: Bool { match?.route.method == .post }
  private var bodyLimit: Int { takesForm ? core.bounds.form : core.bounds.body }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bodyBytes += bytes.count
    // One that did not announce its length.
    guard bodyBytes <= bodyLimit else { return false }
    if takesForm { body += bytes }
    return true
  }

  override func advance(_ connection: HTTPConnection) -> Bool {
    if let page { return page.answer.map { deliver($0, connection) } ?? false }
    guard let match else { return false }
    let request: HTTPRequest
    switch HTTPRequest.read(match, path: path, connection, body) {
    case .failure(let refused): return deliver(refused.answer, connection)
    case .success(let read): request = read
    }
    let page = PendingPage(connection)
    self.page = page
    return core.make(match.route, request, page)
      || deliver(.text(503, "The program is stopping."), connection)
  }

  private func deliver(_ answer: HTTPAnswer, _ connection: HTTPConnection) -> Bool {
    guard let events = answer.events else {
      return connection.answer(answer.status, answer.allHeaders, answer.body)
    }
    guard let body = events.source.open(connection) else {
      return deliver(.text(503, "Too many browsers listen to events already."), connection)
    }
    events.opened()
    return connection.answer(answer.status, answer.allHeaders, length: nil, body)
  }
}
