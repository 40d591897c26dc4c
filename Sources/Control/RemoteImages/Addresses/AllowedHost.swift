internal import HTTPTransfer

/// A host, or all hosts below a name, from which images may be fetched, and at which port.
public struct AllowedHost: Sendable, Hashable, CustomStringConvertible {
  /// Why a text names no host, to be read after it.
  public struct Fault: Error, Sendable, Equatable {
    /// `is not …`.
    public let message: String
  }

  /// In the form that libcurl uses, without the `*.`.
  let name: String
  let isWildcard: Bool
  let port: Int

  private static let usualPort = 443

  /// Reads `images.example.org`, `*.example.org` (what is below it, not itself), either with a port behind it.
  public init(_ text: String) throws(Fault) {
    isWildcard = text.hasPrefix("*.")
    let host = isWildcard ? String(text.dropFirst(2)) : text
    guard !host.contains(where: { "/\\?#@*%".contains($0) }), let parts = URLParts("https://\(host)/") else {
      throw Fault(message: "is not a host; write images.example.org or *.example.org")
    }
    if isWildcard {
      guard IPAddress(parts.host) == nil else {
        throw Fault(message: "is not a host; there is nothing below an address")
      }
      // All of a top-level domain is nobody's to vouch for.
      guard parts.host.contains(".") else {
        throw Fault(message: "allows too much; name at least two parts, as in *.example.org")
      }
    }
    name = parts.host
    port = parts.port
  }

  /// Whether it allows a host and port as `URLParts` has them.
  func allows(_ host: String, port: Int) -> Bool {
    guard port == self.port else { return false }
    return isWildcard ? host.hasSuffix(".\(name)") : host == name
  }

  /// As it is written down, in its final form.
  public var description: String {
    "\(isWildcard ? "*." : "")\(name)\(port == Self.usualPort ? "" : ":\(port)")"
  }
}

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
  /// - Parameter network: From which it is fetched; that of a test may speak no TLS.
  /// - Throws: `invalid` or `notAllowed`.
  public init(
    _ text: String, among hosts: [AllowedHost], in network: NetworkDependencies = .system
  ) throws(RemoteImageError) {
    guard let parts = URLParts(text) else { throw .invalid }
    guard !parts.hasCredentials else { throw .credentials(parts.host) }
    guard parts.scheme == "https" || network.allowsPlainHTTP && parts.scheme == "http" else {
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
