import HTTPServing
import Queue
import Support

extension DashboardPage {
  /// Who works on the queue.
  static let workers = DashboardPage(
    path: "/workers", section: .workers, roles: [.operator, .auditor, .worker]
  ) { _, context in
    let workers = WorkerList(workers: try await context.queue().status.workers)
    return Page(title: "Workers", content: .live("workers", workers.html), isLive: true)
  }
}

/// The workers that were heard of in the last hour, the lost ones first.
struct WorkerList {
  let workers: [QueueStatus.WorkerStatus]

  private static let order: [QueueStatus.WorkerStatus.State] = [.lost, .alive, .ended]

  /// A page of them; the rest is named by its number, so that a page stays small.
  private static let most = 50

  var html: HTML {
    let sorted = Self.order.flatMap { state in workers.filter { $0.state == state } }
    var table = DataTable(
      "Workers that were heard of in the last hour",
      [
        .init("Worker"), .init("State"), .init("Jobs in hand", isNumber: true),
        .init("Calls", isNumber: true), .init("Done a second", isNumber: true),
        .init("Done", isNumber: true), .init("Retried", isNumber: true), .init("Dead", isNumber: true),
        .init("Last heard of", isNumber: true), .init("Started", isNumber: true), .init("Version"),
      ], empty: "No worker was heard of in the last hour.")
    for worker in sorted.prefix(Self.most) { table.add(Self.row(worker)) }
    let rest = sorted.count - Self.most
    let more: HTML = rest > 0 ? "<p>\(rest) more are not shown; analysisctl status lists all.</p>" : ""
    return "\(counts)\(table.html)\(more)"
  }

  private var counts: HTML {
    func count(_ state: QueueStatus.WorkerStatus.State) -> HTML {
      "\(workers.count { $0.state == state })"
    }
    return .figures([("Alive", count(.alive)), ("Lost", count(.lost)), ("Ended", count(.ended))])
  }

  private static func row(_ worker: QueueStatus.WorkerStatus) -> [HTML] {
    let counters = worker.report?.counters ?? [:]
    let calls = worker.report?.endpoints.reduce(0) { $0 + $1.inFlight }
    let done = counters["jobs_completed"]
    let rate = done.flatMap { worker.age > 0 ? Double($0) / worker.age : nil }
    return [
      "\(worker.host) \(worker.pid)", state(worker.state), "\(worker.inFlight)", number(calls),
      rate.map { rate in "\(Chart.shown(rate))" } ?? "–", number(done), number(counters["jobs_retried"]),
      number(counters["jobs_dead"]), "\(Moment.age(worker.heartbeatAgo)) ago",
      "\(Moment.age(worker.age)) ago",
      "\(worker.version)",
    ]
  }

  private static func number(_ number: Int?) -> HTML { number.map { number in "\(number)" } ?? "–" }

  private static func state(_ state: QueueStatus.WorkerStatus.State) -> HTML {
    switch state {
    case .alive: "<span class=\"good\">alive</span>"
    case .lost: "<strong class=\"bad\">lost</strong>"
    case .ended: "<span class=\"quiet\">ended</span>"
    }
  }
}
