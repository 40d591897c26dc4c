import CommandLineTool
import EventLoop
import Foundation
import Images
import PostgreSQL
public import Queue
import Support

/// Writes what is kept of a person into a folder.
struct PersonExporter: Sendable {
  let database: ConnectionPool
  /// For images that are encrypted.
  let keys: KeyRing?
  /// Who does it, for the audit.
  let actor: AuditActor
  /// For images that are in an object store.
  var store: ImageStore?

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
          line = try await folder.add(image, bytes: image.opened(keys, store))
        } catch let error as StoredPicture.Unreadable where error == .withoutKeys {
          throw CommandFailure(
            .unreadableInput, "image \(image.id) is encrypted, and no key file is named",
            advice: "Name it with --key-file.")
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

/// An image of a person as it is stored.
public struct ExportedImage: Sendable {
  /// Its number.
  public let id: Int64
  /// The image, encrypted or in plaintext.
  public internal(set) var image: StoredImage
  /// Whether it is as it came in, not cleaned yet.
  let isUnsanitized: Bool
}

extension ExportedImage {
  /// Reads a row of `analysis.export_images`.
  init(_ row: Row) throws {
    id = try row.int64("o_image")
    image = try StoredImage(row)
    isUnsanitized = try row.bool("o_unsanitized")
  }

  /// Reads a row of `analysis.picture_of`.
  init(picture row: Row) throws {
    try self.init(row)
    image = try StoredImage(row, hasObject: true)
  }

  /// The picture as it was before it was encrypted.
  @concurrent
  func opened(_ keys: KeyRing?, _ store: ImageStore?) async throws(StoredPicture.Unreadable) -> [UInt8] {
    let image: StoredImage
    do throws(ImageStoreError) {
      image = try await self.image.whole(from: store)
    } catch {
      throw StoredPicture.Unreadable(error.description)
    }
    return try image.bytes.withUnsafeBytes { bytes throws(StoredPicture.Unreadable) in
      try StoredPicture.opened(
        bytes, sha256: image.sha256,
        image.encryption.map { ($0.storedKey.keyID, $0.storedKey.wrappedKey, $0.userSHA256) }, keys)
    }
  }
}

/// Gives what is kept of one person.
struct PersonExport: Sendable {
  /// What they are called, and the number of their counts.
  let reference: String
  private let userID: Int64
  /// What the parts know the export by.
  private let mark: String
  private let shard: Int16
  private let database: ConnectionPool

  /// Who they are, their plans and what they used: a JSON object.
  let account: String

  /// A person's jobs may be many.
  private static let patience: Duration = .seconds(1800)

  /// Begins an export. The audit has it before anything is read.
  ///
  /// - Throws: `notFound` for an unknown user.
  init(
    of reference: String, in database: ConnectionPool, as actor: AuditActor?
  ) async throws(JobQueueError) {
    let shard = try await ShardDirectory(database).shard(of: reference)
    struct Opened: Decodable {
      let userID: Int64
      let export: String
    }
    let opened = try await Statement(
      SQLFunction("open_export", 2), [.int16(shard), .text(reference)], as: Opened?.self,
      while: "recording that a user is exported"
    ).run(on: database, as: actor)
    guard let opened else { throw UserDirectory.unknown(reference) }
    let account = try await Statement(
      SQLFunction("export_user", 3),
      [.int16(shard), .int64(opened.userID), .text(opened.export)], as: String?.self,
      while: "exporting user \(reference)"
    ).run(on: database, as: actor, deadline: Self.patience)
    guard let account else { throw UserDirectory.unknown(reference) }
    self.reference = reference
    self.shard = shard
    self.database = database
    self.account = account
    userID = opened.userID
    mark = opened.export
  }

  /// Hands over every job, a JSON object each, in the order in which they were submitted. The audit records it.
  func forEachJob(as actor: AuditActor?, _ body: (String) async throws -> Void) async throws {
    try await database.transaction(deadline: Self.patience) { transaction in
      if let actor { _ = try await transaction.query(actor.statement) }
      try await transaction.forEachRow(
        SQLStatement(
          SQLFunction("export_jobs", 3).text,
          [.int16(shard), .int64(userID), .text(mark)],
          label: "exporting a user's jobs"), deadline: Self.patience
      ) { row in
        try await body(try row.jsonText("o_job"))
      }
    }
  }

  /// Hands over every image that is kept, in the order of months and numbers. Each page of them is recorded in the audit.
  func forEachImage(
    as actor: AuditActor?, _ body: (ExportedImage) async throws -> Void
  ) async throws {
    for location in try await ImageKeyDirectory(database).locations() where location.shard == shard {
      var last: Int64 = 0
      var count = Self.pageSize
      while count == Self.pageSize {
        count = try await page(location.period, after: &last, as: actor, body)
      }
    }
  }

  /// So many images are read by one call, which the audit records.
  private static let pageSize = 100

  private func page(
    _ period: Period, after last: inout Int64, as actor: AuditActor?,
    _ body: (ExportedImage) async throws -> Void
  ) async throws -> Int {
    let after = last
    var end = after
    var elsewhere: [ExportedImage] = []
    let count = try await database.transaction(deadline: Self.patience) { transaction in
      if let actor { _ = try await transaction.query(actor.statement) }
      return try await transaction.forEachRow(
        SQLStatement(
          SQLFunction(
            "export_images", 6, "o_image", "o_bytes", "o_unsanitized", "o_encrypted_by", "o_wrapped_key",
            "o_sha256", "o_user_sha256"
          ).text,
          [
            .int16(shard), .int64(userID), .text(mark), .int16(period.label), .int64(after),
            .int32(Int32(Self.pageSize)),
          ], label: "exporting a user's images"), deadline: Self.patience
      ) { row in
        let image = try ExportedImage(row)
        end = max(end, image.id)
        if image.image.bytes.count > 0 { try await body(image) } else { elsewhere.append(image) }
      }
    }
    let objects = try await ImageReader.objects(
      of: elsewhere.map(\.id), period: period, shard: shard, on: database)
    for var image in elsewhere {
      image.image.objectKey = objects[image.id]
      try await body(image)
    }
    last = end
    return count
  }
}

enum UsersExportCommand {
  static let folder = Option<String?>(
    "out", .path, help: "The folder to make for it; it must not be there yet.")

  static let command = ControlCommand(
    "export", abstract: "Give a person what is kept of them.",
    discussion: """
      Makes a folder of mode 0700 with data.json (account, profile, plans, use of each month, and every job with \
      its analysis and its failed attempts) and the folder images with every image that is kept, decrypted. \
      data.json names each image's file; one that cannot be read is listed as unreadable, with the reason. The folder \
      appears whole or not at all.

      Every export, and the numbers of the images that were read for it, are in the audit.
      """,
    examples: [
      Example(
        "analysisctl users export u1 --out u1 --key-file image.keys",
        "Everything of a user.")
    ],
    inputs: [
      UsersCommand.user, folder, KeyFileOption.path, SharedOptions.imageStore, ReasonOption.reason,
    ],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let user = try context[UsersCommand.user]
    guard let folder = try context[folder] else {
      throw CommandFailure.usage("there is nowhere to write to", advice: "Name a folder with --out.")
    }
    let keys = try await KeyFileOption.read(context)
    return try await context.withSession { session in
      let response = try await ImageStoreOption.with(session) { store in
        let exporter = PersonExporter(
          database: session.database, keys: keys, actor: try session.actor, store: store)
        return try await exporter.export(user, to: folder)
      }
      try session.view.show(response)
      return response.unreadable == 0 ? .done : .refused
    }
  }
}

/// What an export came to.
struct UsersExportResponse: Sendable, Equatable, Presentable {
  let user: String
  let folder: String
  let jobs: Int
  let images: Int
  /// How many images cannot be read.
  let unreadable: Int

  var json: JSONValue {
    [
      "user": .string(user), "folder": .string(folder), "jobs": .count(jobs), "images": .count(images),
      "unreadable": .count(unreadable),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    "\(jobs) jobs and \(images) images of \(printable(user)) are in \(printable(folder))\n"
      + (unreadable == 0 ? "" : "\(unreadable) images cannot be read; data.json says why\n")
  }
}
