import AnalysisCore
public import PostgreSQL

/// Reads the bytes of images.
public enum ImageReader {
  private static let text = """
    SELECT id, bytes, left(encode(sha256, 'hex'), 16)
    FROM analysis.image WHERE shard = $1 AND period = $2 AND id = ANY ($3)
    """

  /// Streams images, each handed over as soon as it is there, in no particular order.
  ///
  /// The bytes are not copied: each ``PostgreSQL/Blob`` keeps the part of the answer that it is a view of.
  /// Nothing is read ahead while `each` is suspended.
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
      do {
        _ = try await database.forEachRow(
          SQLStatement(
            text, [.int16(shard), .int16(period.label), .array(keys.map(\.id).sorted())], isRepeated: true),
          deadline: deadline
        ) { row in
          let key = ImageKey(period: period, id: try row.int64(0))
          missing.remove(key)
          try await each(key, StoredImage(bytes: try row.blob(1), mark: try row.string(2)))
        }
      } catch let error as PostgreSQLError {
        throw JobQueueError(error, while: "reading images")
      }
    }
    return images.filter { missing.contains($0) }
  }
}
