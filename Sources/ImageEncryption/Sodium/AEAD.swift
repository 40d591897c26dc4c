import Csodium

/// XChaCha20-Poly1305 in the form of the IETF: bytes that nobody reads and nobody changes without the key.
///
/// Nonces are random: of 192 bits, none comes twice.
enum AEAD {
  /// Bytes of a key.
  static let keyBytes = Int(crypto_aead_xchacha20poly1305_ietf_KEYBYTES)
  /// By how many bytes what is sealed is longer than what it was made of: the nonce before it, the tag behind.
  static let overhead = nonceBytes + Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

  private static let nonceBytes = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)

  /// The nonce and the encrypted bytes.
  ///
  /// - Parameter context: What has to be the same when it is opened; it is not part of the answer.
  static func seal(
    _ plain: UnsafeRawBufferPointer, key: UnsafePointer<UInt8>, context: [UInt8]
  ) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: plain.count + overhead) { sealed, count in
      guard let nonce = sealed.baseAddress else { return }  // there is room for the nonce at least
      randombytes_buf(nonce, nonceBytes)
      // It always succeeds: it ends the process for more bytes than any memory holds.
      _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
        nonce + nonceBytes, nil, plain.bindMemory(to: UInt8.self).baseAddress, UInt64(plain.count), context,
        UInt64(context.count), nil, nonce, key)
      count = plain.count + overhead
    }
  }

  /// What was sealed; nil when the key or the context is another, or a bit was changed.
  static func open(
    _ sealed: UnsafeRawBufferPointer, key: UnsafePointer<UInt8>, context: [UInt8]
  ) -> [UInt8]? {
    guard sealed.count >= overhead else { return nil }
    var isGenuine = false
    let plain = [UInt8](unsafeUninitializedCapacity: sealed.count - overhead) { plain, count in
      isGenuine = open(sealed, into: plain, key: key, context: context)
      count = isGenuine ? sealed.count - overhead : 0
    }
    return isGenuine ? plain : nil
  }

  /// Opens into memory that has room for it; false when the key or the context is another, or a bit was changed.
  static func open(
    _ sealed: UnsafeRawBufferPointer, into plain: UnsafeMutableBufferPointer<UInt8>,
    key: UnsafePointer<UInt8>, context: [UInt8]
  ) -> Bool {
    guard let nonce = sealed.bindMemory(to: UInt8.self).baseAddress,
      sealed.count >= overhead, plain.count >= sealed.count - overhead
    else { return false }
    return crypto_aead_xchacha20poly1305_ietf_decrypt(
      plain.baseAddress, nil, nil, nonce + nonceBytes, UInt64(sealed.count - nonceBytes), context,
      UInt64(context.count), nonce, key) == 0
  }
}
