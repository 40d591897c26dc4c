import Csodium
import FoundationEssentials
import Synchronization

/// Makes and checks access tokens: JSON Web Tokens signed with HMAC-SHA-256 under a key of this process.
final class TokenMint: Sendable {
  /// What a token says.
  struct Claims: Codable, Sendable {
    let sub: String
    let iat: Int
    let exp: Int
    /// Makes two tokens of the same second differ.
    let jti: String
  }

  private let key: [UInt8]
  private let header = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
  /// Tokens whose signature has been checked, so that a busy client's is checked once.
  private let verified = Mutex<[String: Claims]>([:])
  private let verifiedCapacity = 4096

  init() {
    key = Randomness.bytes(Int(crypto_auth_hmacsha256_KEYBYTES))
  }

  /// A token for an account, valid from now for a number of seconds.
  func issue(account: String, now: Double, lifetime: Double) -> String {
    let claims = Claims(
      sub: account, iat: Int(now), exp: Int((now + lifetime).rounded(.up)), jti: Randomness.hex(8))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let payload = Base64URL.encode((try? encoder.encode(claims)) ?? Data())
    let signed = "\(header).\(payload)"
    return "\(signed).\(Base64URL.encode(signature(of: signed)))"
  }

  /// The claims of a token that this process has signed and that has not expired, else nil.
  func check(_ token: String, now: Double) -> Claims? {
    guard let claims = verified.withLock({ $0[token] }) ?? verify(token) else { return nil }
    return now < Double(claims.exp) ? claims : nil
  }

  private func verify(_ token: String) -> Claims? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == header[...], let given = Base64URL.decode(parts[2]),
      let payload = Base64URL.decode(parts[1])
    else { return nil }
    let expected = signature(of: "\(parts[0]).\(parts[1])")
    guard given.count == expected.count, sodium_memcmp(given, expected, expected.count) == 0,
      let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload))
    else { return nil }
    verified.withLock { verified in
      if verified.count >= verifiedCapacity { verified.removeAll() }
      verified[token] = claims
    }
    return claims
  }

  private func signature(of text: String) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
    let message = Array(text.utf8)
    crypto_auth_hmacsha256(&output, message, UInt64(message.count), key)
    return output
  }
}

/// Base64 with the alphabet of URLs and without padding, as the parts of a token are written.
enum Base64URL {
  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for character in Data(bytes).base64EncodedString() {
      switch character {
      case "+": text.append("-")
      case "/": text.append("_")
      case "=": break
      default: text.append(character)
      }
    }
    return text
  }

  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var standard = ""
    for character in text {
      switch character {
      case "-": standard.append("+")
      case "_": standard.append("/")
      case "+", "/", "=": return nil
      default: standard.append(character)
      }
    }
    standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
    return Data(base64Encoded: standard).map { [UInt8]($0) }
  }
}

/// Unpredictable bytes of the system, through libsodium.
enum Randomness {
  /// libsodium prepared, once; false if the system has no source of randomness.
  static let isReady = sodium_init() >= 0

  static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    randombytes_buf(&bytes, count)
    return bytes
  }

  static func hex(_ count: Int) -> String {
    bytes(count).map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined()
  }
}
