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
  /// - Returns: the keys of which there is no image.
  /// - Throws: ``JobQueueError``, `conflict` where the lease of a job is lost or not known, so that nobody takes an image
  ///   for gone of which the server knows nothing; or what `each` throws.
  public static func read(
    of jobs: [ClaimedJob], shard: Int16, on database: some Queryable, deadline: Duration? = nil,
    each: (ImageKey, StoredImage) async throws -> Void
  ) async throws -> Set<ImageKey> {
    var missing: Set<ImageKey> = []
    // One month a statement, so that one partition is looked at; jobs claimed together rarely have two.
    for (period, jobs) in Dictionary(grouping: jobs, by: \.image.period).sorted(by: { $0.key < $1.key }) {
      var awaited = Set(jobs.map(\.image))
      let parameters: [Parameter] = [
        .int16(shard), .int16(period.label), .array(Set(jobs.map(\.lease)).sorted()),
        .array(Set(jobs.map(\.id.value)).sorted()),
      ]
      do {
        try await database.forEachRow(
          SQLStatement(QueueSQL.images, parameters, isRepeated: true), deadline: deadline
        ) { row in
          let key = ImageKey(period: period, id: try row.int64(0))
          guard awaited.remove(key) != nil else { return }
          try await each(key, try image(of: row))
        }
      } catch let error as PostgreSQLError {
        throw JobQueueError(error, while: "reading images")
      }
      missing.formUnion(awaited)
    }
    return missing
  }

  private static func image(of row: Row) throws -> StoredImage {
    StoredImage(
      bytes: try row.blob(1), mark: try row.string(2), storedKey: try encrypt(of: row),
      userID: try row.int64IfPresent(7))
  }

  private static func encrypt(of row: Row) throws -> StoredImage.Encryption? {
    guard let keyID = try row.int64IfPresent(3) else { return nil }
    return StoredImage.Encryption(
      StoredKey(keyID: keyID, wrappedKey: try row.bytes(4)), userSHA256: try row.bytesIfPresent(6) ?? [],
      sha256: try row.bytes(5))
  }
}
