import Csodium

extension KeyRing {
  /// Encrypts an image under a random key of its own, which is encrypted under the current key.
  ///
  /// It takes a tenth of a millisecond for 120 kB.
  ///
  /// - Throws: `noKey` or `unavailable`.
  public func seal(_ image: [UInt8], _ binding: ImageBinding) throws(ImageEncryptionError) -> SealedImage {
    let wrapping = try current()
    let (bytes, key) = Self.withOwnKey { own in
      randombytes_buf(own, AEAD.keyBytes)
      return (
        image.withUnsafeBytes { AEAD.seal($0, key: own, context: binding.ofBytes) },
        wrapping.wrap(own, binding)
      )
    }
    return SealedImage(bytes: bytes, key: WrappedKey(keyID: wrapping.id, bytes: key))
  }

  /// Decrypts an image.
  ///
  /// - Throws: `noKey` when the key file lacks the key, `tampered` when the image or its key was changed since, or is not
  ///   this user's.
  public func open(
    _ image: UnsafeRawBufferPointer, _ key: WrappedKey, _ binding: ImageBinding
  ) throws(ImageEncryptionError) -> [UInt8] {
    try opened(key, binding) { own in
      AEAD.open(image, key: own, context: binding.ofBytes)
    }.unwrapped("The image")
  }

  /// Encrypts an image's own key under the current key instead; the image stays as it is.
  ///
  /// - Throws: `noKey` when the key file lacks the key, `tampered` when the image's key was changed since, or is not this
  ///   user's.
  public func rewrap(_ key: WrappedKey, _ binding: ImageBinding) throws(ImageEncryptionError) -> WrappedKey {
    let wrapping = try current()
    let bytes = try opened(key, binding) { own in wrapping.wrap(own, binding) }
    return WrappedKey(keyID: wrapping.id, bytes: bytes)
  }

  /// Gives `body` an image's own key, which is zeroed after it.
  private func opened<R>(
    _ key: WrappedKey, _ binding: ImageBinding, _ body: (UnsafePointer<UInt8>) -> R
  ) throws(ImageEncryptionError) -> R {
    guard let wrapping = self[key.keyID] else { throw .noKey(key.keyID) }
    let opened: R? = Self.withOwnKey { own in
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
    return try opened.unwrapped("The image's own key")
  }

  /// Memory for an image's own key, on the stack, zeroed in the end.
  private static func withOwnKey<R>(_ body: (UnsafeMutablePointer<UInt8>) -> R) -> R {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: AEAD.keyBytes) { own in
      guard let start = own.baseAddress else { preconditionFailure("A key has 32 bytes.") }
      defer { sodium_memzero(start, AEAD.keyBytes) }
      return body(start)
    }
  }
}

extension WrappingKey {
  /// An image's own key, encrypted under this one.
  fileprivate func wrap(_ own: UnsafePointer<UInt8>, _ binding: ImageBinding) -> [UInt8] {
    let plain = UnsafeRawBufferPointer(start: own, count: AEAD.keyBytes)
    return memory.withKey { AEAD.seal(plain, key: $0, context: binding.ofKey) }
  }
}

extension Optional {
  /// What was opened.
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
