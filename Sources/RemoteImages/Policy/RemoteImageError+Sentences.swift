internal import HTTPTransfer

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

  static func refused(_ host: String, because words: String) -> RemoteImageError {
    RemoteImageError(.addressRefused, "The host \(host) leads to an address that is \(words).")
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

  /// What a failed transfer means. Its own words name the host at most.
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
