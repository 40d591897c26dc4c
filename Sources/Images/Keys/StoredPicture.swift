import Support

/// A picture that the database keeps, as it was before it was encrypted.
public enum StoredPicture {
  /// Why one picture cannot be read; others may be.
  public struct Unreadable: Error, Equatable {
    /// In a sentence.
    public let reason: String

    /// A reason of the caller's own.
    public init(_ reason: String) {
      self.reason = reason
    }

    /// It is encrypted, and there are no keys.
    public static let withoutKeys = Unreadable("It is encrypted, and no key file is named.")
    static let changed = Unreadable("It does not have the hash that is stored with it.")
  }

  /// How one is encrypted: under which key of the key file, with which key of its own, and for whom.
  public typealias Encryption = (keyID: Int64, wrappedKey: [UInt8], userSHA256: [UInt8])

  /// Opens one; none in plaintext that does not have the hash that is stored with it. An encrypted one opens with its
  /// hash alone. It takes the processor for some milliseconds.
  ///
  /// - Parameter encryption: nil for a picture in plaintext.
  public static func opened(
    _ bytes: UnsafeRawBufferPointer, sha256: [UInt8], _ encryption: Encryption?, _ keys: KeyRing?
  ) throws(Unreadable) -> [UInt8] {
    guard let encryption else {
      guard SHA256.digest(of: bytes) == sha256 else { throw .changed }
      return Array(bytes)
    }
    guard let keys else { throw .withoutKeys }
    guard let id = KeyID(encryption.keyID) else {
      throw Unreadable("No key can have the number of its key.")
    }
    do throws(ImageEncryptionError) {
      return try keys.open(
        bytes, WrappedKey(keyID: id, bytes: encryption.wrappedKey),
        ImageBinding(userSHA256: encryption.userSHA256, sha256: sha256))
    } catch {
      throw Unreadable(error.message)
    }
  }
}
