public import HTTPServing
public import Support

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
