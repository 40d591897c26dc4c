import Ccrypto
import Csodium

/// XChaCha20-Poly1305 in the form of the IETF: bytes that nobody reads and nobody changes without the key.
///
/// Nonces are random: of 192 bits, none comes twice. As the draft has it, the first 128 of them and the key make a key of
/// the message's own (HChaCha20, by libsodium), with which it is encrypted by ChaCha20-Poly1305 under the other 64. That
/// last step is libcrypto's: with the processor's wide registers it takes two fifths of what libsodium's own takes for
/// 120 kB, byte for byte the same.
enum AEAD {
  /// Bytes of a key.
  static let keyBytes = Int(crypto_aead_xchacha20poly1305_ietf_KEYBYTES)
  /// By how many bytes what is encrypted is longer than what it was made of: the nonce before it, the tag behind.
  static let overhead = nonceBytes + ChaCha20Poly1305.tagBytes

  private static let nonceBytes = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)

  /// The nonce and the encrypted bytes.
  ///
  /// - Parameter context: What has to be the same when it is opened; it is not part of the answer.
  static func encrypt(
    _ plain: UnsafeRawBufferPointer, key: UnsafePointer<UInt8>, context: [UInt8]
  ) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: plain.count + overhead) { encrypted, count in
      guard let start = encrypted.baseAddress else { return }  // there is room for the nonce at least
      randombytes_buf(start, nonceBytes)
      let isEncrypted = withMessageKey(start, key) { key, nonce in
        ChaCha20Poly1305.encrypt(plain, into: start + nonceBytes, key: key, nonce: nonce, context: context)
      }
      // `Sodium.prepare` has seen that libcrypto does it; what is left is a want of memory.
      precondition(isEncrypted, "libcrypto did not encrypt")
      count = plain.count + overhead
    }
  }

  /// What was encrypted; nil when the key or the context is another, or a bit was changed.
  static func open(
    _ encrypted: UnsafeRawBufferPointer, key: UnsafePointer<UInt8>, context: [UInt8]
  ) -> [UInt8]? {
    guard encrypted.count >= overhead else { return nil }
    var isGenuine = false
    let plain = [UInt8](unsafeUninitializedCapacity: encrypted.count - overhead) { plain, count in
      isGenuine = open(encrypted, into: plain, key: key, context: context)
      count = isGenuine ? encrypted.count - overhead : 0
    }
    return isGenuine ? plain : nil
  }

  /// Opens into memory that has room for it; false when the key or the context is another, or a bit was changed, and
  /// then the memory is zeroed.
  static func open(
    _ encrypted: UnsafeRawBufferPointer, into plain: UnsafeMutableBufferPointer<UInt8>,
    key: UnsafePointer<UInt8>, context: [UInt8]
  ) -> Bool {
    guard let nonce = encrypted.bindMemory(to: UInt8.self).baseAddress,
      encrypted.count >= overhead, plain.count >= encrypted.count - overhead
    else { return false }
    let message = UnsafeRawBufferPointer(rebasing: encrypted[nonceBytes...])
    let isGenuine = withMessageKey(nonce, key) { key, nonce in
      ChaCha20Poly1305.open(message, into: plain.baseAddress, key: key, nonce: nonce, context: context)
    }
    if !isGenuine, let start = plain.baseAddress { sodium_memzero(start, encrypted.count - overhead) }
    return isGenuine
  }

  /// Gives `body` a message's own key and the nonce that goes with it; both are zeroed after it.
  private static func withMessageKey<R>(
    _ nonce: UnsafePointer<UInt8>, _ key: UnsafePointer<UInt8>,
    _ body: (_ key: UnsafePointer<UInt8>, _ nonce: UnsafePointer<UInt8>) -> R
  ) -> R {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: keyBytes + ChaCha20Poly1305.nonceBytes) {
      memory in
      guard let own = memory.baseAddress else { preconditionFailure("A key has 32 bytes.") }
      defer { sodium_memzero(own, memory.count) }
      crypto_core_hchacha20(own, nonce, key, nil)
      let short = own + keyBytes
      short.initialize(repeating: 0, count: 4)
      (short + 4).initialize(from: nonce + 16, count: 8)
      return body(own, short)
    }
  }
}

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

  /// So many bytes of the system's source of randomness.
  ///
  /// - Throws: `unavailable`.
  static func randomBytes(_ count: Int) throws(ImageEncryptionError) -> [UInt8] {
    try prepare()
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      guard let start = buffer.baseAddress else { return }  // there is room
      randombytes_buf(start, count)
      filled = count
    }
  }

  /// Bytes in base64: with padding, or in the form for addresses, without.
  static func base64(_ bytes: [UInt8], isForAddresses: Bool = false) -> String {
    // With room for a zero at the end.
    let room = (bytes.count + 2) / 3 * 4 + 1
    var text = [CChar](repeating: 0, count: room)
    _ = sodium_bin2base64(
      &text, room, bytes, bytes.count,
      isForAddresses ? sodium_base64_VARIANT_URLSAFE_NO_PADDING : sodium_base64_VARIANT_ORIGINAL)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// ChaCha20-Poly1305 (RFC 8439) by libcrypto, for messages of up to 2 GiB.
enum ChaCha20Poly1305 {
  /// Bytes of a nonce.
  static let nonceBytes = 12
  /// Bytes of the tag behind an encrypted message.
  static let tagBytes = 16

  /// Whether libcrypto has it here: one that is confined to certain algorithms may not.
  static let isAvailable: Bool = {
    let zeros = [UInt8](repeating: 0, count: 32)
    var tag = [UInt8](repeating: 0, count: tagBytes)
    return zeros.withUnsafeBufferPointer { zeros in
      tag.withUnsafeMutableBufferPointer { tag in
        guard let key = zeros.baseAddress, let tag = tag.baseAddress else { return false }
        return encrypt(
          UnsafeRawBufferPointer(start: nil, count: 0), into: tag, key: key, nonce: key, context: [])
      }
    }
  }()

  /// Encrypts, and writes the tag behind.
  ///
  /// - Returns: false where libcrypto cannot.
  static func encrypt(
    _ plain: UnsafeRawBufferPointer, into encrypted: UnsafeMutablePointer<UInt8>, key: UnsafePointer<UInt8>,
    nonce: UnsafePointer<UInt8>, context: [UInt8]
  ) -> Bool {
    guard let cipher = EVP_CIPHER_CTX_new() else { return false }
    defer { EVP_CIPHER_CTX_free(cipher) }
    var count: Int32 = 0
    return EVP_EncryptInit_ex(cipher, EVP_chacha20_poly1305(), nil, key, nonce) == 1
      && EVP_EncryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1
      && (plain.isEmpty
        || EVP_EncryptUpdate(
          cipher, encrypted, &count, plain.bindMemory(to: UInt8.self).baseAddress, Int32(plain.count)) == 1)
      && EVP_EncryptFinal_ex(cipher, encrypted + plain.count, &count) == 1
      && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), encrypted + plain.count) == 1
  }

  /// Decrypts a message with its tag behind.
  ///
  /// - Parameter plain: Room for it; what is there when it is not genuine is nobody's business.
  /// - Returns: false when it is not what was encrypted.
  static func open(
    _ encrypted: UnsafeRawBufferPointer, into plain: UnsafeMutablePointer<UInt8>?, key: UnsafePointer<UInt8>,
    nonce: UnsafePointer<UInt8>, context: [UInt8]
  ) -> Bool {
    let size = encrypted.count - tagBytes
    guard size >= 0, let start = encrypted.bindMemory(to: UInt8.self).baseAddress,
      let cipher = EVP_CIPHER_CTX_new()
    else { return false }
    defer { EVP_CIPHER_CTX_free(cipher) }
    var count: Int32 = 0
    var last: UInt8 = 0
    return EVP_DecryptInit_ex(cipher, EVP_chacha20_poly1305(), nil, key, nonce) == 1
      && EVP_DecryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1
      && (size == 0 || EVP_DecryptUpdate(cipher, plain, &count, start, Int32(size)) == 1)
      && EVP_CIPHER_CTX_ctrl(
        cipher, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), UnsafeMutableRawPointer(mutating: start + size)) == 1
      && EVP_DecryptFinal_ex(cipher, &last, &count) == 1
  }
}
