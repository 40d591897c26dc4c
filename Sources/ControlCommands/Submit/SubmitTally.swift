import AnalysisCore
import CommandLineTool

/// What a submit came to, and the exit code that says it.
struct SubmitTally: Sendable, Equatable {
  var created = 0
  var duplicates = 0
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
    case .duplicate: duplicates += 1
    case .refused(let refusal):
      if refusal.isQuota { refusedByQuota += 1 } else { refusedOtherwise += 1 }
      if refusal.code == InputFile.unreadableCode { unreadable += 1 }
    case .notReached: notReached += 1
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
}
