import Csodium

/// Checksums of SQL, by which an edited migration is told.
enum Checksum {
  /// The SHA-256 of a text's UTF-8, in hexadecimal.
  static func sha256(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    // It cannot fail: the return value is always 0.
    _ = crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
