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
