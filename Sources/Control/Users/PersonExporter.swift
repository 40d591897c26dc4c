import CommandLineTool
import EventLoop
import Foundation
import Images
import PostgreSQL
import Queue
import Support

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
          line = try await folder.add(image, bytes: StoredPicture.opened(image, keys))
        } catch let error as StoredPicture.Unreadable {
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
}

/// A folder that appears whole or not at all: it is made under another name beside its own, which it gets in the
/// end. Only its owner may look into it.
actor ExportFolder {
  private let path: String
  private let temporary: String
  private var waiting: [UInt8] = []

  /// So many bytes of the data are written at a time.
  private static let chunk = 1 << 20

  /// Begins one.
  ///
  /// - Throws: `CommandFailure` when there is something of that name already, or when it cannot be made.
  init(_ path: String) async throws {
    var target = path
    while target.utf8.count > 1, target.hasSuffix("/") { target.removeLast() }
    self.path = target
    temporary = "\(target).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
    let (name, folder) = (target, temporary)
    try await Self.blocking {
      guard !FileManager.default.fileExists(atPath: name) else {
        throw CommandFailure(
          .refused, "\(name) is there already", advice: "Name a folder that is not there yet.")
      }
      try PrivateFolder.prepare(folder)
      try PrivateFolder.prepare(folder + "/images")
      guard
        FileManager.default.createFile(
          atPath: folder + "/data.json", contents: nil, attributes: [.posixPermissions: 0o600])
      else { throw CommandFailure(.permission, "\(folder)/data.json cannot be made") }
    }
  }

  /// Appends to data.json.
  func append(_ text: String) async throws {
    waiting += Array(text.utf8)
    if waiting.count >= Self.chunk { try await flush() }
  }

  /// Adds an image's file, and answers what data.json says of it.
  func add(_ image: ExportedImage, bytes: [UInt8]) async throws -> JSONValue {
    // What came in by SQL may be whatever a back-end sent.
    let format = bytes.withUnsafeBytes { ImageFormat($0) } ?? .jpeg
    let name = "images/\(image.id).\(format.fileExtension)"
    let path = "\(temporary)/\(name)"
    try await Self.blocking {
      var file = try AtomicFile(path)
      try file.write(bytes)
      _ = try file.commit()
    }
    return [
      "image": .integer(image.id), "file": .string(name), "bytes": .count(bytes.count),
      "as_submitted": .bool(image.isUnsanitized),
    ]
  }

  /// Gives it its name.
  func finish() async throws {
    try await flush()
    let (name, folder) = (path, temporary)
    try await Self.blocking { try FileManager.default.moveItem(atPath: folder, toPath: name) }
  }

  /// Removes what was written.
  func abandon() async {
    let folder = temporary
    _ = try? await Self.blocking { try FileManager.default.removeItem(atPath: folder) }
  }

  private func flush() async throws {
    let (bytes, path) = (waiting, temporary + "/data.json")
    waiting = []
    try await Self.blocking {
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try file.seekToEnd()
      try file.write(contentsOf: bytes)
      try file.synchronize()
      try file.close()
    }
  }

  /// Does what blocks where a thread may wait.
  private static func blocking(_ body: @escaping @Sendable () throws -> Void) async throws {
    let outcome = await HelperThread.value { Result { try body() } }
    guard let outcome else { throw CommandFailure(.tryLater, "the system has no thread left") }
    try outcome.get()
  }
}
