import AnalysisCore
public import PostgreSQL

/// Reads the bytes of images.
public enum ImageReader {
  /// Streams the images of jobs that a worker has, each image once and handed over as soon as it is there, in no
  /// particular order.
  ///
  /// The bytes are not copied: each ``PostgreSQL/Blob`` keeps the part of the answer that it is a view of.
  /// Nothing is read ahead while `each` is suspended.
  ///
  /// - Returns: the keys of which there is no image, or none any more to read: the lease of all its jobs may be lost.
  /// - Throws: ``JobQueueError``, or what `each` throws.
  public static func read(
    of jobs: [ClaimedJob], shard: Int16, on database: some Queryable, deadline: Duration? = nil,
    each: (ImageKey, StoredImage) async throws -> Void
  ) async throws -> Set<ImageKey> {
    guard !jobs.isEmpty else { return [] }
    var missing = Set(jobs.map(\.image))
    do {
      do {
        let parameters: [Parameter] = [
          .int16(shard), .array(Set(jobs.map(\.batch)).sorted()), .array(jobs.map(\.id.value).sorted()),
        ]
        try await database.forEachRow(
          SQLStatement(QueueSQL.images, parameters, isRepeated: true), deadline: deadline
        ) { row in
          try await each(try key(of: row, &missing), try image(of: row))
        }
      } catch let error as PostgreSQLError where error.sqlState == "42703" || error.sqlState == "42P01" {
        try await readAsBefore(&missing, shard: shard, on: database, deadline: deadline, each: each)
      }
    } catch let error as PostgreSQLError {
      throw JobQueueError(error, while: "reading images")
    }
    return missing
  }

  /// The same from a database whose functions are of an earlier program, and know images but not the jobs: the view has
  /// another form, or in the schema before this program's there is none and all images are in the clear.
  private static func readAsBefore(
    _ missing: inout Set<ImageKey>, shard: Int16, on database: some Queryable, deadline: Duration?,
    each: (ImageKey, StoredImage) async throws -> Void
  ) async throws {
    // One month a statement, so that one partition is looked at; jobs claimed together rarely have two.
    for (period, keys) in Dictionary(grouping: missing, by: \.period).sorted(by: { $0.key < $1.key }) {
      let parameters: [Parameter] = [
        .int16(shard), .int16(period.label), .array(keys.map(\.id).sorted()),
      ]
      do {
        try await database.forEachRow(
          SQLStatement(QueueSQL.imagesOfBefore, parameters, isRepeated: true), deadline: deadline
        ) { row in
          try await each(try key(of: row, &missing), try image(of: row))
        }
      } catch let error as PostgreSQLError where error.sqlState == "42P01" {
        try await database.forEachRow(
          SQLStatement(QueueSQL.imagesUnsealed, parameters, isRepeated: true), deadline: deadline
        ) { row in
          // Migrated since: the bytes may be encrypted, and nobody may take them for an image.
          guard try row.bool(3) else { throw migratedMeanwhile }
          let key = ImageKey(period: period, id: try row.int64(0))
          missing.remove(key)
          try await each(key, StoredImage(bytes: try row.blob(1), mark: try row.string(2)))
        }
      }
    }
  }

  private static func key(of row: Row, _ missing: inout Set<ImageKey>) throws -> ImageKey {
    let key = ImageKey(period: try row.period(8), id: try row.int64(0))
    missing.remove(key)
    return key
  }

  private static func image(of row: Row) throws -> StoredImage {
    StoredImage(
      bytes: try row.blob(1), mark: try row.string(2), seal: try seal(of: row),
      userID: try row.int64IfPresent(7))
  }

  private static func seal(of row: Row) throws -> StoredImage.Seal? {
    guard let keyID = try row.int64IfPresent(3) else { return nil }
    return StoredImage.Seal(
      ImageSeal(keyID: keyID, sealedKey: try row.bytes(4)), userSHA256: try row.bytesIfPresent(6) ?? [],
      sha256: try row.bytes(5))
  }

  private static let migratedMeanwhile = JobQueueError(
    .conflict, "The database was migrated while images were read.", advice: "Try again.")
}
