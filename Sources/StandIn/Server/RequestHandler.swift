import Glibc
import HTTPServing

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
