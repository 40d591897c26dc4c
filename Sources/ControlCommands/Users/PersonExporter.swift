import Administration
import CommandLineTool
import Formatting
import ImageEncryption
import JobQueue
import PostgreSQL

/// Writes what is kept of a person into a folder.
struct PersonExporter: Sendable {
  let database: ConnectionPool
  /// For images that are encrypted.
  let keys: KeyRing?
  /// Who does it, for the audit.
  let actor: AuditActor

  /// Writes it, and removes what was written if that fails.
  ///
  /// - Throws: what the database, the folder or the keys refuse; then there is no folder.
  func export(_ user: String, to path: String) async throws -> UsersExportResponse {
    let folder = try await ExportFolder(path)
    do {
      let export = try await PersonExport(of: user, in: database, as: actor)
      var (jobs, images, unreadable) = (0, 0, 0)
      try await folder.append("{\"account\":\(export.account),\n\"jobs\":[")
      try await export.forEachJob(as: actor) { job in
        try await folder.append(jobs == 0 ? "\n\(job)" : ",\n\(job)")
        jobs += 1
      }
      try await folder.append("],\n\"images\":[")
      try await export.forEachImage(as: actor) { image in
        let line: JSONValue
        do {
          line = try await folder.add(image, bytes: Self.opened(image, keys))
        } catch let error as UnreadableImage {
          // The person gets the rest, and is told of it.
          line = ["image": .integer(image.id), "unreadable": .string(error.reason)]
          unreadable += 1
        }
        try await folder.append(images == 0 ? "\n\(line.json)" : ",\n\(line.json)")
        images += 1
      }
      try await folder.append("]}\n")
      try await folder.finish()
      return UsersExportResponse(
        user: user, folder: path, jobs: jobs, images: images - unreadable, unreadable: unreadable)
    } catch {
      await folder.abandon()
      throw error
    }
  }

  /// Why one image cannot be read; the others may be.
  private struct UnreadableImage: Error {
    let reason: String
  }

  /// An image as it was before it was encrypted.
  @concurrent
  private static func opened(_ exported: ExportedImage, _ keys: KeyRing?) async throws -> [UInt8] {
    let image = exported.image
    guard let encryption = image.encryption else { return image.bytes.withUnsafeBytes { Array($0) } }
    guard let keys else {
      throw CommandFailure(
        .unreadableInput, "image \(exported.id) is encrypted, and no key file is named",
        advice: "Name it with --key-file.")
    }
    guard let id = KeyID(encryption.storedKey.keyID) else {
      throw UnreadableImage(reason: "No key can have the number of its key.")
    }
    do {
      return try image.bytes.withUnsafeBytes { bytes throws(ImageEncryptionError) in
        try keys.open(
          bytes, WrappedKey(keyID: id, bytes: encryption.storedKey.wrappedKey),
          ImageBinding(userSHA256: encryption.userSHA256, sha256: encryption.sha256))
      }
    } catch {
      throw UnreadableImage(reason: error.message)
    }
  }
}
