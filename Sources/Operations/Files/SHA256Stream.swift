import Ccrypto

/// SHA-256 of bytes that come in pieces.
///
/// By libcrypto, which uses the processor's own instructions for it where there are any; libsodium has none, and
/// took longer over a large report's bytes than all the rest of writing them.
struct SHA256Stream: ~Copyable {
  private let context: OpaquePointer

  init() {
    context = Self.newContext()
    Self.check(EVP_DigestInit_ex(context, EVP_sha256(), nil))
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { Self.check(EVP_DigestUpdate(context, $0.baseAddress, $0.count)) }
  }

  /// The digest of what came so far, in lower-case hexadecimal.
  var digest: String {
    // A copy is finished, so that more can come.
    let copy = Self.newContext()
    defer { EVP_MD_CTX_free(copy) }
    Self.check(EVP_MD_CTX_copy_ex(copy, context))
    var digest = [UInt8](repeating: 0, count: 32)
    Self.check(EVP_DigestFinal_ex(copy, &digest, nil))
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
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
