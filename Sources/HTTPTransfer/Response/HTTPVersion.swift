/// The protocol of an answer.
public enum HTTPVersion: String, Sendable {
  /// HTTP/1.0 or HTTP/1.1.
  case http1
  /// HTTP/2.
  case http2
}
