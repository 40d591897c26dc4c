public import JobQueue
import PostgreSQL

extension UserDirectory {
  /// The most characters of an address, as the database has it.
  private static let longestAddress = 2000

  /// Sets where a user's photo is; nil for nowhere. Whether it may be fetched from there, the caller has judged.
  ///
  /// - Throws: `notFound` for an unknown user, `invalid` for an address that is too long.
  public func setPhoto(_ reference: String, url: String?) async throws(JobQueueError) {
    if let url, url.unicodeScalars.count > Self.longestAddress {
      throw JobQueueError(.invalid, "A photo's address has at most \(Self.longestAddress) characters.")
    }
    let shard = try await shards.shard(of: reference)
    let isDone = try await Statement(
      QueueSQL.text("users/set_photo.sql"), [.int16(shard), .text(reference), .text(url.map(storable))],
      while: "setting the photo of user \(reference)"
    ) { rows in
      try rows.single().bool(0)
    }.run(on: database)
    guard isDone else { throw Self.unknown(reference) }
  }

  /// A page of the photos of those users who have one, by their references.
  ///
  /// - Parameter after: the last reference of the page before; nil for the first page.
  public func photos(after: String? = nil, limit: Int = 100) async throws(JobQueueError) -> [UserPhoto] {
    let statements = try await shards.shards().map { shard in
      Statement(
        QueueSQL.text("users/photos.sql"),
        [.int16(shard), .text(after ?? ""), .int32(Int32(clamping: limit))], while: "listing photos"
      ) { rows in
        try rows.map { UserPhoto(reference: try $0.string(0), url: try $0.string(1)) }
      }
    }
    let photos = try await database.run(statements).flatMap { $0 }
    return Array(
      photos.sorted { $0.reference.utf8.lexicographicallyPrecedes($1.reference.utf8) }.prefix(limit))
  }
}
