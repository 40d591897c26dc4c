import CommandLineTool
import EventLoop
import HTTPServing
import Logging
import Programs
import Worker
import WorkerSettings

/// The listener of `--metrics`: a monitoring system reads there how the worker does, from its start to its end.
struct MetricsListener {
  private let server: HTTPServer?

  /// Listens where the options say; nowhere without them.
  init(_ context: Context, _ monitor: WorkerMonitor, _ loop: EventLoop, _ log: Log) throws {
    guard let address = try context.values[WorkerOptions.metrics] else {
      server = nil
      return
    }
    let rule = ListenRule(option: "--metrics", flag: "--metrics-from-anywhere")
    try rule.check(
      address, isAllowed: try context.values[WorkerOptions.metricsFromAnywhere], context.console)
    let pages = MonitoringPages(
      metrics: { await monitor.metrics() },
      loop: loop,
      readiness: { await monitor.readiness() })
    let server = try rule.serve(address, pages.routes)
    log.notice("Metrics are served", ["address": .string(server.address.description)])
    self.server = server
  }

  /// Ends, when the run has.
  func stop() async { await server?.stop() }
}
