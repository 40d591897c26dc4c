internal import HTTPTransfer

/// Why an image was not fetched. It names the host at most, never the path or the query of its address.
struct RemoteImageError: Error, Sendable, Equatable, CustomStringConvertible {
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
  public var description: String { "\(code.rawValue): \(message)" }
}

extension RemoteImageError {
  /// The kinds of failure.
  public enum Code: String, Sendable, CustomStringConvertible {
    /// The address cannot be read, or is not of the kind that is fetched.
    case invalid = "url_invalid"
    /// The host and port are not among those that are allowed.
    case notAllowed = "url_not_allowed"
    /// The host leads to an address that is not public.
    case addressRefused = "url_address_refused"
    /// The host's name leads nowhere, or nobody fit answers there.
    case unreachable = "url_unreachable"
    /// It took too long.
    case timedOut = "url_timed_out"
    /// The answer sends elsewhere.
    case redirected = "url_redirected"
    /// The answer says that there is no image, or that it is not given out.
    case badStatus = "url_bad_status"
    /// The answer is not a plain and whole one.
    case badAnswer = "url_bad_answer"
    /// The image is larger than the limit.
    case tooLarge = "url_too_large"
    /// Whoever asked does not want it any more.
    case cancelled = "url_cancelled"
    /// The fetching has been ended.
    case closed = "url_closed"

    /// A stable name for records and JSON.
    public var description: String { rawValue }
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
