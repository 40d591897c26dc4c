public import EventLoop
public import HTTPServing
public import Support

/// The pages that a monitoring system reads of a program of ours, the same of each: `/metrics`, `/healthz`, `/readyz`.
///
/// Whoever reaches the address may read them. None names a user, and none shows a finding or a picture.
public struct MonitoringPages: Sendable {
  static let paths = ["/metrics", "/healthz", "/readyz"]

  private let metrics: @Sendable () async -> [MetricFamily]
  private let loops: [EventLoop]
  private let readiness: @Sendable () async -> ServiceReadiness

  /// Pages of what a program says of itself.
  ///
  /// - Parameters:
  ///   - metrics: Its metrics, as they are now.
  ///   - loops: Those on which its work is done: where one hangs the process does not work.
  ///   - readiness: Whether it can do its work.
  public init(
    metrics: @escaping @Sendable () async -> [MetricFamily], loops: [EventLoop],
    readiness: @escaping @Sendable () async -> ServiceReadiness
  ) {
    self.metrics = metrics
    self.loops = loops
    self.readiness = readiness
  }

  /// What serves them.
  public var routes: [HTTPRoute] {
    [
      HTTPRoute("/metrics") {
        HTTPAnswer(
          contentType: Exposition.contentType, body: Array(Exposition.text(await metrics()).utf8))
      },
      HTTPRoute("/healthz") {
        // Where a loop hangs no answer is made, and the server says so in time.
        do {
          for loop in loops { try await loop.sleep(for: .zero) }
        } catch {
          return .text(503, "The process is stopping.")
        }
        return .text(200, "The process works.")
      },
      HTTPRoute("/readyz") {
        let readiness = await readiness()
        return .json(readiness.isReady ? 200 : 503, readiness.facts)
      },
    ]
  }
}

extension ValueFormat where Value == ListenAddress {
  /// An address and a port: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`.
  public static var listenAddress: Self {
    ValueFormat(
      name: "ADDRESS:PORT",
      read: { ListenAddress($0) },
      else: "is not a numeric address with a port, such as 127.0.0.1:9464 or [::1]:9464",
      text: \.description)
  }
}

/// Where a program may listen: on the loopback, and wider only where that was asked for by a flag of its own.
public struct ListenRule: Sendable {
  private let option: String
  private let flag: String

  /// The rule of an option and its flag, as they are typed.
  public init(option: String, flag: String) {
    self.option = option
    self.flag = flag
  }

  /// Refuses an address that other machines reach, unless the flag was given; then it warns.
  public func check(_ address: ListenAddress, isAllowed: Bool, _ console: Console) throws(CommandFailure) {
    guard !address.isLoopback else { return }
    guard isAllowed else {
      throw .usage(
        "\(option) \(address) lets other machines in, and who reads there is not asked who it is.",
        advice: "Listen on 127.0.0.1, or give \(flag) too where the network is closed to others.")
    }
    console.say(
      "warning: \(option) \(address) lets other machines in: who reaches it reads counts of jobs, addresses of endpoints "
        + "and the database's size, without TLS and without a password.")
  }

  /// Starts to serve there.
  public func serve(
    _ address: ListenAddress, _ routes: [HTTPRoute], bounds: HTTPServer.Bounds = HTTPServer.Bounds(),
    events: HTTPEvents? = nil
  ) throws(CommandFailure) -> HTTPServer {
    do throws(HTTPServingError) {
      return try HTTPServer(address, routes, bounds: bounds, events: events)
    } catch {
      throw .usage("\(option): \(error.description).", advice: "Name another address or port.")
    }
  }
}

/// The listener of `--metrics`: a monitoring system reads there how a program does, from its start to its end.
public struct MetricsListener: Sendable {
  private let server: HTTPServer?

  /// Listens at the address of `--metrics`; nowhere where it is nil.
  ///
  /// Throws `CommandFailure` where other machines would be let in unasked, or where it cannot listen.
  public init(
    at address: ListenAddress?, _ pages: MonitoringPages, _ context: Context, _ log: Log
  ) throws {
    guard let address else {
      server = nil
      return
    }
    let rule = ListenRule(option: "--metrics", flag: "--metrics-from-anywhere")
    try rule.check(
      address, isAllowed: try context.values[ServiceOptions.metricsFromAnywhere], context.console)
    let server = try rule.serve(address, pages.routes)
    log.notice("Metrics are served", ["address": .string(server.address.description)])
    self.server = server
  }

  /// Ends, when the program's work has.
  public func stop() async { await server?.stop() }
}
