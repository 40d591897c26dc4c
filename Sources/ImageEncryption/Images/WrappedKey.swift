/// An image's own key as the database holds it: encrypted under a key of the key file.
public struct WrappedKey: Sendable, Equatable {
  /// How many bytes there are of it.
  public static let byteCount = AEAD.keyBytes + AEAD.overhead

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
  public static let overhead = AEAD.overhead

  /// The nonce and the encrypted image.
  public let bytes: [UInt8]
  /// Its own key.
  public let key: WrappedKey
}
