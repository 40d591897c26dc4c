extension Configuration {
  /// Checks that requests to an address would be let out, so that a wrong setting is told when it is read
  /// and not at the first request.
  ///
  /// - Throws: `invalidRequest` when the address is malformed; `refusedByPolicy` for another scheme than
  ///   `https`, plain `http` where it is not allowed, and a user name or password in the address.
  public func check(_ address: String) throws(TransferError) {
    let destination = try Destination(address, plainHTTP: plainHTTP)
    for key in pinnedKeys {
      // 32 bytes in base64. libcurl takes a text that is none for a file's name.
      let digits = key.dropFirst("sha256//".count)
      guard key.hasPrefix("sha256//"), digits.utf8.count == 44, digits.hasSuffix("="),
        digits.dropLast().utf8.allSatisfy(Self.isBase64)
      else {
        throw .invalidRequest("a pinned key is like sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
      }
      guard destination.scheme == "https" else {
        throw .refusedByPolicy("a public key is pinned, and plain http to \(destination.host) has none")
      }
    }
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}
