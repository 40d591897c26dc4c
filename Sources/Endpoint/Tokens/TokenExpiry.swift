import Support

/// When a token ends, as far as it or the answer that brought it says.
enum TokenExpiry {
  /// The end by this machine's clock, in seconds since 1970; nil when nothing says so.
  ///
  /// A JWT that says when it was issued gives a length of life, which holds even where the endpoint's clock
  /// is not ours. A new token that has ended already has not: one of the clocks is wrong, and taken at its
  /// word it would have to be renewed for every call.
  static func of(_ token: String, answer: JSONPart, receivedAt: Double) -> Double? {
    stated(token, answer: answer, receivedAt: receivedAt).flatMap { $0 > receivedAt ? $0 : nil }
  }

  private static func stated(_ token: String, answer: JSONPart, receivedAt: Double) -> Double? {
    if let claims = claims(token), let end = time(claims["exp"]) {
      if let issued = time(claims["iat"]), issued <= end { return receivedAt + (end - issued) }
      return end
    }
    if let seconds = (answer["expiresIn"] ?? answer["expires_in"])?.number, seconds >= 0 {
      return receivedAt + seconds
    }
    return (answer["expiresAt"] ?? answer["expires_at"]).flatMap(AnswerTime.read)
  }

  private static func time(_ value: JSONPart?) -> Double? {
    guard let value, value.number != nil else { return nil }
    return AnswerTime.read(value)
  }

  /// The claims of a JWT, unverified: they only tell when to ask for the next one.
  private static func claims(_ token: String) -> JSONPart? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = base64URL(parts[1]) else { return nil }
    return try? JSONReader.read(bytes)
  }

  /// Decodes base64 with the alphabet for addresses (RFC 4648), padded or not.
  static func base64URL(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for character in text.utf8 where character != UInt8(ascii: "=") {
      guard let value = value(character) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return count < 6 ? bytes : nil
  }

  private static func value(_ character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
    case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
