import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue

/// Shows lanes, counts and workers.
enum StatusPresenter: Presenter {
  /// A worker that was not heard of for longer is lost: a lease has passed, and its jobs are taken over.
  static let silence = 15.0

  static func json(_ response: StatusResponse) -> JSONValue {
    let queue = response.queue
    return [
      "schema_version": .count(response.schemaVersion), "waiting": count(queue.waiting),
      "in_flight": .count(queue.inFlight), "scheduled": count(queue.scheduled),
      "next_scheduled_at": .time(queue.nextScheduledAt), "dead": count(queue.dead),
      "pending_refunds": count(queue.pendingRefunds),
      "oldest_waiting_seconds": queue.oldestWaitingSeconds.map(JSONValue.number) ?? .null,
      "lanes": .array(queue.lanes.map(lane)), "workers": .array(queue.workers.map(worker)),
      "pauses": .array(queue.pauses.map(PausesPresenter.json)),
      "gauges": .object(
        queue.gauges.sorted { $0.key < $1.key }.map {
          JSONValue.Member(name: $0.key, value: .integer($0.value))
        }),
    ]
  }

  private static func count(_ count: BoundedCount) -> JSONValue {
    ["value": .count(count.value), "exact": .bool(count.isExact)]
  }

  private static func lane(_ lane: QueueStatus.LaneStatus) -> JSONValue {
    [
      "lane": .string(lane.lane.description), "waiting": count(lane.waiting),
      "in_flight": .count(lane.inFlight),
      "oldest_waiting_seconds": lane.oldestWaitingSeconds.map(JSONValue.number) ?? .null,
    ]
  }

  private static func worker(_ worker: QueueStatus.WorkerStatus) -> JSONValue {
    [
      "id": .string(String(worker.id)), "host": .string(worker.host), "pid": .count(worker.pid),
      "version": .string(worker.version), "started_at": .time(worker.startedAt),
      "state": .string(state(worker)), "heartbeat_seconds_ago": .number(worker.heartbeatAgo),
      "in_flight": .count(worker.inFlight),
      "report": worker.report.map(WorkerReportPresenter.json) ?? .null,
    ]
  }

  static func text(_ response: StatusResponse, width: Int?, paint: Paint) -> String {
    let queue = response.queue
    var text =
      "waiting \(queue.waiting), running \(queue.inFlight), scheduled \(queue.scheduled), dead \(queue.dead)\n"
    if let next = queue.nextScheduledAt { text += "next scheduled run: \(Moment.short(next))\n" }
    if queue.pendingRefunds.value > 0 { text += "refunds to be applied: \(queue.pendingRefunds)\n" }
    for pause in queue.pauses { text += paint(PausesPresenter.line(pause), .yellow) + "\n" }
    text += "\n" + lanes(queue).render(width: width, paint: paint) + "\n"
    guard !queue.workers.isEmpty else { return text + "No worker was heard of in the last hour.\n" }
    text += workers(queue).render(width: width, paint: paint)
    return text + WorkerReportPresenter.text(queue.workers, width: width, paint: paint)
  }

  private static func isLost(_ worker: QueueStatus.WorkerStatus) -> Bool { worker.heartbeatAgo > silence }

  private static func state(_ worker: QueueStatus.WorkerStatus) -> String {
    isLost(worker) ? "lost" : "alive"
  }

  private static func lanes(_ queue: QueueStatus) -> Table {
    var table = Table([
      .init("LANE"), .init("WAITING", alignment: .right), .init("RUNNING", alignment: .right),
      .init("OLDEST", alignment: .right),
    ])
    for lane in queue.lanes {
      table.add([
        Cell(lane.lane.description), Cell(lane.waiting.description), Cell(lane.inFlight),
        Cell(Moment.age(lane.oldestWaitingSeconds)),
      ])
    }
    return table
  }

  private static func workers(_ queue: QueueStatus) -> Table {
    var table = Table([
      .init("WORKER", shrinks: true), .init("PID", alignment: .right), .init("STATE"), .init("VERSION"),
      .init("STARTED"),
      .init("HEARD OF", alignment: .right), .init("RUNNING", alignment: .right),
    ])
    for worker in queue.workers {
      table.add([
        Cell(worker.host), Cell(worker.pid), Cell(state(worker), isLost(worker) ? .red : nil),
        Cell(worker.version), Cell(Moment.short(worker.startedAt)),
        Cell(Moment.age(worker.heartbeatAgo) + " ago"),
        Cell(worker.inFlight),
      ])
    }
    return table
  }
}
