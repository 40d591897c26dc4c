internal import Ccurl
internal import Glibc

/// An address taken apart by the parser that will connect, so that nobody can show one host and reach another.
///
/// The host is as libcurl will use it: letters beyond ASCII in their IDNA form, lower case, an IPv4 address in
/// any spelling (`127.1`, `0x7f000001`) in dotted form, IPv6 in brackets, no dot at the end. What comes out is
/// taken apart once more and must not change any further.
public struct URLParts: Sendable, Equatable {
  /// The scheme in lower case.
  public let scheme: String
  /// The host.
  public let host: String
  /// The port, the scheme's own unless the address names one.
  public let port: Int
  /// Whether a user name or a password is in it.
  public let hasCredentials: Bool
  /// The address, put together from its parts, without user, password and fragment.
  public let url: String

  /// Takes an address apart; nil when it is malformed, or stays ambiguous.
  public init?(_ text: String) {
    guard var parts = Self.read(text) else { return nil }
    let hasCredentials = parts.hasCredentials
    // One more reading makes figures of `127.1.`, whose dot hid that it is an address.
    for _ in 0..<3 {
      guard let again = Self.read(parts.url) else { return nil }
      if again.url == parts.url { break }
      parts = again
    }
    guard Self.read(parts.url)?.url == parts.url, Self.isHost(parts.host) else { return nil }
    scheme = parts.scheme
    host = parts.host
    port = parts.port
    self.hasCredentials = hasCredentials
    url = parts.url
  }

  private struct Reading {
    var scheme: String
    var host: String
    var port: Int
    var hasCredentials: Bool
    var url: String
  }

  /// libcurl takes the letters of a host for those of the thread's locale, which is that of ASCII unless somebody sets
  /// another. Made once and never changed, so that any thread may use it.
  nonisolated(unsafe) private static let unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)

  private static func read(_ text: String) -> Reading? {
    // Blanks and control characters have no place in an address, and parsers differ in what they make of them.
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let handle = curl_url() else { return nil }
    defer { curl_url_cleanup(handle) }
    let locale = uselocale(unicode)
    defer { uselocale(locale) }
    guard curl_url_set(handle, CURLUPART_URL, text, 0) == CURLUE_OK,
      let scheme = part(handle, CURLUPART_SCHEME),
      let given = part(handle, CURLUPART_HOST, UInt32(CURLU_PUNYCODE)),
      let port = part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)).flatMap({ Int($0) }),
      part(handle, CURLUPART_ZONEID) == nil
    else { return nil }
    // One dot at the end is the name's own way to say that it is whole.
    guard !given.hasSuffix("..") else { return nil }
    var host = given.lowercased()
    if host.hasSuffix(".") { host.removeLast() }
    let query = part(handle, CURLUPART_QUERY).map { "?\($0)" } ?? ""
    let path = part(handle, CURLUPART_PATH) ?? "/"
    return Reading(
      scheme: scheme, host: host, port: port,
      hasCredentials: [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS].contains {
        part(handle, $0) != nil
      },
      url: "\(scheme)://\(host):\(port)\(path)\(query)")
  }

  private static func part(_ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(validatingCString: text)
  }

  /// Whether a host is a name of labels with letters, digits, hyphens and underscores, or an address.
  private static func isHost(_ host: String) -> Bool {
    if host.hasPrefix("["), host.hasSuffix("]") { return true }
    guard host.utf8.count <= 253 else { return false }
    return host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      (1...63).contains(label.utf8.count)
        && label.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
          default: false
          }
        }
    }
  }
}
