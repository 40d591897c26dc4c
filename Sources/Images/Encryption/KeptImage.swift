internal import Support

/// An image as it is stored: encrypted under the keys that there are, or as it is.
public struct KeptImage: Sendable {
  /// The bytes to be stored.
  public let bytes: [UInt8]
  /// The hash by which the user's image is known; of an encrypted one it is made with a key.
  public let sha256: [UInt8]
  /// The image's own key; nil where it is not encrypted.
  public let key: WrappedKey?

  /// - Parameters:
  ///   - user: Whose image it is, as the queue calls them.
  ///   - keys: Under which it is encrypted; nil leaves it as it is.
  /// - Throws: `noKey` or `unavailable`.
  public init(_ image: [UInt8], of user: String, _ keys: KeyRing?) throws(ImageEncryptionError) {
    guard let keys else {
      (bytes, sha256, key) = (image, SHA256.digest(of: image), nil)
      return
    }
    sha256 = keys.imageHash(of: image)
    let encrypted = try keys.encrypt(image, ImageBinding(user: user, sha256: sha256))
    (bytes, key) = (encrypted.bytes, encrypted.key)
  }
}
