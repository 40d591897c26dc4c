/// A whole answer, whatever its status.
public struct Response: Sendable {
  /// Status and header fields.
  public var head: ResponseHead
  /// The body, never longer than the configured limit.
  public var body: [UInt8]
  /// When what happened.
  public var timing: Timing
  /// How many bytes of the request were sent, header included.
  public var sentBytes: Int
  /// Whether a kept-alive connection served the request.
  public var connectionReused: Bool
  /// When the server's certificate ends, as the TLS library writes it; nil without TLS, on a kept-alive
  /// connection, and where the configuration does not ask for it.
  public var certificateEnd: String?
  /// This side's port of the connection by which it came.
  var localPort: Int

  /// The status.
  public var status: Int { head.status }
  /// The header fields.
  public var headers: Headers { head.headers }
}

/// An answer's status and header fields.
public struct ResponseHead: Sendable, Equatable {
  /// The status, for instance 200; redirects are answers like any other.
  public var status: Int
  /// The header fields of the final answer; those of interim answers (1xx) and trailers are left out.
  public var headers: Headers
  /// The protocol.
  public var version: HTTPVersion

  /// A head.
  public init(status: Int, headers: Headers = Headers(), version: HTTPVersion = .http1) {
    self.status = status
    self.headers = headers
    self.version = version
  }
}

/// A version of HTTP.
public enum HTTPVersion: String, CaseIterable, Sendable {
  /// HTTP/1.1; an answer may be of HTTP/1.0.
  case http1 = "1.1"
  /// HTTP/2.
  case http2 = "2"
}

/// When the steps of a call were done, each counted from the call's start; zero for a step that a
/// kept-alive connection or plain HTTP leaves out.
public struct Timing: Sendable, Equatable {
  /// The server's name was resolved.
  var nameLookup: Duration
  /// The connection was made.
  public var connected: Duration
  /// TLS was agreed.
  public var secured: Duration
  /// The answer's first byte came.
  var firstByte: Duration
  /// The answer was whole.
  public var total: Duration

  /// The given times.
  public init(
    nameLookup: Duration = .zero, connected: Duration = .zero, secured: Duration = .zero,
    firstByte: Duration = .zero, total: Duration = .zero
  ) {
    self.nameLookup = nameLookup
    self.connected = connected
    self.secured = secured
    self.firstByte = firstByte
    self.total = total
  }
}

/// Why a request got no answer, or none that may be used.
public struct TransferError: Error, Sendable, CustomStringConvertible {
  /// How far the request had come.
  public enum Phase: String, Sendable {
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

extension TransferError {
  /// What went wrong. Codes may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String {
      case refusedByPolicy, invalidRequest, nameNotResolved, connectionRefused, connectFailed, tlsFailed
      case certificateRefused, timedOut, connectionReset, sendFailed, receiveFailed, answerTruncated
      case answerTooLarge, headersTooLarge, answerEncoded, protocolViolation, cancelled, closed
      case outOfDescriptors, outOfMemory, internalFailure, addressRefused
    }

    private let value: Value

    private init(_ value: Value) {
      self.value = value
    }

    /// The configuration forbids it: plain HTTP to another machine, a scheme, a password in the address.
    public static let refusedByPolicy = Code(.refusedByPolicy)
    /// The address, a header field or the body is malformed.
    public static let invalidRequest = Code(.invalidRequest)
    /// The server's (or the proxy's) name is unknown or could not be looked up.
    public static let nameNotResolved = Code(.nameNotResolved)
    /// Nothing listens at the address.
    public static let connectionRefused = Code(.connectionRefused)
    /// The server could not be reached.
    public static let connectFailed = Code(.connectFailed)
    /// TLS could not be agreed.
    public static let tlsFailed = Code(.tlsFailed)
    /// The server's certificate is not valid: other name, unknown authority, expired.
    public static let certificateRefused = Code(.certificateRefused)
    /// The deadline, or the limit for connecting, was over; the phase says where.
    public static let timedOut = Code(.timedOut)
    /// The server closed or reset the connection before it answered.
    public static let connectionReset = Code(.connectionReset)
    /// Sending failed otherwise.
    public static let sendFailed = Code(.sendFailed)
    /// Receiving failed otherwise.
    public static let receiveFailed = Code(.receiveFailed)
    /// The connection ended before the answer did.
    public static let answerTruncated = Code(.answerTruncated)
    /// The answer's body is longer than the limit.
    public static let answerTooLarge = Code(.answerTooLarge)
    /// The answer's header is longer than the limit.
    public static let headersTooLarge = Code(.headersTooLarge)
    /// The answer is compressed, which was not asked for and could unpack to any size.
    public static let answerEncoded = Code(.answerEncoded)
    /// The answer is not HTTP, or breaks its rules.
    public static let protocolViolation = Code(.protocolViolation)
    /// The caller's task was cancelled.
    public static let cancelled = Code(.cancelled)
    /// The client was closed.
    public static let closed = Code(.closed)
    /// This process has too many open files.
    public static let outOfDescriptors = Code(.outOfDescriptors)
    /// This process is out of memory.
    public static let outOfMemory = Code(.outOfMemory)
    /// The connection led to another address than the request is fixed to; nothing was sent.
    public static let addressRefused = Code(.addressRefused)
    /// libcurl refused something that it should not.
    public static let internalFailure = Code(.internalFailure)

    /// The code's name.
    public var description: String { value.rawValue }
  }
}
