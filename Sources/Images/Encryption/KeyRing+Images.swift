import Csodium

extension KeyRing {
  /// Encrypts an image under a random key of its own, which is encrypted under the current key.
  ///
  /// It takes some forty microseconds for 120 kB.
  ///
  /// - Throws: `noKey` or `unavailable`.
  public func encrypt(_ image: [UInt8], _ binding: ImageBinding) throws(ImageEncryptionError)
    -> EncryptedImage
  {
    let encrypted = try encrypt(image, bound: binding)
    return EncryptedImage(bytes: encrypted.bytes, key: encrypted.key)
  }

  /// Decrypts an image.
  ///
  /// - Throws: `noKey` when the key file lacks the key, `tampered` when the image or its key was changed since, or is not
  ///   this user's.
  public func open(
    _ image: UnsafeRawBufferPointer, _ key: WrappedKey, _ binding: ImageBinding
  ) throws(ImageEncryptionError) -> [UInt8] {
    try withOwnKey(key, binding) { own in
      AEAD.open(image, key: own, context: binding.ofBytes)
    }.unwrapped("The image's own key").unwrapped("The image")
  }

  /// Encrypts an image's own key under the current key instead; the image stays as it is.
  ///
  /// - Throws: `noKey` when the key file lacks the key, `tampered` when the image's key was changed since, or is not this
  ///   user's.
  public func rewrap(_ key: WrappedKey, _ binding: ImageBinding) throws(ImageEncryptionError) -> WrappedKey {
    let wrapping = try current()
    let bytes = try withOwnKey(key, binding) { own in wrapping.wrap(own, binding) }
      .unwrapped("The image's own key")
    return WrappedKey(keyID: wrapping.id, bytes: bytes)
  }
}

extension Optional {
  fileprivate func unwrapped(_ what: String) throws(ImageEncryptionError) -> Wrapped {
    guard let value = self else {
      throw ImageEncryptionError(
        .tampered,
        "\(what) does not open under the key that it names: it was changed, cut off or moved from another user.",
        advice: "Restore the row from a backup, or submit the image anew.")
    }
    return value
  }
}

extension KeyRing {
  /// Encrypts bytes under a random key of their own, which is encrypted under the current key.
  ///
  /// - Throws: `noKey` or `unavailable`.
  func encrypt(
    _ plain: [UInt8], bound binding: some EncryptionBinding
  ) throws(ImageEncryptionError) -> (bytes: [UInt8], key: WrappedKey) {
    let wrapping = try current()
    let (bytes, key) = Self.withKeyMemory { own in
      randombytes_buf(own, AEAD.keyBytes)
      return (
        plain.withUnsafeBytes { AEAD.encrypt($0, key: own, context: binding.ofBytes) },
        wrapping.wrap(own, binding)
      )
    }
    return (bytes, WrappedKey(keyID: wrapping.id, bytes: key))
  }

  /// Lends the own key of encrypted bytes, which is zeroed afterwards; nil when it was changed or is bound to something
  /// else.
  ///
  /// - Throws: `noKey`.
  func withOwnKey<R>(
    _ key: WrappedKey, _ binding: some EncryptionBinding, _ body: (UnsafePointer<UInt8>) -> R
  ) throws(ImageEncryptionError) -> R? {
    guard let wrapping = self[key.keyID] else { throw .noKey(key.keyID) }
    return Self.withKeyMemory { own in
      let isOpen = key.bytes.withUnsafeBytes { wrapped in
        wrapped.count == WrappedKey.byteCount
          && wrapping.memory.withKey { key in
            AEAD.open(
              wrapped, into: UnsafeMutableBufferPointer(start: own, count: AEAD.keyBytes), key: key,
              context: binding.ofKey)
          }
      }
      return isOpen ? body(own) : nil
    }
  }

  /// Memory for a key, on the stack, zeroed in the end.
  private static func withKeyMemory<R>(_ body: (UnsafeMutablePointer<UInt8>) -> R) -> R {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: AEAD.keyBytes) { own in
      guard let start = own.baseAddress else { preconditionFailure("A key has 32 bytes.") }
      defer { sodium_memzero(start, AEAD.keyBytes) }
      return body(start)
    }
  }
}

extension WrappingKey {
  /// An own key of other bytes, encrypted under this one.
  func wrap(_ own: UnsafePointer<UInt8>, _ binding: some EncryptionBinding) -> [UInt8] {
    let plain = UnsafeRawBufferPointer(start: own, count: AEAD.keyBytes)
    return memory.withKey { AEAD.encrypt(plain, key: $0, context: binding.ofKey) }
  }
}

/// An image's own key as the database holds it: encrypted under a key of the key file.
public struct WrappedKey: Sendable, Equatable {
  /// How many bytes there are of it.
  static let byteCount = AEAD.keyBytes + AEAD.overhead

  /// The key under which it is encrypted.
  public let keyID: KeyID
  /// The nonce and the encrypted key.
  public let bytes: [UInt8]

  /// A key as it was stored.
  public init(keyID: KeyID, bytes: [UInt8]) {
    self.keyID = keyID
    self.bytes = bytes
  }
}

/// An image that only a holder of its key can see.
public struct EncryptedImage: Sendable, Equatable {
  /// By how many bytes it is longer than the image.
  static let overhead = AEAD.overhead

  /// The nonce and the encrypted image.
  public let bytes: [UInt8]
  /// Its own key.
  public let key: WrappedKey
}
