import Ccrypto

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
