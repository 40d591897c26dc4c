import Ccrypto

/// SHA-256, of bytes at once or in pieces.
///
/// By libcrypto, which uses the processor's own instructions for it where there are any.
public struct SHA256: ~Copyable {
  private let context: OpaquePointer

  /// The hash of nothing, to which bytes are added.
  public init() {
    context = Self.newContext()
    Self.check(EVP_DigestInit_ex(context, EVP_sha256(), nil))
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  /// Adds bytes.
  public mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { Self.check(EVP_DigestUpdate(context, $0.baseAddress, $0.count)) }
  }

  /// The 32 bytes of the digest of what came so far.
  public var digest: [UInt8] {
    // A copy is finished, so that more can come.
    let copy = Self.newContext()
    defer { EVP_MD_CTX_free(copy) }
    Self.check(EVP_MD_CTX_copy_ex(copy, context))
    return Self.bytes { EVP_DigestFinal_ex(copy, $0, nil) }
  }

  /// The 32 bytes of the digest of bytes.
  public static func digest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    Self.bytes { EVP_Digest(bytes.baseAddress, bytes.count, $0, nil, EVP_sha256(), nil) }
  }

  /// The 32 bytes of the digest of bytes.
  public static func digest(of bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { digest(of: $0) }
  }

  /// The digest of a text's UTF-8, in lower-case hexadecimal.
  public static func hexadecimal(of text: String) -> String {
    Hexadecimal.text(of: digest(of: Array(text.utf8)))
  }

  private static func bytes(_ fill: (UnsafeMutablePointer<UInt8>?) -> Int32) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      check(fill(buffer.baseAddress))
      count = 32
    }
  }

  private static func newContext() -> OpaquePointer {
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("There is no memory for a hash.") }
    return context
  }

  /// Only a lack of memory, or a libcrypto set up without SHA-256, makes one of these calls fail.
  private static func check(_ outcome: Int32) {
    precondition(outcome == 1, "libcrypto cannot compute a SHA-256.")
  }
}

/// Bytes as digits.
public enum Hexadecimal {
  /// Two lower-case digits a byte.
  public static func text(of bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.underestimatedCount * 2)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 0xF)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Random bytes of the system, which nobody guesses.
  public static func random(bytes count: Int) -> String {
    var random = SystemRandomNumberGenerator()
    return text(of: (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }
}
