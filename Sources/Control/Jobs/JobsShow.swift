import CommandLineTool
import Queue
import Support

enum JobsShowCommand {
  static let job = Argument("job", .jobID, help: "The job's number.")

  static let command = ControlCommand(
    "show", abstract: "Show a job with its attempts and its result.",
    discussion: """
      Each attempt that brought no result is listed, those of lost workers (worker_lost) too, with the \
      endpoint's status, code and error id. CALLS has a question mark where the endpoint may have counted a \
      call that brought nothing; COUNTS says whether it is one of the attempts that a job has.

      Of a running job is shown which worker has it, until when unless the worker moves that on, and the endpoint \
      to which the worker sends jobs of its type. When its call began nobody writes down.

      Of an analysed job, who looks at it, and why, is recorded first: see analysisctl audit. A standby cannot, and \
      refuses it. An operator sees why a job failed, and no analysis.

      \(JobsCommand.numbers)
      """,
    examples: [Example("analysisctl jobs show 123", "One job.")],
    inputs: [ReasonOption.reason, job],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let job = try context[job]
    return try await context.withSession { session in
      guard let detail = try await JobDirectory(session.database).show(job, by: session.actor) else {
        throw CommandFailure(.refused, "there is no job \(job)", advice: "Look with analysisctl jobs list.")
      }
      return try session.show(detail)
    }
  }
}

/// Shows all that is kept of a job.
extension JobDetail: Presentable {
  var json: JSONValue {
    guard case .object(let members) = summary.json else { return .null }
    let more: JSONValue = [
      "batch": .text(batch?.description), "reference": .text(reference),
      "attempt_errors": .array(attempts.map(\.json)), "result": result?.json ?? .null,
      "death": death?.json ?? .null, "holder": holder?.json ?? .null,
    ]
    guard case .object(let others) = more else { return .null }
    let hidden = isResultHidden ? [JSONValue.Member(name: "result_hidden", value: .bool(true))] : []
    return .object(members + others + hidden)
  }

  func text(width: Int?, paint: Paint) -> String {
    let job = summary
    var lines = Facts([
      ("job", job.id.description), ("user", job.user), ("file", job.sourceName),
      ("reference", reference), ("batch", batch?.description), ("lane", job.lane.description),
      ("state", job.state.rawValue), ("month", job.period.description),
      ("submitted", Moment.short(job.createdAt)), ("runs", Moment.short(job.runAt)),
      ("expires", Moment.short(job.expiresAt)), ("ended", Moment.short(job.finishedAt)),
    ])
    lines.colour("state", job.state.colour, paint)
    if let death {
      lines.add(
        "failed", [death.failureClass, death.code, death.message].compactMap { $0 }.joined(separator: ": "))
      lines.add("attempts", String(death.attempts))
    }
    if let holder { Self.add(holder, to: &lines) }
    if let result { Self.add(result, to: &lines) }
    if isResultHidden { lines.add("analysis", "not shown: only a clinician's role may read it") }
    var text = lines.text
    if let result { text += "\n" + Self.conditions(of: result, width: width, paint: paint) }
    if !attempts.isEmpty { text += "\n" + attemptTable.render(width: width, paint: paint) }
    return text
  }

  private static func add(_ holder: JobHolder, to facts: inout Facts) {
    facts.add("worker", holder.text)
    facts.add("version", holder.version)
    facts.add("worker started", Moment.short(holder.startedAt))
    facts.add("heard of", holder.heartbeatAgo.map { Moment.age($0) + " ago" })
    facts.add("held until", Moment.short(holder.deadline))
    facts.add("endpoint", holder.endpoints.joined(separator: ", "))
  }

  private static func add(_ result: StoredResult, to facts: inout Facts) {
    facts.add("analysis", result.analysisID)
    facts.add("answered", Moment.short(result.answeredAt))
    facts.add("endpoint", result.endpoint)
    facts.add("model", result.model)
    facts.add("calls", String(result.calls))
    for (name, flag) in zip(["serious", "consult", "endpoint serious", "endpoint consult"], result.flags) {
      facts.add(name, flag)
    }
  }

  private static func conditions(of result: StoredResult, width: Int?, paint: Paint) -> String {
    let conditions = StoredCondition.read(result.conditionsJSON)
    guard !conditions.isEmpty else { return "No condition was found.\n" }
    return conditions.table([
      .init("CONDITION", shrinks: true) { Cell($0.name) },
      .init("CONFIDENCE", alignment: .right) { Cell($0.percentage ?? "") },
      .init("BAND") { Cell($0.mark?.rawValue ?? "", $0.mark?.colour) },
    ]).render(width: width, paint: paint)
  }

  private var attemptTable: Table {
    attempts.table([
      .init("ATTEMPT", alignment: .right) { Cell($0.attempt) },
      .init("AT") { Cell(Moment.short($0.at)) },
      .init("CLASS") { Cell($0.failureClass) },
      .init("CODE", shrinks: true) {
        Cell([$0.status.map(String.init), $0.code].compactMap(\.self).joined(separator: " "))
      },
      .init("CALLS", alignment: .right) {
        Cell($0.maybeCounted && $0.calls > 0 ? "\($0.calls)?" : String($0.calls))
      },
      .init("COUNTS") { $0.consumed ? "yes" : "no" },
      .init("WORKER", shrinks: true, mayGo: true) { Cell($0.workerText) },
      .init("ENDPOINT", shrinks: true, mayGo: true) { Cell($0.endpoint ?? "") },
      .init("ERROR ID", shrinks: true, mayGo: true) { Cell($0.errorID ?? "") },
      .init("MESSAGE", shrinks: true) { Cell($0.message ?? "") },
    ])
  }
}

extension AttemptRecord {
  fileprivate var json: JSONValue {
    [
      "attempt": .count(attempt), "at": .time(at), "class": .string(failureClass), "code": .text(code),
      "message": .text(message), "error_id": .text(errorID), "status": .count(status),
      "calls": .count(calls), "maybe_counted": .bool(maybeCounted), "counts": .bool(consumed),
      "endpoint": .text(endpoint), "worker": .string(String(worker)),
      "worker_name": .text(workerName),
    ]
  }
}

extension StoredResult {
  /// The analysis in one object.
  var json: JSONValue {
    [
      "analysis": .string(analysisID), "answered_at": .time(answeredAt), "finished_at": .time(finishedAt),
      "serious": .flag(isSerious), "consult": .flag(advisesConsultation),
      "endpoint_serious": .flag(endpointSaysSerious), "endpoint_consult": .flag(endpointAdvisesConsultation),
      "conditions": .array(StoredCondition.read(conditionsJSON).map(\.json)), "attempt": .count(attempt),
      "calls": .count(calls), "call_milliseconds": .count(callMilliseconds), "endpoint": .text(endpoint),
      "model": .text(model), "version": .text(version),
    ]
  }
}

extension JobHolder {
  fileprivate var json: JSONValue {
    [
      "worker": .string(String(worker)), "name": .text(name), "version": .text(version),
      "started_at": .time(startedAt), "heartbeat_seconds_ago": heartbeatAgo.map(JSONValue.number) ?? .null,
      "held_until": .time(deadline), "endpoints": .array(endpoints.map(JSONValue.string)),
    ]
  }
}

extension JobDeath {
  fileprivate var json: JSONValue {
    [
      "at": .time(failedAt), "class": .string(failureClass), "code": .text(code), "message": .text(message),
      "attempts": .count(attempts), "calls": .count(calls),
    ]
  }
}

extension ConditionMark {
  /// The terminal's nearest to the band's own colour; nil for a normal one.
  var colour: Paint.Colour? {
    switch self {
    case .normal: nil
    case .green: .green
    case .yellow: .yellow
    case .orange: .orange
    case .red: .red
    }
  }
}

extension StoredCondition {
  var json: JSONValue {
    [
      "id": .string(id), "name": .string(name), "confidence": .number(confidence),
      "percentage": .text(percentage), "band": .text(storedBand?.rawValue), "normal": .bool(normal ?? false),
    ]
  }
}
