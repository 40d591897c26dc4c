/// Why a request got no answer, or none that may be used.
public struct TransferError: Error, Sendable, CustomStringConvertible {
  /// How far the request had come.
  public enum Phase: String, Sendable {
    /// Nothing was tried.
    case preparing
    /// Resolving, connecting, agreeing on TLS, or waiting for a free connection.
    case connecting
    /// The request was being sent.
    case sending
    /// The request was sent and no answer had begun.
    case waiting
    /// An answer had begun.
    case receiving
  }

  /// What went wrong.
  public let code: Code
  /// How far the request had come.
  public let phase: Phase
  /// Whether no byte of the request left this machine, so that the server cannot have acted on it.
  public let certainlyNotSent: Bool
  /// What happened, naming the server at most: no path, header, token or body.
  public let message: String
  /// Status and header of the answer, when they had arrived whole before the failure.
  public let answer: ResponseHead?

  /// An error with all that is known of it.
  public init(
    _ code: Code, phase: Phase, certainlyNotSent: Bool, message: String, answer: ResponseHead? = nil
  ) {
    self.code = code
    self.phase = phase
    self.certainlyNotSent = certainlyNotSent
    self.message = message
    self.answer = answer
  }

  /// The message.
  public var description: String { message }
}

extension TransferError {
  /// The request itself cannot be sent.
  static func invalidRequest(_ why: String) -> TransferError {
    TransferError(
      .invalidRequest, phase: .preparing, certainlyNotSent: true, message: "The request is not valid: \(why)."
    )
  }

  /// The configuration forbids the request.
  static func refusedByPolicy(_ why: String) -> TransferError {
    TransferError(
      .refusedByPolicy, phase: .preparing, certainlyNotSent: true, message: "The request was refused: \(why)."
    )
  }

  /// The client was closed, before or while the request was in flight.
  static func clientClosed(sent: Bool) -> TransferError {
    TransferError(
      .closed, phase: sent ? .sending : .preparing, certainlyNotSent: !sent, message: "The client was closed."
    )
  }

  /// The caller's task was cancelled before anything was done.
  static let cancelledBefore = TransferError(
    .cancelled, phase: .preparing, certainlyNotSent: true,
    message: "The request was cancelled before it was sent.")

  /// libcurl gave no handle, or did not take an option.
  static let noHandle = TransferError(
    .outOfMemory, phase: .preparing, certainlyNotSent: true,
    message: "libcurl could not prepare the request; the process is out of memory or libcurl lacks an option."
  )
}
