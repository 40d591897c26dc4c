internal import PostgreSQL
public import Queue
import Support

/// An image of a person as it is stored.
public struct ExportedImage: Sendable {
  /// Its number.
  public let id: Int64
  /// The image, encrypted or in plaintext.
  public let image: StoredImage
  /// Whether it is as it came in, not cleaned yet.
  let isUnsanitized: Bool
}

extension ExportedImage {
  /// Reads a row of `analysis.export_images` or `analysis.picture_of`.
  init(_ row: Row) throws {
    id = try row.int64("o_image")
    image = StoredImage(
      bytes: try row.blob("o_bytes"), sha256: try row.bytes("o_sha256"),
      encryption: try StoredImage.Encryption(row))
    isUnsanitized = try row.bool("o_unsanitized")
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

  /// Hands over every job, a JSON object each, in the order in which they were submitted. The audit tells of it.
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

  /// So many images are read by one call, which the audit tells of.
  private static let pageSize = 100

  private func page(
    _ period: Period, after last: inout Int64, as actor: AuditActor?,
    _ body: (ExportedImage) async throws -> Void
  ) async throws -> Int {
    let after = last
    var end = after
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
        try await body(image)
      }
    }
    last = end
    return count
  }
}
