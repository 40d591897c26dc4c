import Queue
import Support

/// What happened to a job, in the order in which it did. Times are those that the database has: when a job was claimed
/// is nowhere written down, and of calls that brought nothing only their end; so a length is shown where it is known.
struct JobTimeline {
  /// Something that happened.
  struct Event: Equatable {
    let at: Double
    let title: String
    var text = ""
    var style = ""
  }

  let events: [Event]

  /// How many attempts that failed are shown, the last ones; a job has at most 255 that count, and others that are
  /// folded.
  static let mostAttempts = 60

  init(_ detail: JobDetail) {
    let job = detail.summary
    var events = [Event(at: job.createdAt, title: "Submitted", text: "counts in \(job.period)")]
    if let runAt = job.runAt, runAt > job.createdAt + 1, job.state != .scheduled {
      events.append(Event(at: runAt, title: "Due", text: "it was to run from then on"))
    }
    events += detail.attempts.suffix(Self.mostAttempts).map(Self.attempt)
    events += Self.end(detail)
    self.events = events.sorted { $0.at < $1.at }
    now = Self.now(detail)
  }

  /// Where it is at present; nil once it has ended.
  private let now: String?

  private static func attempt(_ attempt: AttemptRecord) -> Event {
    let cause = FailureCause(attempt.failureClass, status: attempt.status, code: attempt.code)
    let facts = [
      "worker \(attempt.worker)",
      attempt.calls == 1 ? "1 call" : "\(attempt.calls) calls",
      attempt.errorID.map { "error id \($0.shortened(to: 100))" },
      attempt.consumed ? nil : "does not count",
    ]
    return Event(
      at: attempt.at, title: "Attempt \(attempt.attempt) failed: \(cause.description.shortened(to: 100))",
      text: [
        attempt.message?.shortened(to: 300), "(" + facts.compactMap { $0 }.joined(separator: ", ") + ")",
      ]
      .compactMap { $0 }.joined(separator: " "), style: "bad")
  }

  private static func end(_ detail: JobDetail) -> [Event] {
    guard let at = detail.summary.finishedAt else { return [] }
    switch detail.summary.state {
    case .succeeded:
      guard let result = detail.result else { return [Event(at: at, title: "Stored", style: "good")] }
      let length = result.callMilliseconds.map { "the call took \($0) ms" }
      let facts = [
        "attempt \(result.attempt)", result.calls == 1 ? "1 call" : "\(result.calls) calls", length,
        result.endpoint.map { "endpoint \($0)" }, result.version.map { "worker's version \($0)" },
      ]
      return [
        Event(at: at, title: "Stored", text: facts.compactMap { $0 }.joined(separator: ", "), style: "good")
      ]
    case .dead:
      return [Event(at: at, title: "Died", text: "its unit was given back", style: "bad")]
    case .cancelled:
      return [Event(at: at, title: "Cancelled", text: "its unit was given back", style: "quiet")]
    default: return []
    }
  }

  private static func now(_ detail: JobDetail) -> String? {
    switch detail.summary.state {
    case .waiting: "Waits for a worker."
    case .scheduled: detail.summary.runAt.map { "Runs again from \(Moment.short($0)) on." }
    case .running:
      "Claimed by worker \(detail.holder?.name ?? ""), number \(detail.holder.map { String($0.worker) } ?? "unknown")."
    default: nil
    }
  }

  /// The list.
  var html: HTML {
    """
    <ol class="timeline">
    \(zip(events, [nil] + events.map(Optional.some)).map(Self.line))\
    \(now.map { text in "<li><strong>Now</strong> \(text)</li>\n" as HTML })
    </ol>
    """
  }

  private static func line(_ event: Event, after before: Event?) -> HTML {
    let later = before.map { " <span class=\"quiet\">\(Moment.age(event.at - $0.at)) later</span>" as HTML }
    return """
      <li><span class="quiet">\(Moment.short(event.at))</span> <strong class="\(event.style)">\(event.title)</strong>\
      \(later)<br>\(event.text)</li>

      """
  }
}
