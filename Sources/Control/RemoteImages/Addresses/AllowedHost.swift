internal import HTTPTransfer
internal import Support

/// A host, or all hosts below a name, from which images may be fetched, and at which port.
struct AllowedHost: Sendable, Hashable, CustomStringConvertible {
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
  init(_ text: String) throws(Fault) {
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
struct RemoteAddress: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The host as libcurl will use it.
  let host: String
  /// The address as it is requested.
  let url: String

  /// Reads an address, whose host must be one of those.
  ///
  /// - Parameter network: From which it is fetched; that of a test may speak no TLS.
  /// - Throws: `invalid` or `notAllowed`.
  init(
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
  static func host(of text: String) -> String? { URLParts(text)?.host }

  /// The host alone.
  public var description: String { host }
  /// The host alone.
  public var debugDescription: String { host }
  /// Shows the host alone to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: ["host": host]) }
}

/// The one address below which photos are that are given by name: `https://img.example.org/photos/`.
struct PhotoBase: Sendable, Hashable, CustomStringConvertible {
  /// Why a text is no such address, or no name of a photo, to be read after it.
  struct Fault: Error, Sendable, Equatable {
    /// `is not …`.
    let message: String
  }

  private let url: String

  /// Reads the address; a slash at its end may be left out.
  init(_ text: String) throws(Fault) {
    guard let parts = URLParts(text), parts.scheme == "https", !parts.hasCredentials,
      !text.contains("?"), !text.contains("#")
    else {
      throw Fault(message: "is not an https address without a query; write https://img.example.org/photos/")
    }
    url = parts.url.hasSuffix("/") ? parts.url : parts.url + "/"
  }

  /// Whether a photo is given by its whole address, and not by a name.
  static func isAddress(_ text: String) -> Bool { text.contains("://") }

  /// The address of a photo by its name, which may be of several parts with slashes between them. All but letters,
  /// digits and `-._~` is escaped, so that no name leads elsewhere.
  func address(of name: String) throws(Fault) -> String {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard !name.isEmpty, name.unicodeScalars.count <= 500, name.unicodeScalars.allSatisfy(\.isPrintable)
    else {
      throw Fault(message: "has 1 to 500 characters, and none that cannot be seen")
    }
    guard parts.allSatisfy({ !["", ".", ".."].contains($0) }) else {
      throw Fault(message: "has a part that is empty, . or ..")
    }
    return url + parts.map { percentEncoded(String($0)) }.joined(separator: "/")
  }

  /// As it is written down.
  var description: String { url }
}

extension PhotoBase? {
  /// The address of a photo that is given by its address, or by its name below the base.
  ///
  /// - Throws: `RemoteImageError` for an address that may not be fetched from those hosts, and `PhotoBase.Fault` for a
  ///   name that is none, or where there is no base.
  func address(
    of photo: String, among hosts: [AllowedHost], in network: NetworkDependencies = .system
  ) throws -> String {
    var address = photo
    if !PhotoBase.isAddress(photo) {
      guard let self else {
        throw PhotoBase.Fault(
          message: "is no address, and there is no --photo-base below which it could be a name")
      }
      address = try self.address(of: photo)
    }
    _ = try RemoteAddress(address, among: hosts, in: network)
    return address
  }
}
