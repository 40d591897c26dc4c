import CommandLineTool
import JobQueue
import Testing

@testable import ControlCommands

@Suite("Errors of the modules below become exit codes")
struct FailureWordsTests {
  @Test(
    "of the queue, each kind",
    arguments: [
      (.unreachable, .unreachable), (.deadline, .tryLater), (.conflict, .tryLater), (.cancelled, .tryLater),
      (.outcomeUnknown, .tryLater), (.schemaMissing, .unreachable), (.schemaTooOld, .unreachable),
      (.schemaTooNew, .unreachable), (.migrationEdited, .unreachable), (.migrationGap, .unreachable),
      (.migrationUnknown, .unreachable), (.notFound, .refused), (.invalid, .usage),
      (.permission, .permission),
      (.badRow, .refused), (.server, .internalError), (.unexpectedAnswer, .internalError),
    ] as [(JobQueueError.Code, ExitCode)])
  func queue(code: JobQueueError.Code, exitCode: ExitCode) {
    let failure = FailureWords.failure(for: JobQueueError(code, "It happened.", advice: "Do this."))
    #expect(failure?.exitCode == exitCode)
  }

  @Test("a schema that is missing or too old is mended by migrate", arguments: [true, false])
  func migrate(isMissing: Bool) {
    let error = JobQueueError(isMissing ? .schemaMissing : .schemaTooOld, "There is none.")
    #expect(FailureWords.failure(for: error)?.advice == "Run analysisctl migrate.")
  }

  @Test("an interrupted command may be tried again")
  func cancelled() {
    #expect(FailureWords.failure(for: CancellationError()) == FailureWords.interrupted)
    #expect(FailureWords.interrupted.exitCode == .tryLater)
  }

  @Test("an error that no module of ours throws is not explained away")
  func unknown() {
    struct Strange: Error {}
    #expect(FailureWords.failure(for: Strange()) == nil)
  }
}
