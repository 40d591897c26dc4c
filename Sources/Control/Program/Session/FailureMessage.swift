import CommandLineTool
import Endpoint
import EventLoop
import Images
import PostgreSQL
import Queue
import Support

/// What the errors of the modules below mean for the exit code, and with which message they are shown.
enum FailureMessage {
  /// The exit code and the message; nil for an error that no module of ours throws.
  @Sendable static func failure(for error: any Error) -> CommandFailure? {
    switch error {
    case let error as JobQueueError: queue(error)
    case let error as ReportsError: report(error)
    case let error as PostgreSQLError: CommandFailure(exitCode(of: error), "\(error)")
    case let error as CallFailure: call(error)
    case let error as SystemError: CommandFailure(ExitCode(of: error), "\(error)")
    case let error as ImageEncryptionError:
      CommandFailure(ExitCode(of: error), error.message, advice: error.advice)
    case let error as ImageStoreError:
      CommandFailure(error.isAway ? .unreachable : .permission, error.message, advice: error.advice)
    case let error as RemoteImageError: CommandFailure(.refused, error.message, advice: error.advice)
    case let error as ImageDecoderError: CommandFailure(.tryLater, "\(error)")
    case let error as EventLoopError: CommandFailure(.internalError, "\(error)")
    case is CancellationError: interrupted
    default: nil
    }
  }

  /// Ended by Ctrl-C or SIGTERM: what was under way was rolled back.
  static let interrupted = CommandFailure(.tryLater, "interrupted; nothing is left half done")

  private static func queue(_ error: JobQueueError) -> CommandFailure {
    switch error.code {
    case .schemaMissing, .schemaTooOld:
      CommandFailure(.unreachable, error.message, advice: error.advice ?? "Run analysisctl migrate.")
    case .schemaTooNew, .migrationEdited, .migrationGap, .migrationUnknown:
      CommandFailure(.unreachable, error.message, advice: error.advice)
    case .unreachable:
      CommandFailure(below(error) ?? .unreachable, error.message, advice: error.advice)
    case .cancelled: interrupted
    case .deadline, .conflict, .outcomeUnknown:
      CommandFailure(.tryLater, error.message, advice: error.advice)
    case .notFound, .badRow: CommandFailure(.refused, error.message, advice: error.advice)
    case .invalid: CommandFailure(.usage, error.message, advice: error.advice)
    case .permission: CommandFailure(.permission, error.message, advice: error.advice)
    default: CommandFailure(.internalError, error.message, advice: error.advice)
    }
  }

  private static func report(_ error: ReportsError) -> CommandFailure {
    if error.underlying is CancellationError { return interrupted }
    return switch error.code {
    case .unknownZone: CommandFailure(.usage, error.message, advice: error.advice)
    case .refused: CommandFailure(.refused, error.message, advice: error.advice)
    case .unwritable:
      CommandFailure(
        (error.underlying as? SystemError).map(ExitCode.init(of:)) ?? .permission, error.message,
        advice: error.advice)
    case .schema: CommandFailure(.unreachable, error.message, advice: error.advice)
    case .unreachable: CommandFailure(below(error) ?? .unreachable, error.message, advice: error.advice)
    case .database: CommandFailure(below(error) ?? .internalError, error.message, advice: error.advice)
    default: CommandFailure(.internalError, error.message, advice: error.advice)
    }
  }

  /// What a call of the endpoint's API failed for. Its sentence is for operators already.
  private static func call(_ error: CallFailure) -> CommandFailure {
    if error.wasCancelled { return interrupted }
    let (code, advice): (ExitCode, String?) =
      switch error.failureClass {
      case .credentials:
        (.permission, "Put the right e-mail address and password into the credentials file.")
      case .permission: (.permission, "Look at the endpoint's address, --dialect and the account's rights.")
      case .permanent: (.refused, nil)
      case .serviceLimit, .overload, .server: (.tryLater, nil)
      case .outcomeUnknown: (.tryLater, "It may have been done: look before you repeat it.")
      case .notSent where error.isRefusedHere: (.usage, nil)
      case .invalidAnswer:
        (.unreachable, "The endpoint may speak another dialect (--dialect), or be another service.")
      default: (.unreachable, "Check the endpoint's address, and whether it runs: analysisctl doctor.")
      }
    return CommandFailure(code, "the endpoint: \(error)", advice: advice)
  }

  private static func below(_ error: JobQueueError) -> ExitCode? {
    (error.underlying as? PostgreSQLError).map(exitCode(of:))
  }

  private static func below(_ error: ReportsError) -> ExitCode? {
    (error.underlying as? PostgreSQLError).map(exitCode(of:))
  }

  /// A server that cannot be reached is 69, one that will take the same request later 75.
  static func exitCode(of error: PostgreSQLError) -> ExitCode {
    switch error.phase {
    case .some(.tooManyClients), .some(.startingUp): return .tryLater
    case .some(.authentication), .some(.passwordFile): return .permission
    case .some(.configuration), .some(.session): return .usage
    case .some: return .unreachable
    case nil: break
    }
    if error.isPermissionDenied { return .permission }
    if error.isConnectionLoss || error.isReadOnlyServer { return .unreachable }
    return error.isTransient || error.code == .cancelled ? .tryLater : .internalError
  }
}
