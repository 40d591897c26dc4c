public import PostgreSQL

/// An image as the database holds it.
public struct StoredImage: Sendable {
  /// How an image is encrypted, and what it is bound to.
  public struct Encryption: Sendable, Equatable {
    /// The number of the key file's key under which the image's own key is, and that key.
    public let storedKey: StoredKey
    /// Whose image it is: the SHA-256 of the user's reference.
    public let userSHA256: [UInt8]
    /// The SHA-256 of the image as it was before.
    public let sha256: [UInt8]

    /// A stored key with what it is bound to.
    public init(_ storedKey: StoredKey, userSHA256: [UInt8], sha256: [UInt8]) {
      self.storedKey = storedKey
      self.userSHA256 = userSHA256
      self.sha256 = sha256
    }
  }

  /// The image, inside the answer that brought it: the bytes are not copied.
  public let bytes: Blob
  /// What tells one image from another: the first 16 hexadecimal digits of its SHA-256.
  public let digestPrefix: String
  /// How the bytes are encrypted; nil for an image in plaintext.
  public let encryption: Encryption?
  /// Whose it is, as ``ClaimedJob/userID`` has it; nil where that was not asked for.
  public let userID: Int64?

  /// An image with its parts.
  public init(bytes: Blob, digestPrefix: String, encryption: Encryption? = nil, userID: Int64? = nil) {
    self.bytes = bytes
    self.digestPrefix = digestPrefix
    self.encryption = encryption
    self.userID = userID
  }
}

extension StoredImage.Encryption {
  /// Reads it from a row of an image; nil for an image in plaintext.
  package init?(_ row: Row) throws {
    guard let keyID = try row.int64IfPresent("o_encrypted_by") else { return nil }
    self.init(
      StoredKey(keyID: keyID, wrappedKey: try row.bytes("o_wrapped_key")),
      userSHA256: try row.bytesIfPresent("o_user_sha256") ?? [], sha256: try row.bytes("o_sha256"))
  }
}
