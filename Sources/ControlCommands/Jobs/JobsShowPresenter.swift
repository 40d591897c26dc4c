import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue

/// Shows all that is kept of a job.
enum JobsShowPresenter: Presenter {
  static func json(_ detail: JobDetail) -> JSONValue {
    guard case .object(let members) = JobsListPresenter.json(of: detail.summary) else { return .null }
    let more: JSONValue = [
      "attempt_errors": .array(detail.attempts.map(attempt)), "result": detail.result.map(result) ?? .null,
      "death": detail.death.map(death) ?? .null,
    ]
    guard case .object(let others) = more else { return .null }
    let hidden = detail.isResultHidden ? [JSONValue.Member(name: "result_hidden", value: .bool(true))] : []
    return .object(members + others + hidden)
  }

  private static func attempt(_ attempt: AttemptRecord) -> JSONValue {
    [
      "attempt": .count(attempt.attempt), "at": .time(attempt.at), "class": .string(attempt.failureClass),
      "code": .text(attempt.code), "message": .text(attempt.message), "error_id": .text(attempt.errorID),
      "status": .count(attempt.status), "calls": .count(attempt.calls),
      "maybe_counted": .bool(attempt.maybeCounted), "counts": .bool(attempt.consumed),
      "endpoint": .text(attempt.endpoint), "worker": .string(String(attempt.worker)),
    ]
  }

  private static func result(_ result: StoredResult) -> JSONValue {
    [
      "analysis": .string(result.analysisID), "answered_at": .time(result.answeredAt),
      "finished_at": .time(result.finishedAt), "serious": .bool(result.isPotentiallySerious),
      "consult": .bool(result.recommendsConsultation),
      "conditions": .array(StoredCondition.read(result.conditionsJSON).map(condition)),
      "attempt": .count(result.attempt), "calls": .count(result.calls),
      "call_milliseconds": .count(result.callMilliseconds), "endpoint": .text(result.endpoint),
      "model": .text(result.model), "version": .text(result.version),
    ]
  }

  private static func condition(_ condition: StoredCondition) -> JSONValue {
    [
      "id": .string(condition.id), "name": .string(condition.name),
      "confidence": .number(condition.confidence), "percentage": .text(condition.percentage),
      "band": .text(condition.shownBand?.rawValue), "normal": .bool(condition.normal ?? false),
    ]
  }

  private static func death(_ death: JobDeath) -> JSONValue {
    [
      "at": .time(death.failedAt), "class": .string(death.failureClass), "code": .text(death.code),
      "message": .text(death.message), "attempts": .count(death.attempts), "calls": .count(death.calls),
    ]
  }

  static func text(_ detail: JobDetail, width: Int?, paint: Paint) -> String {
    let job = detail.summary
    var lines = Facts([
      ("job", job.id.description), ("user", job.user), ("file", job.sourceName),
      ("lane", job.lane.description),
      ("state", job.state.rawValue), ("month", job.period.description),
      ("submitted", Moment.short(job.createdAt)), ("runs", Moment.short(job.runAt)),
      ("expires", Moment.short(job.expiresAt)), ("ended", Moment.short(job.finishedAt)),
    ])
    lines.colour("state", job.state.colour, paint)
    if let death = detail.death {
      lines.add(
        "failed", [death.failureClass, death.code, death.message].compactMap { $0 }.joined(separator: ": "))
      lines.add("attempts", String(death.attempts))
    }
    if let result = detail.result { add(result, to: &lines) }
    if detail.isResultHidden { lines.add("analysis", "not shown: only a clinician's role may read it") }
    var text = lines.text
    if let result = detail.result { text += "\n" + conditions(of: result, width: width, paint: paint) }
    if !detail.attempts.isEmpty { text += "\n" + attempts(of: detail, width: width, paint: paint) }
    return text
  }

  private static func add(_ result: StoredResult, to facts: inout Facts) {
    facts.add("analysis", result.analysisID)
    facts.add("answered", Moment.short(result.answeredAt))
    facts.add("endpoint", result.endpoint)
    facts.add("model", result.model)
    facts.add("calls", String(result.calls))
    if result.isPotentiallySerious { facts.add("serious", "yes") }
    if result.recommendsConsultation { facts.add("consultation", "recommended") }
  }

  private static func conditions(of result: StoredResult, width: Int?, paint: Paint) -> String {
    let conditions = StoredCondition.read(result.conditionsJSON)
    guard !conditions.isEmpty else { return "No condition was found.\n" }
    var table = Table([
      .init("CONDITION", shrinks: true), .init("CONFIDENCE", alignment: .right), .init("BAND"),
    ])
    for condition in conditions {
      let colour: Paint.Colour? = condition.normal == true ? nil : condition.shownBand?.colour
      let band = condition.normal == true ? "normal" : condition.shownBand?.rawValue ?? ""
      table.add([Cell(condition.name), Cell(condition.percentage ?? ""), Cell(band, colour)])
    }
    return table.render(width: width, paint: paint)
  }

  private static func attempts(of detail: JobDetail, width: Int?, paint: Paint) -> String {
    var table = Table([
      .init("ATTEMPT", alignment: .right), .init("AT"), .init("CLASS"), .init("CODE"),
      .init("CALLS", alignment: .right), .init("COUNTS"), .init("ENDPOINT", shrinks: true),
      .init("ERROR ID", shrinks: true), .init("MESSAGE", shrinks: true),
    ])
    for attempt in detail.attempts {
      table.add([
        Cell(attempt.attempt), Cell(Moment.short(attempt.at)), Cell(attempt.failureClass),
        Cell([attempt.status.map(String.init), attempt.code].compactMap { $0 }.joined(separator: " ")),
        Cell(attempt.maybeCounted && attempt.calls > 0 ? "\(attempt.calls)?" : String(attempt.calls)),
        attempt.consumed ? "yes" : "no", Cell(attempt.endpoint ?? ""), Cell(attempt.errorID ?? ""),
        Cell(attempt.message ?? ""),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}

extension ConfidenceBand {
  /// The terminal's nearest to the band's own colour.
  var colour: Paint.Colour {
    switch self {
    case .green: .green
    case .yellow: .yellow
    case .orange: .orange
    case .red: .red
    }
  }
}
