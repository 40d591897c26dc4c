import Administration
import CommandLineTool
import Formatting
import JobQueue

/// Shows what workers say of themselves: what they have counted, and how they find their endpoints.
enum WorkerReportPresenter {
  typealias Worker = QueueStatus.WorkerStatus

  /// The counters that stand in the table, with their headings; the JSON has all.
  private static let columns = [
    ("DONE", "jobs_completed"), ("RETRIED", "jobs_retried"), ("DEAD", "jobs_dead"),
    ("RESCUED", "jobs_rescued"), ("STALE", "outcomes_stale"), ("LEASES LOST", "leases_lost"),
    ("CONNECTS", "database_connects"), ("FAILED", "database_connect_failures"),
  ]

  static func json(_ report: WorkerReport) -> JSONValue {
    [
      "counters": .object(
        report.counters.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: .count($0.value)) }),
      "endpoints": .array(report.endpoints.map(json)),
      "clock_ahead_seconds": report.clockAhead.map(JSONValue.number) ?? .null,
      "clock_uncertainty_seconds": report.clockUncertainty.map(JSONValue.number) ?? .null,
    ]
  }

  private static func json(_ endpoint: WorkerReport.Endpoint) -> JSONValue {
    [
      "name": .string(endpoint.name), "types": .array(endpoint.kinds.map(JSONValue.string)),
      "state": .string(endpoint.state.rawValue), "reason": .text(endpoint.reason),
      "next_try_seconds": endpoint.nextTrySeconds.map(JSONValue.number) ?? .null,
      "in_flight": .count(endpoint.inFlight), "window": .count(endpoint.window),
    ]
  }

  /// The tables below that of the workers; nothing when no worker has said anything.
  static func text(_ workers: [Worker], width: Int?, paint: Paint) -> String {
    let telling = workers.compactMap { worker in worker.report.map { (worker, $0) } }
    guard !telling.isEmpty else { return "" }
    var counters = Table(
      [.init("SINCE ITS START", shrinks: true)] + columns.map { .init($0.0, alignment: .right) })
    var endpoints = Table([
      .init("ENDPOINT", shrinks: true), .init("TYPES"), .init("WORKER", shrinks: true), .init("STATE"),
      .init("CALLS", alignment: .right), .init("WHY", shrinks: true),
    ])
    for (worker, report) in telling {
      let name = "\(worker.host) \(worker.pid)"
      counters.add([Cell(name)] + columns.map { Cell(report.counters[$0.1] ?? 0) })
      for endpoint in report.endpoints {
        endpoints.add([
          Cell(endpoint.name), Cell(endpoint.kinds.joined(separator: ",")), Cell(name),
          Cell(state(endpoint), endpoint.state == .open ? nil : .red),
          Cell("\(endpoint.inFlight)/\(endpoint.window)"), Cell(endpoint.reason ?? ""),
        ])
      }
    }
    let tables = [counters, endpoints].map { $0.render(width: width, paint: paint) }
    return tables.map { "\n" + $0 }.joined()
  }

  /// `open`, `paused`, `shut, again in 12 s`.
  private static func state(_ endpoint: WorkerReport.Endpoint) -> String {
    guard endpoint.state == .shut, let next = endpoint.nextTrySeconds else { return endpoint.state.rawValue }
    return "shut, again in \(Moment.age(next))"
  }
}
