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
