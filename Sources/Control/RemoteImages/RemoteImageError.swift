internal import HTTPTransfer

/// Why an image was not fetched. It names the host at most, never the path or the query of its address.
public struct RemoteImageError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure.
  public let code: Code
  /// What happened, in whole sentences.
  public let message: String
  /// What to do about it.
  let advice: String?

  init(_ code: Code, _ message: String, advice: String? = nil) {
    self.code = code
    self.message = message
    self.advice = advice
  }

  /// The code's name and the message.
  public var description: String { "\(code.name): \(message)" }
}

extension RemoteImageError {
  /// The kinds of failure. More may come; switch with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case invalid = "url_invalid"
      case notAllowed = "url_not_allowed"
      case addressRefused = "url_address_refused"
      case unreachable = "url_unreachable"
      case timedOut = "url_timed_out"
      case redirected = "url_redirected"
      case badStatus = "url_bad_status"
      case badAnswer = "url_bad_answer"
      case tooLarge = "url_too_large"
      case cancelled = "url_cancelled"
      case closed = "url_closed"
    }

    private let kind: Kind

    /// The address cannot be read, or is not of the kind that is fetched.
    static let invalid = Code(kind: .invalid)
    /// The host and port are not among those that are allowed.
    static let notAllowed = Code(kind: .notAllowed)
    /// The host leads to an address that is not public.
    static let addressRefused = Code(kind: .addressRefused)
    /// The host's name leads nowhere, or nobody fit answers there.
    static let unreachable = Code(kind: .unreachable)
    /// It took too long.
    static let timedOut = Code(kind: .timedOut)
    /// The answer sends elsewhere.
    static let redirected = Code(kind: .redirected)
    /// The answer says that there is no image, or that it is not given out.
    static let badStatus = Code(kind: .badStatus)
    /// The answer is not a plain and whole one.
    static let badAnswer = Code(kind: .badAnswer)
    /// The image is larger than the limit.
    static let tooLarge = Code(kind: .tooLarge)
    /// Whoever asked does not want it any more.
    public static let cancelled = Code(kind: .cancelled)
    /// The fetching has been ended.
    public static let closed = Code(kind: .closed)

    /// A stable name for records and JSON: `url_not_allowed`.
    public var name: String { kind.rawValue }
    /// The same as `name`.
    public var description: String { kind.rawValue }
  }
}

extension RemoteImageError {
  static let invalid = RemoteImageError(
    .invalid, "The address cannot be read.", advice: "An address is like https://images.example.org/a.jpg.")

  static func credentials(_ host: String) -> RemoteImageError {
    RemoteImageError(
      .invalid, "The address on \(host) has a user name or password in it.",
      advice: "An address is fetched without an account, or not at all.")
  }

  static func scheme(_ host: String) -> RemoteImageError {
    RemoteImageError(.invalid, "The address on \(host) is not https, and nothing else is fetched.")
  }

  static func notAllowed(_ host: String, port: Int) -> RemoteImageError {
    RemoteImageError(
      .notAllowed, "The host \(host) at port \(port) is not among those that images may be fetched from.",
      advice: "An operator adds a host with url-hosts, if it may be trusted.")
  }

  static func refused(_ host: String, because reason: String) -> RemoteImageError {
    RemoteImageError(.addressRefused, "The host \(host) leads to an address that is \(reason).")
  }

  static func notResolved(_ host: String, _ reason: String) -> RemoteImageError {
    RemoteImageError(.unreachable, "The name \(host) cannot be looked up: \(reason).")
  }

  static func nowhere(_ host: String) -> RemoteImageError {
    RemoteImageError(.unreachable, "The name \(host) leads to no address.")
  }

  static func tooSlow(_ host: String) -> RemoteImageError {
    RemoteImageError(.timedOut, "The host \(host) took too long.", advice: "Try again later.")
  }

  static func redirected(_ host: String) -> RemoteImageError {
    RemoteImageError(
      .redirected, "The host \(host) sends elsewhere for it, which is not followed.",
      advice: "Give the address of the image itself.")
  }

  static func badStatus(_ host: String, _ status: Int) -> RemoteImageError {
    RemoteImageError(.badStatus, "The host \(host) answers with status \(status) instead of an image.")
  }

  static func tooLarge(_ host: String, limit: Int) -> RemoteImageError {
    RemoteImageError(.tooLarge, "The image on \(host) has more than \(limit) bytes.")
  }

  static let cancelled = RemoteImageError(.cancelled, "The fetching was cancelled.")
  static let closed = RemoteImageError(.closed, "The fetching has been ended.")

  /// What a failed transfer means. Its own message names the host at most.
  init(_ error: TransferError, host: String, limit: Int) {
    switch error.code {
    case .timedOut: self = .tooSlow(host)
    case .answerTooLarge: self = .tooLarge(host, limit: limit)
    case .cancelled: self = .cancelled
    case .closed: self = .closed
    case .addressRefused: self.init(.addressRefused, error.message)
    case .invalidRequest: self = .invalid
    case .answerEncoded, .answerTruncated, .headersTooLarge, .protocolViolation:
      self.init(.badAnswer, error.message)
    default: self.init(.unreachable, error.message)
    }
  }
}
