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
  public let mark: String
  /// How the bytes are encrypted; nil for an image in plaintext.
  public let storedKey: Encryption?
  /// Whose it is, as ``ClaimedJob/userID`` has it; nil where the database does not say, which is one whose functions
  /// are of an earlier program.
  public let userID: Int64?

  /// An image with its mark.
  public init(bytes: Blob, mark: String, storedKey: Encryption? = nil, userID: Int64? = nil) {
    self.bytes = bytes
    self.mark = mark
    self.storedKey = storedKey
    self.userID = userID
  }
}
