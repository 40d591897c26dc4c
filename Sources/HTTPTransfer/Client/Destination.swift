internal import Ccurl

/// Where a request goes, read by the same parser that will connect, and allowed by the policy.
struct Destination {
  let scheme: String
  let host: String

  /// Checks an address.
  ///
  /// - Throws: `invalidRequest` when it is malformed; `refusedByPolicy` for another scheme than `https`,
  ///   plain `http` to another machine, and a user name or password in it.
  init(_ url: String, plainHTTP: Configuration.PlainHTTP) throws(TransferError) {
    guard FieldRules.isValue(url), let handle = curl_url() else {
      throw .invalidRequest("the address has a control character")
    }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
      let scheme = Self.part(handle, CURLUPART_SCHEME), let host = Self.part(handle, CURLUPART_HOST)
    else {
      throw Self.malformed(url)
    }
    guard Self.part(handle, CURLUPART_USER) == nil, Self.part(handle, CURLUPART_PASSWORD) == nil else {
      throw .refusedByPolicy("the address has a user name or password in it; use a credentials file")
    }
    self.scheme = scheme
    self.host = host
    switch scheme {
    case "https": break
    case "http":
      if case .loopbackOnly = plainHTTP, !Self.isLoopback(host) {
        throw .refusedByPolicy("plain http to \(host), another machine, would show the token and the image")
      }
    default: throw .refusedByPolicy("only https is spoken, not \(scheme)")
    }
  }

  /// An unknown scheme is reported as such, since it is a decision and not a slip of the pen.
  private static func malformed(_ url: String) -> TransferError {
    let scheme = url.prefix { $0 != ":" }
    let known = ["http", "https"]
    if url.dropFirst(scheme.count).hasPrefix("://"), FieldRules.isToken(String(scheme)),
      !known.contains(scheme.lowercased())
    {
      return .refusedByPolicy("only https is spoken, not \(scheme)")
    }
    return .invalidRequest("the address cannot be read; it must be like https://host/path")
  }

  private static func part(_ handle: OpaquePointer, _ part: CURLUPart) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }

  /// Whether a host, as libcurl writes it (numbers in dotted form, IPv6 in brackets), is this machine.
  /// libcurl resolves `localhost` itself, without asking any server.
  static func isLoopback(_ host: String) -> Bool {
    if host.lowercased() == "localhost" || host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127"
      && numbers.allSatisfy { UInt8($0) != nil && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }
}
