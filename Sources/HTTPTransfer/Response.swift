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
  public var nameLookup: Duration
  /// The connection was made.
  public var connected: Duration
  /// TLS was agreed.
  public var secured: Duration
  /// The answer's first byte came.
  public var firstByte: Duration
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
