import Csodium

/// SHA-256 of bytes that come in pieces.
struct Fingerprint {
  private var state = crypto_hash_sha256_state()

  init() {
    crypto_hash_sha256_init(&state)
  }

  mutating func add(_ bytes: [UInt8]) {
    crypto_hash_sha256_update(&state, bytes, UInt64(bytes.count))
  }

  /// The digest in lower-case hexadecimal; nothing may be added after it.
  mutating func finish() -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    crypto_hash_sha256_final(&state, &digest)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
