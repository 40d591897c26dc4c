import Cmicrohttpd
import Glibc

/// Takes a request through its stages; called on libmicrohttpd's threads.
struct RequestHandler {
  let core: EndpointCore

  /// The first line and the headers are there.
  func begin(_ connection: OpaquePointer, method: String, path: String) -> Exchange {
    let exchange = Exchange(
      route: Route(method: method, path: path, core.configuration.dialect), connection: connection,
      buffers: core.buffers)
    if exchange.route == .analyze { exchange.inFlight = core.statistics.began() }
    return exchange
  }

  /// The whole body is there, or the connection goes on after it was held.
  ///
  /// - Returns: whether the connection stays open.
  func advance(_ exchange: Exchange, _ connection: OpaquePointer) -> Bool {
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

  private func deliver(_ answer: Answer, _ exchange: Exchange, _ connection: OpaquePointer) -> Bool {
    let response: OpaquePointer?
    switch answer.delivery {
    case .whole:
      response = answer.body.withUnsafeBytes { mhd_response($0.baseAddress, $0.count) }
    case .truncated(let missing):
      response = PartialBody(answer.body, drip: nil, connection: connection, held: core.held)
        .response(length: answer.body.count + missing)
    case .dripped(let piece, let pause):
      response = PartialBody(answer.body, drip: (piece, pause), connection: connection, held: core.held)
        .response(length: answer.body.count)
    case .reset:
      reset(mhd_socket(connection))
      return false
    case .never(let limit):
      exchange.stage = .hung
      return core.held.hold(connection, for: limit, socket: mhd_socket(connection))
    }
    guard let response else { return false }
    defer { MHD_destroy_response(response) }
    for header in answer.headers { MHD_add_response_header(response, header.name, header.value) }
    return MHD_queue_response(connection, UInt32(answer.status), response) == mhd_yes
  }

  /// Sends RST. Closing with a linger time of 0 would not: libmicrohttpd shuts the socket down first, which
  /// sends FIN. Connecting to "no address" makes Linux reset the connection at once.
  private func reset(_ socket: Int32) {
    var address = sockaddr()
    address.sa_family = sa_family_t(AF_UNSPEC)
    _ = connect(socket, &address, socklen_t(MemoryLayout<sockaddr>.size))
  }
}
