import CommandLineTool
import Images
import Queue
import Support

/// What became of one image.
struct SubmitResult: Sendable, Equatable, Presentable {
  let item: SubmitItem
  /// Nil where its turn did not come: the command was interrupted, or the database went away.
  let outcome: SubmitOutcome?
  /// Where the job was at the end of the waiting; nil when nobody waited.
  var state: JobState?
  /// The batch that its new job is of; nil where there is no new job.
  var batch: BatchID?
  /// Whether it is the picture of a job of the same run.
  var isDouble = false
  /// What was found, where that was asked for.
  var finding: PhotoFinding?
  /// Whether its image was scaled to fewer pixels than the endpoint's models see.
  var isBelowModelSide = false

  init(_ item: SubmitItem, _ outcome: SubmitOutcome?) {
    self.item = item
    self.outcome = outcome
  }

  /// The job; nil when there is none.
  var job: JobID? { outcome?.job }

  var json: JSONValue {
    let (word, period, refusal): (String, Period?, Refusal?) =
      switch outcome {
      case .created(_, let month): ("created", month, nil)
      case .duplicate: ("duplicate", nil, nil)
      case .refused(let refusal): ("refused", nil, refusal)
      case nil: ("not_submitted", nil, nil)
      }
    return [
      "file": .string(item.name), "user": .text(item.user), "type": .text(item.kind?.rawValue),
      "priority": .string(item.priority.rawValue), "outcome": .string(word), "job": .id(job),
      "month": .month(period), "key": .string(item.key), "reason": .text(refusal?.code),
      "message": .text(refusal?.sentence), "advice": .text(refusal?.advice), "limit": .count(refusal?.limit),
      "used": .count(refusal?.used), "state": .text(state?.rawValue),
      "batch": .text(batch?.description), "reference": .text(item.reference),
      "result": finding?.json ?? .null,
    ]
  }

  /// One line: the outcome, the job where there is one, the file, the reason where there is one.
  func text(width: Int?, paint: Paint) -> String {
    let name = printable(item.name)
    return switch (outcome, state) {
    case (.refused(let refusal), _): "\(paint.red("refused")) \(name): \(printable(refusal.sentence))\n"
    case (nil, _): "\(paint.yellow("not submitted")) \(name)\n"
    case (.created(let job, _), nil): "\(paint.green("submitted")) \(job) \(name)\n"
    case (.duplicate(let job), nil) where isDouble: "\(paint.green("same picture as")) \(job) \(name)\n"
    case (.duplicate(let job), nil): "\(paint.green("submitted before")) \(job) \(name)\n"
    case (.created(let job, _), let state?), (.duplicate(let job), let state?):
      "\(paint(state.rawValue, state.colour)) \(job) \(name)"
        + (finding.map { ": " + $0.text(paint) } ?? "") + "\n"
    }
  }
}

extension JobState {
  /// The colour under which a state is shown.
  var colour: Paint.Colour {
    switch self {
    case .waiting, .scheduled: .dim
    case .running: .yellow
    case .succeeded: .green
    case .dead, .cancelled: .red
    }
  }
}

/// What a submit came to, and the exit code that says it.
struct SubmitTally: Sendable, Equatable {
  var created = 0
  var duplicates = 0
  /// Pictures of jobs of the same run.
  var doubles = 0
  var refusedByQuota = 0
  var refusedOtherwise = 0
  /// Of these, files that could not be read.
  var unreadable = 0
  var notReached = 0
  /// Jobs that ended without a result while the command waited for them.
  var failed = 0
  /// Jobs that had not ended when the waiting did.
  var unfinished = 0
  /// Submitted images that were scaled to fewer pixels than the endpoint's models see.
  var belowModelSide = 0

  init() {}

  init(_ results: some Sequence<SubmitResult>) {
    for result in results { add(result) }
  }

  mutating func add(_ result: SubmitResult) {
    switch result.outcome {
    case .created: created += 1
    case .duplicate: if result.isDouble { doubles += 1 } else { duplicates += 1 }
    case .refused(let refusal):
      if refusal.isQuota { refusedByQuota += 1 } else { refusedOtherwise += 1 }
      if refusal.code == InputFile.unreadableCode { unreadable += 1 }
    case nil: notReached += 1
    }
    if result.job != nil, result.isBelowModelSide { belowModelSide += 1 }
    switch result.state {
    case .dead, .cancelled: failed += 1
    case .waiting, .scheduled, .running: unfinished += 1
    case .succeeded, nil: break
    }
  }

  /// The gravest comes first: a job that failed, then what may be tried again, then a file that cannot be read, then
  /// refusals. Refusals by quota alone are 3; as soon as anything else was refused too it is 4.
  var exitCode: ExitCode {
    if failed > 0 { return .jobFailed }
    if notReached > 0 || unfinished > 0 { return .tryLater }
    if unreadable > 0 { return .unreadableInput }
    if refusedOtherwise > 0 { return .refused }
    return refusedByQuota > 0 ? .quotaRefused : .done
  }

  /// What to know of images that were scaled too far; nil where there are none.
  var warning: String? {
    guard belowModelSide > 0 else { return nil }
    let side = ImageLimits.modelSide
    return
      "\(belowModelSide) scaled to less than \(side) pixels on the shorter side. The endpoint's models "
      + "enlarge such images again, which can change a diagnosis: give --min-side \(side) instead."
  }

  /// What it came to, for standard error.
  var summary: String {
    var parts: [String] = ["\(created) submitted"]
    if duplicates > 0 { parts.append("\(duplicates) submitted before") }
    if doubles > 0 { parts.append("\(doubles) the same picture as another of this run, and not paid again") }
    if refusedByQuota > 0 { parts.append("\(refusedByQuota) refused by the monthly limit") }
    if refusedOtherwise > 0 { parts.append("\(refusedOtherwise) refused") }
    if notReached > 0 { parts.append("\(notReached) not submitted") }
    if failed > 0 { parts.append("\(failed) failed") }
    if unfinished > 0 { parts.append("\(unfinished) not finished") }
    return parts.joined(separator: ", ") + "."
  }
}
