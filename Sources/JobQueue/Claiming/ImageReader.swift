import AnalysisCore
public import PostgreSQL

/// Reads the bytes of images.
public enum ImageReader {
  /// Streams images, each handed over as soon as it is there, in no particular order.
  ///
  /// The bytes are not copied: each ``PostgreSQL/Blob`` keeps the part of the answer that it is a view of.
  /// Nothing is read ahead while `each` is suspended. Of the schema before this program's all images are in the clear.
  ///
  /// - Returns: the keys of which there is no image.
  /// - Throws: ``JobQueueError``, or what `each` throws.
  public static func read(
    _ images: [ImageKey], shard: Int16, on database: some Queryable, deadline: Duration? = nil,
    each: (ImageKey, StoredImage) async throws -> Void
  ) async throws -> [ImageKey] {
    var missing = Set(images)
    // One month a statement, so that one partition is looked at; jobs claimed together rarely have two.
    for (period, keys) in Dictionary(grouping: missing, by: \.period).sorted(by: { $0.key < $1.key }) {
      let parameters: [Parameter] = [
        .int16(shard), .int16(period.label), .array(keys.map(\.id).sorted()),
      ]
      do {
        do {
          try await database.forEachRow(
            SQLStatement(QueueSQL.images, parameters, isRepeated: true), deadline: deadline
          ) { row in
            let key = ImageKey(period: period, id: try row.int64(0))
            missing.remove(key)
            try await each(
              key,
              StoredImage(
                bytes: try row.blob(1), mark: try row.string(2), seal: try seal(of: row),
                userID: try row.int64IfPresent(7)))
          }
        } catch let error as PostgreSQLError where error.sqlState == "42P01" {
          // There is no such view: the schema is the one before.
          try await database.forEachRow(
            SQLStatement(QueueSQL.imagesUnsealed, parameters, isRepeated: true), deadline: deadline
          ) { row in
            let key = ImageKey(period: period, id: try row.int64(0))
            // Migrated since: the bytes may be encrypted, and nobody may take them for an image.
            guard try row.bool(3) else { throw migratedMeanwhile }
            missing.remove(key)
            try await each(key, StoredImage(bytes: try row.blob(1), mark: try row.string(2)))
          }
        }
      } catch let error as PostgreSQLError {
        throw JobQueueError(error, while: "reading images")
      }
    }
    return images.filter { missing.contains($0) }
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
