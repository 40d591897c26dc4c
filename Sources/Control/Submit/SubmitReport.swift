import CommandLineTool
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
