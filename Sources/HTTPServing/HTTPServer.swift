internal import EventLoop
internal import Synchronization

/// The HTTP server of an installed program: a few pages, each made by an asynchronous function.
///
/// While a page is made its connection is suspended, so that neither the daemon's threads nor a thread of Swift's pool
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
    var form = 64 << 10
    /// Bytes that files which are being sent, or looked at, take in memory together; beyond them 503 is answered.
    public var uploads = 256 << 20
    /// Whether what is made for a client ends when the client breaks off its connection. One that has closed its side
    /// alone is answered.
    public var endsWithClient = false

    /// The usual bounds.
    public init() {}
  }

  /// How often slow clients, and those that have gone, are looked for.
  private static let lookEvery: Duration = .milliseconds(250)

  private let daemon: HTTPDaemon
  private let core: ServerCore
  private let watch: Task<Void, Never>?

  /// Where it listens, with the port that the system chose.
  public var address: ListenAddress { daemon.address }

  /// Starts to serve.
  ///
  /// - Parameters:
  ///   - security: With which it speaks TLS; nil for plain HTTP.
  ///   - crossOrigin: Which other sites' pages may read its answers; none.
  ///   - events: What some of the routes answer with, which ends when the server stops.
  ///   - refuse: How it words what it refuses by itself.
  ///   - answered: Called with the status of each answer when it is sent, the server's own refusals among them. Not of those
  ///     that libmicrohttpd makes: to what is no HTTP, and headers that are too long.
  /// - Throws: `HTTPServingError` where the address cannot be listened on.
  public init(
    _ address: ListenAddress, _ routes: [HTTPRoute], bounds: Bounds = Bounds(),
    security: HTTPDaemon.TransportSecurity? = nil, crossOrigin: CrossOrigin = CrossOrigin(),
    events: HTTPEvents? = nil,
    refuse: @escaping @Sendable (HTTPRefusal) -> HTTPAnswer = HTTPRefusal.text,
    answered: @escaping @Sendable (_ status: Int) -> Void = { _ in }
  ) throws(HTTPServingError) {
    let core = ServerCore(
      routes, bounds, crossOrigin, events, isLoopback: address.isLoopback, refuse: refuse, answered: answered)
    let daemon = try HTTPDaemon(
      address, bounds.daemon, security: security,
      refuse: { fault in
        answered(400)
        return core.answer(HTTPRefusal(400, fault))
      },
      accept: { _, method, path in PageExchange(core, method: method, path: path) })
    self.core = core
    self.daemon = daemon
    guard bounds.endsWithClient || bounds.daemon.leastPace != nil else {
      watch = nil
      return
    }
    let tooSlow = security == nil ? core.answer(ServerCore.tooSlow).wholeText : nil
    watch = Task { [weak daemon] in
      while (try? await Task.sleep(for: Self.lookEvery)) != nil, let daemon {
        if let least = bounds.daemon.leastPace {
          let ended = daemon.endSlowClients(least, answer: tooSlow)
          if tooSlow != nil { for _ in 0..<ended { answered(ServerCore.tooSlow.status) } }
        }
        if bounds.endsWithClient { core.abandon(daemon.abandonedConnections()) }
      }
    }
  }

  deinit {
    watch?.cancel()
    core.close()
  }

  /// Waits until no request is under way, or the time has passed, or nobody wants to wait any longer.
  public func idle(within time: Duration, isHurried: @Sendable () -> Bool = { false }) async {
    let until = ContinuousClock.now + time
    // Looked at, not waited for: the library reports a request's end on its own threads only, before the last byte of
    // its answer has gone.
    while busy > 0, ContinuousClock.now < until, !isHurried() {
      try? await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Connections on which a request's body comes in, or its answer is being made.
  var busy: Int { daemon.busyConnections }

  /// Stops: no new connection, pages that are being made are answered with 503. It returns when all is closed.
  public func stop() async {
    watch?.cancel()
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

  static let isStopping = HTTPRefusal(503, "The program is stopping.")
  static let tooMany = HTTPRefusal(503, "There are too many connections. Try again later.", closes: true)
  static let tooLarge = HTTPRefusal(413, "The request's body is too large.")
  static let noMemory = HTTPRefusal(503, "Too much is being sent at once. Try again later.")
  static let tooSlow = HTTPRefusal(408, "The request came in too slowly.", closes: true)

  let routes: HTTPRoutes
  let crossOrigin: CrossOrigin
  private let events: HTTPEvents?
  private let asksForName: Bool
  private let refuse: @Sendable (HTTPRefusal) -> HTTPAnswer
  let answered: @Sendable (Int) -> Void
  private let state = Mutex(State())
  let bounds: HTTPServer.Bounds
  let uploads: BodyBudget

  init(
    _ routes: [HTTPRoute], _ bounds: HTTPServer.Bounds, _ crossOrigin: CrossOrigin, _ events: HTTPEvents?,
    isLoopback: Bool,
    refuse: @escaping @Sendable (HTTPRefusal) -> HTTPAnswer, answered: @escaping @Sendable (Int) -> Void
  ) {
    self.routes = HTTPRoutes(routes)
    self.bounds = bounds
    self.crossOrigin = crossOrigin
    self.events = events
    self.refuse = refuse
    self.answered = answered
    asksForName = isLoopback
    uploads = BodyBudget(bounds.uploads)
  }

  /// What is sent to who is refused.
  func answer(_ refusal: HTTPRefusal) -> HTTPAnswer {
    var answer = refuse(refusal)
    answer.headers += refusal.headers
    return answer
  }

  /// The page that a request is for, or why there is none.
  func route(method: String, path: String, host: String?) -> Result<HTTPRoutes.Match, HTTPRefusal> {
    guard !asksForName || routes.answersAnyName(path) || Self.isThisMachine(host) else {
      // A page of the web whose name was made to stand for 127.0.0.1 would else read it by somebody's browser.
      return .failure(HTTPRefusal(421, "This server is reached as 127.0.0.1 or localhost alone."))
    }
    return routes.match(method: method, path: path)
  }

  /// Whether a request names this machine by its loopback, with a port or without; one without a name is none of a
  /// browser. A name that only looks like an address, such as `127.x.example.org`, may stand for any machine.
  private static func isThisMachine(_ host: String?) -> Bool {
    guard let host = host?.lowercased() else { return true }
    let end = host.last == "]" ? host.endIndex : host.lastIndex(of: ":") ?? host.endIndex
    // A name may end with the dot of the root.
    let name = host[..<end].last == "." ? host[..<end].dropLast() : host[..<end]
    let asked = name + host[end...]
    return (ListenAddress(String(asked)) ?? ListenAddress(asked + ":80"))?.isLoopback ?? false
  }

  /// Begins to make a page; false when the server is closing.
  func make(_ route: HTTPRoute, _ request: HTTPRequest, _ page: PendingPage) -> Bool {
    let told =
      route.method == .get
      ? "The page took too long."
      : "This took too long and was stopped. A part of it may be done: look before you send it again."
    return begin(page, orSay: told) { await route.answer(request) }
  }

  /// Has something decided of a request: what is to be answered, or nil for it to go on; false when the server is closing.
  ///
  /// - Parameter atOnce: Whether what needs no waiting is decided before this returns.
  func begin(
    _ page: PendingPage, atOnce: Bool = false, orSay told: String,
    _ decision: @escaping @Sendable () async -> HTTPAnswer?
  ) -> Bool {
    let number: UInt64? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.lastNumber += 1
      state.pending[state.lastNumber] = page
      return state.lastNumber
    }
    guard let number else { return false }
    let work =
      atOnce
      ? Task.immediate { finish(number, await decision()) } : Task { finish(number, await decision()) }
    guard !page.isFinished else { return true }
    let limit = Task { [bounds] in
      do { try await Task.sleep(for: bounds.answer) } catch { return }  // it was made before
      finish(number, answer(HTTPRefusal(503, told)))
      work.cancel()
    }
    page.whenAbandoned { work.cancel() }
    page.whenFinished { limit.cancel() }
    return true
  }

  private func finish(_ number: UInt64, _ answer: HTTPAnswer?) {
    // Under the lock, so that `close` does not return, and the daemon does not stop, while a connection that is not
    // among those it resumes is still to be resumed here. What is called does not come back to this lock.
    state.withLock { $0.pending.removeValue(forKey: number)?.finish(answer) }
  }

  /// Ends what is made for connections whose clients have gone.
  func abandon(_ connections: [HTTPConnection]) {
    guard !connections.isEmpty else { return }
    let gone = Set(connections)
    let pages = state.withLock { $0.pending.values.filter { gone.contains($0.connection) } }
    for page in pages { page.abandon() }
  }

  /// Answers all pages that are being made, and makes none from now on.
  func close() {
    let pending = state.withLock { state in
      defer { state.pending = [:] }
      state.isClosed = true
      return state.pending.values
    }
    for page in pending { page.finish(answer(Self.isStopping)) }
    events?.close()
  }
}
