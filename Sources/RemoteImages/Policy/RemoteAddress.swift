internal import HTTPTransfer

/// The address of an image, read and allowed by name; where the name leads is not known yet.
///
/// All but the host may be a secret (a signed address lets in whoever has it), so that it shows the host alone.
public struct RemoteAddress: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The host as libcurl will use it.
  public let host: String
  /// The address as it is requested.
  let url: String

  /// Reads an address, whose host must be one of those.
  ///
  /// - Throws: `invalid` or `notAllowed`.
  public init(_ text: String, among hosts: [AllowedHost]) throws(RemoteImageError) {
    try self.init(text, among: hosts, allowsPlainHTTP: false)
  }

  /// - Parameter allowsPlainHTTP: For tests, whose servers speak no TLS.
  init(_ text: String, among hosts: [AllowedHost], allowsPlainHTTP: Bool) throws(RemoteImageError) {
    guard let parts = URLParts(text) else { throw .invalid }
    guard !parts.hasCredentials else { throw .credentials(parts.host) }
    guard parts.scheme == "https" || allowsPlainHTTP && parts.scheme == "http" else {
      throw .scheme(parts.host)
    }
    guard hosts.contains(where: { $0.allows(parts.host, port: parts.port) }) else {
      throw .notAllowed(parts.host, port: parts.port)
    }
    host = parts.host
    url = parts.url
  }

  /// The host of an address, for naming it, whether it is allowed or not; nil when it is malformed.
  public static func host(of text: String) -> String? { URLParts(text)?.host }

  /// The host alone.
  public var description: String { host }
  /// The host alone.
  public var debugDescription: String { host }
  /// Shows the host alone to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: ["host": host]) }
}
