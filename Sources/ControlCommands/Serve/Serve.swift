import CommandLineTool
import EventLoop
import HTTPServing
import Programs
import System

/// `analysisctl serve`.
enum ServeCommand {
  static let listen = Option(
    "listen", .listenAddress, default: ListenAddress(host: "127.0.0.1", port: 8080),
    environment: "ANALYSIS_LISTEN", key: "listen", help: "Where to listen; with port 0 on any free port.")
  static let fromAnywhere = Flag(
    "listen-from-anywhere", environment: "ANALYSIS_LISTEN_FROM_ANYWHERE", key: "listen-from-anywhere",
    help: "Allow --listen at an address that other machines reach; nobody is asked for a password there.")

  static let command = ControlCommand(
    "serve", abstract: "Serve the queue's metrics and its health by HTTP, until it is stopped.",
    discussion: """
      /metrics is what Prometheus reads: jobs by state, type and priority, the oldest that waits, workers, breakers, \
      dead jobs by cause, refusals, the last report, the database's size. /healthz says that the process works, and \
      /readyz whether the database answers, with 503 when it does not.

      The database is asked at most every 5 s, however many read. No page names a user. Each worker serves its own \
      counts, see analysis-worker --metrics.
      """,
    examples: [
      Example("analysisctl serve", "At http://127.0.0.1:8080/metrics, until Ctrl-C."),
      Example("analysisctl serve --listen [::1]:9465", "At another address."),
    ],
    inputs: [listen, fromAnywhere],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission], keepsEnd: false
  ) { context in
    let address = try context[listen]
    let rule = ListenRule(option: "--listen", flag: "--listen-from-anywhere")
    try rule.check(address, isAllowed: try context[fromAnywhere], context.console)
    return try await context.withSession(keepsEnd: false) { session in
      let monitor = QueueMonitor(session.database)
      // A login that may not read the status is told so now, and not by pages without numbers.
      try await monitor.refresh()
      let server = try rule.serve(address, pages(monitor, session.loop).routes)
      session.console.say("Serving http://\(server.address)/metrics, /healthz and /readyz.")
      let service = ServiceNotification(environment: context.environment)
      service.ready()
      await session.interruption.asked()
      service.stopping()
      await server.stop()
      return .done
    }
  }

  private static func pages(_ monitor: QueueMonitor, _ loop: EventLoop) -> MonitoringPages {
    MonitoringPages(
      metrics: { await monitor.metrics() },
      loop: loop,
      readiness: { await monitor.readiness() })
  }
}
