import Glibc
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Images
@testable import Queue
@testable import Support

@Suite("Errors of the modules below become exit codes")
struct FailureMessageTests {
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
    let failure = FailureMessage.failure(for: JobQueueError(code, "It happened.", advice: "Do this."))
    #expect(failure?.exitCode == exitCode)
  }

  @Test("a schema that is missing or too old is mended by migrate", arguments: [true, false])
  func migrate(isMissing: Bool) {
    let error = JobQueueError(isMissing ? .schemaMissing : .schemaTooOld, "There is none.")
    #expect(FailureMessage.failure(for: error)?.advice == "Run analysisctl migrate.")
  }

  @Test(
    "of files and folders, each kind",
    arguments: [
      (.unreadable, ENOENT, .unreadableInput), (.unwritable, ENOENT, .usage), (.unwritable, ENOTDIR, .usage),
      (.unwritable, EACCES, .permission), (.unwritable, ENOSPC, .tryLater), (.unwritable, EDQUOT, .tryLater),
      (.notPrivate, 0, .permission), (.syntax, 0, .usage), (.invalid, 0, .usage),
      (.system, EIO, .internalError),
    ] as [(SystemError.Code, Int32, ExitCode)])
  func files(code: SystemError.Code, errno: Int32, exitCode: ExitCode) {
    let error = SystemError(code, "It happened.", errno: errno)
    #expect(FailureMessage.failure(for: error)?.exitCode == exitCode)
    // A key file that holds what no key file holds cannot be read.
    let key = FailureMessage.failure(for: ImageEncryptionError(error))
    #expect(key?.exitCode == (code == .invalid ? .unreadableInput : exitCode))
  }

  @Test(
    "of keys, each kind",
    arguments: [
      (.syntax, .usage), (.noKey, .refused), (.inUse, .refused), (.tampered, .refused),
      (.unavailable, .internalError),
    ] as [(ImageEncryptionError.Code, ExitCode)])
  func keys(code: ImageEncryptionError.Code, exitCode: ExitCode) {
    #expect(FailureMessage.failure(for: ImageEncryptionError(code, "It happened."))?.exitCode == exitCode)
  }

  @Test("an interrupted command may be tried again")
  func cancelled() {
    #expect(FailureMessage.failure(for: CancellationError()) == FailureMessage.interrupted)
    #expect(FailureMessage.interrupted.exitCode == .tryLater)
  }

  @Test("an error that no module of ours throws is not explained away")
  func unknown() {
    struct Strange: Error {}
    #expect(FailureMessage.failure(for: Strange()) == nil)
  }
}
