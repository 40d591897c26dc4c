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

  /// The status.
  public var status: Int { head.status }
  /// The header fields.
  public var headers: Headers { head.headers }
}
