/// How an image was encrypted before it was submitted. The database keeps it and can do nothing with it.
public struct StoredKey: Sendable, Equatable {
  /// The number of the key file's key under which the image's own key is.
  public var keyID: Int64
  /// The image's own key, encrypted under that one: 72 bytes.
  public var wrappedKey: [UInt8]

  /// A stored key with its parts.
  public init(keyID: Int64, wrappedKey: [UInt8]) {
    self.keyID = keyID
    self.wrappedKey = wrappedKey
  }
}
