import Csodium

/// libsodium, which has to be prepared before anything else of it is used.
enum Sodium {
  /// Whether it is prepared; false where the system has no source of randomness.
  private static let isReady = sodium_init() >= 0

  /// Prepares it, once.
  ///
  /// - Throws: `unavailable`.
  static func prepare() throws(ImageEncryptionError) {
    guard isReady else {
      throw ImageEncryptionError(
        .unavailable, "libsodium finds no source of random numbers on this system.",
        advice: "Give the process /dev/urandom or the call getrandom.")
    }
    guard ChaCha20Poly1305.isAvailable else {
      throw ImageEncryptionError(
        .unavailable, "libcrypto does not offer ChaCha20-Poly1305 on this system.",
        advice: "See OPENSSL_CONF: a configuration that is confined to other algorithms leaves it out.")
    }
  }
}
