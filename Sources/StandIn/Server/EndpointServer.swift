import Glibc
import HTTPServing

/// The stand-in for an analysis endpoint: answers as one does until it is stopped.
final class EndpointServer: Sendable {
  /// The port it listens on.
  let port: UInt16
  /// Where clients reach it, such as `http://127.0.0.1:8080`.
  let baseURL: String
  private let core: EndpointCore
  private let daemon: HTTPDaemon

  /// Starts to serve.
  ///
  /// - Throws: `EndpointError` if the configuration is not valid or the address cannot be listened on.
  init(_ configuration: EndpointConfiguration, clock: EndpointClock = .system) throws(EndpointError) {
    let core = try EndpointCore(configuration, clock: clock)
    var bounds = HTTPDaemon.Bounds()
    bounds.threads = configuration.threads
    // Half of it is the first read buffer of a connection: an image of 120 KB arrives in few reads.
    bounds.connectionBytes = 256 << 10
    bounds.connections = 8192
    bounds.surplus = .waits
    bounds.idleSeconds = 120
    let security = configuration.transportSecurity
    do throws(HTTPServingError) {
      daemon = try HTTPDaemon(
        ListenAddress(host: configuration.host, port: configuration.port), bounds,
        security: security.map { HTTPDaemon.TransportSecurity(certificate: $0.certificate, key: $0.key) }
      ) { connection, method, path in
        RequestHandler(core: core).begin(connection, method: method, path: path)
      }
    } catch {
      core.held.close()
      throw EndpointError(
        .cannotListen,
        "cannot listen on \(configuration.host):\(configuration.port); is the address numeric, the port free "
          + "and, with TLS, the certificate valid?")
    }
    self.core = core
    port = daemon.address.port
    baseURL = "\(security == nil ? "http" : "https")://\(configuration.host):\(port)"
  }

  deinit { stop() }

  /// Counts since the start.
  var statistics: EndpointStatistics { core.statistics.snapshot(of: core) }

  /// Stops: no new connection, held answers go out at once, requests that are being answered get a second to
  /// finish, the rest is cut. Returns when all is closed; a second call does nothing.
  func stop() {
    daemon.quiesce()
    core.held.close()
    // Looked at, not waited for: the library tells of a request's end on its own threads only, after the
    // answer's last byte, and has nothing that a stopping caller could wait on.
    let deadline = ContinuousClock.now + .seconds(1)
    while core.statistics.inFlight > 0, ContinuousClock.now < deadline {
      usleep(2000)
    }
    daemon.stop()
  }
}

/// What all requests share.
final class EndpointCore: Sendable {
  let configuration: EndpointConfiguration
  let clock: EndpointClock
  let accounts: AccountDirectory
  let cache: AnalysisCache
  let buffers = ImageBuffers()
  let tries = TryCounter()
  let statistics = Statistics()
  let log: UploadLog?
  let held: HeldConnections

  init(_ configuration: EndpointConfiguration, clock: EndpointClock) throws(EndpointError) {
    try configuration.validate()
    guard Randomness.isReady else { throw EndpointError(.system, "the system gives no random bytes") }
    self.configuration = configuration
    self.clock = clock
    accounts = try AccountDirectory(configuration: configuration, clock: clock)
    cache = AnalysisCache(
      capacity: configuration.cacheCapacity, decodes: configuration.decodesPictures,
      advises: configuration.dialect == .server)
    log = try configuration.logPath.map { path throws(EndpointError) in try UploadLog(path: path) }
    held = try HeldConnections()
  }
}

/// Takes a request through its stages; called on libmicrohttpd's threads.
struct RequestHandler {
  let core: EndpointCore

  /// The first line and the headers are there.
  func begin(_ connection: HTTPConnection, method: String, path: String) -> Exchange {
    let exchange = Exchange(
      route: Route(method: method, path: path, core.configuration.dialect), connection: connection,
      handler: self)
    if exchange.route == .analyze { exchange.inFlight = core.statistics.began() }
    return exchange
  }

  /// The whole body is there, or the connection goes on after it was held.
  ///
  /// - Returns: whether the connection stays open.
  func advance(_ exchange: Exchange, _ connection: HTTPConnection) -> Bool {
    switch exchange.stage {
    case .hung: return false
    case .delayed(let answer):
      exchange.stage = .reading
      return deliver(answer, exchange, connection)
    case .reading: break
    }
    guard exchange.route == .analyze else {
      return deliver(AccountRoutes(core: core).answer(exchange), exchange, connection)
    }
    let outcome = AnalyzeRoute(core: core).answer(exchange)
    record(outcome, exchange)
    if core.configuration.delay > .zero {
      exchange.stage = .delayed(outcome.answer)
      if core.held.hold(connection, for: core.configuration.delay) { return true }
    }
    return deliver(outcome.answer, exchange, connection)
  }

  /// The request is over, whether it was answered or not.
  func end(_ exchange: Exchange) {
    if exchange.route == .analyze { core.statistics.ended() }
  }

  private func record(_ outcome: AnalyzeRoute.Outcome, _ exchange: Exchange) {
    let name = outcome.answer.outcome ?? "status-\(outcome.answer.status)"
    core.statistics.answered(name)
    core.log?.write(
      UploadLog.Line(
        key: exchange.idempotencyKey, image: outcome.image, attempt: outcome.attempt,
        status: outcome.answer.status, outcome: name, inFlight: exchange.inFlight,
        duration: .now - exchange.startedAt, time: core.clock.now))
  }

  private func deliver(_ answer: Answer, _ exchange: Exchange, _ connection: HTTPConnection) -> Bool {
    switch answer.delivery {
    case .whole:
      return connection.answer(answer.status, answer.headers, answer.body)
    case .truncated(let missing):
      return connection.answer(
        answer.status, answer.headers, length: answer.body.count + missing,
        PartialBody(answer.body, drip: nil, connection: connection, held: core.held))
    case .dripped(let piece, let pause):
      return connection.answer(
        answer.status, answer.headers, length: answer.body.count,
        PartialBody(answer.body, drip: (piece, pause), connection: connection, held: core.held))
    case .reset:
      reset(connection.socket)
      return false
    case .never(let limit):
      exchange.stage = .hung
      return core.held.hold(connection, for: limit, socket: connection.socket)
    }
  }

  /// Sends RST. Closing with a linger time of 0 would not: libmicrohttpd shuts the socket down first, which
  /// sends FIN. Connecting to "no address" makes Linux reset the connection at once.
  private func reset(_ socket: Int32) {
    var address = sockaddr()
    address.sa_family = sa_family_t(AF_UNSPEC)
    _ = connect(socket, &address, socklen_t(MemoryLayout<sockaddr>.size))
  }
}
