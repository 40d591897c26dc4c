import CommandLineTool
import Images
import PostgreSQL
import Queue
import Support

/// Pictures that the database keeps, as they were before they were encrypted.
enum StoredPicture {
  /// Why one picture cannot be read; others may be.
  struct Unreadable: Error {
    let reason: String

    static let changed = Unreadable(reason: "It does not have the hash that is stored with it.")
  }

  /// Opens one.
  ///
  /// - Throws: `Unreadable`; `CommandFailure` where it is encrypted and there are no keys.
  @concurrent
  static func opened(_ stored: ExportedImage, _ keys: KeyRing?) async throws -> [UInt8] {
    let image = stored.image
    guard let encryption = image.encryption else {
      let bytes = image.bytes.withUnsafeBytes { Array($0) }
      guard SHA256.digest(of: bytes) == image.sha256 else { throw Unreadable.changed }
      return bytes
    }
    guard let keys else {
      throw CommandFailure(
        .unreadableInput, "image \(stored.id) is encrypted, and no key file is named",
        advice: "Name it with --key-file.")
    }
    guard let id = KeyID(encryption.storedKey.keyID) else {
      throw Unreadable(reason: "No key can have the number of its key.")
    }
    let plain: [UInt8]?
    do {
      plain = try image.bytes.withUnsafeBytes { bytes throws(ImageEncryptionError) in
        try keys.image(
          bytes, WrappedKey(keyID: id, bytes: encryption.storedKey.wrappedKey),
          ImageBinding(userSHA256: encryption.userSHA256, sha256: image.sha256))
      }
    } catch {
      throw Unreadable(reason: error.message)
    }
    guard let plain else { throw Unreadable.changed }
    return plain
  }
}
