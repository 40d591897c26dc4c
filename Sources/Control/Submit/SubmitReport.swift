import CommandLineTool
import Images
import Queue
import Support
import Synchronization

/// Writes results of a submit as they come: refusals as messages; as results a line for the batch, and a line for each
/// image where there is one alone or where that is asked for; a line of JSON for each with `--json`. Of jobs that were
/// waited for and failed there is a line always.
///
/// Where a progress bar shares the terminal with the lines, they are held back until its end. An output that
/// cannot be written to, since its reader is gone or the disk is full, does not stop the submitting.
final class SubmitReport: Sendable {
  private struct State {
    var bar: ProgressBar?
    var held: [SubmitResult] = []
    var advice: [String] = []
    /// Why standard output takes no more.
    var failure: WriteError?
  }

  private let view: View
  /// With waiting, a job's line comes when it has ended.
  private let isWaiting: Bool
  private let holdsBack: Bool
  /// Whether there is a line for each image, and not for the batch alone.
  private let showsEach: Bool
  private let total: Int
  private let state: Mutex<State>

  init(view: View, total: Int, isWaiting: Bool, isVerbose: Bool = false) {
    self.view = view
    self.isWaiting = isWaiting
    self.total = total
    showsEach = view.isJSON || isVerbose || total == 1
    // With --json nothing but the bar is a message, so a file or a pipe gets its lines at once.
    holdsBack =
      view.console.messagesTerminal.isTerminal && (view.console.outputTerminal.isTerminal || !view.isJSON)
    state = Mutex(State(bar: ProgressBar("submitting", total: total, console: view.console)))
  }

  /// An image was submitted, refused or not reached. Without waiting its result is final.
  func submitted(_ result: SubmitResult) {
    let bar = state.withLock { $0.bar }
    bar?.advance()
    if isWaiting, result.job != nil { return }
    add(result)
  }

  /// All images have been submitted, and so many jobs are waited for.
  func waiting(for jobs: Int) {
    let bar = state.withLock { state in
      let old = state.bar
      state.bar = ProgressBar("waiting for the jobs", total: jobs, console: view.console)
      return old
    }
    bar?.finish()
  }

  /// The database is away, and is waited for too.
  func databaseUnavailable(_ error: JobQueueError) {
    view.console.say("\(error.message) The jobs are waited for all the same.")
  }

  /// One of the jobs has ended.
  func jobFinished() {
    state.withLock { $0.bar }?.advance()
  }

  /// The final state of a job that was waited for.
  func ended(_ result: SubmitResult) {
    add(result)
  }

  /// Ends the bar, writes what was held back, and the summary. Throws where results could not be written; a
  /// reader that has read enough is no error.
  func finish(_ response: SubmitResponse, runKey: String, leftOut: [String] = []) throws {
    let (bar, held, advice) = state.withLock { ($0.bar, $0.held, $0.advice) }
    bar?.finish()
    for result in held { write(result) }
    let console = view.console
    for line in advice { console.say(line) }
    for line in leftOut { console.say(line) }
    if let warning = response.tally.warning { console.say(warning) }
    if !view.isJSON, let line = response.batchLine(isNeeded: total > 1) {
      writeOut { () throws(WriteError) in try view.console.print(line) }
    }
    console.say(response.tally.summary)
    if response.isInterrupted, let batch = response.batch {
      console.say(
        "\(response.tally.created + response.tally.duplicates + response.tally.doubles) of \(total) are in. To wait for them: "
          + "analysisctl batches wait \(batch)")
    }
    if response.tally.notReached > 0 {
      console.say("To submit the rest, and nothing twice, repeat the command with --key \(printable(runKey))")
    }
    if let failure = state.withLock({ $0.failure }), !failure.isBrokenPipe { throw failure }
  }

  private func add(_ result: SubmitResult) {
    if case .refused(let refusal)? = result.outcome, let advice = refusal.advice {
      state.withLock { if !$0.advice.contains(advice) { $0.advice.append(advice) } }
    }
    guard holdsBack else { return write(result) }
    state.withLock { $0.held.append(result) }
  }

  private func write(_ result: SubmitResult) {
    // How many were not reached stands in the summary; a line for each would bury it.
    if !view.isJSON, result.outcome == nil { return }
    guard view.isJSON || result.job != nil else {
      let paint = Paint(view.console.messagesTerminal)
      view.console.show(painted: String(result.text(width: nil, paint: paint).dropLast()))
      return
    }
    guard showsEach || result.finding != nil || result.state == .dead || result.state == .cancelled else {
      return
    }
    writeOut { () throws(WriteError) in try view.show(result) }
  }

  private func writeOut(_ body: () throws(WriteError) -> Void) {
    guard state.withLock({ $0.failure == nil }) else { return }
    do {
      try body()
    } catch {
      state.withLock { $0.failure = error }
    }
  }
}

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
