import BenchmarkKit
import Images
import TestSupport

/// A key file of a row's own, and pictures under its key.
struct PictureKeys: Sendable {
  /// Where the file is.
  let path: String
  private let folder: TemporaryFolder
  private let ring: KeyRing

  /// Makes the file.
  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("image.keys")
    ring = try KeyFile.addKey(path, at: 0)
  }

  /// The arguments that give a program these keys; none when there are no keys.
  static func arguments(_ keys: PictureKeys?) -> [String] { keys.map { ["--key-file", $0.path] } ?? [] }

  /// Encrypts a user's picture, as `analysisctl submit` does.
  func encrypt(_ user: String, _ picture: [UInt8]) throws -> QueueFixture.EncryptedPicture {
    let hash = ring.imageHash(of: picture)
    let encrypted = try ring.encrypt(picture, ImageBinding(user: user, sha256: hash))
    return QueueFixture.EncryptedPicture(
      bytes: encrypted.bytes, sha256: hash, keyID: encrypted.key.keyID.value, wrappedKey: encrypted.key.bytes)
  }
}
