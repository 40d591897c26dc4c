import Csodium

/// SHA-256, by libsodium.
public enum ImageHash {
  /// The 32 bytes of the SHA-256 of the given bytes.
  public static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    start
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    // Its result is always 0.
    crypto_hash_sha256(
      &digest, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(bytes.count))
    return digest
  }

  /// The 32 bytes of the SHA-256 of the given bytes.
  public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { sha256($0) }
  }

  /// Bytes as lower-case hexadecimal digits, two a byte.
  public static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 0xF)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// `sodium_init` may be called from any thread and again; a static makes it once and first. Hashing
  /// is plain C and right even if it fails, so its result is not looked at.
  private static let start: Void = { _ = sodium_init() }()
}
