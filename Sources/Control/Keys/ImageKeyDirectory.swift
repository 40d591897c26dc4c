import PostgreSQL
import Queue
import Support

/// How many images are encrypted under which key.
struct ImageKeyCounts: Sendable, Equatable {
  /// By the key's number, how many are under it; keys without images are left out.
  var encrypted: [Int64: Int] = [:]
  /// How many are not encrypted.
  var plaintext = 0

  init() {}

  /// How many are encrypted, under whatever key.
  var allEncrypted: Int { encrypted.values.reduce(0, +) }
}

/// An encrypted image without its bytes.
struct EncryptedImageRecord: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "image"]

  let id: Int64
  /// Where its row was when it was read.
  let rowID: String
  /// How it is encrypted.
  let storedKey: StoredKey
  /// The SHA-256 of the image as it was before.
  let sha256: [UInt8]
  /// Whose it is, the SHA-256 of the user's reference; nil when the user is gone.
  let userSHA256: [UInt8]?
}

/// Under which keys the images of a database are, and how that is changed.
struct ImageKeyDirectory: Sendable {
  private let database: ConnectionPool

  /// Every row of an image is read to count them, though not the images.
  private static let patience: Duration = .seconds(600)

  /// The images of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Waits until every submit that has begun is committed, and counted therefore; those that come meanwhile wait too.
  ///
  /// - Throws: `conflict` when one takes longer than two seconds.
  func awaitSubmits() async throws(JobQueueError) {
    try await Statement(
      SQLFunction("await_submits", 0), while: "waiting for submits to end"
    ).run(on: database)
  }

  /// Counts the images under each key.
  ///
  /// - Parameter deadline: How long that may take for each shard; ten minutes when nil.
  func counts(deadline: Duration? = nil) async throws(JobQueueError) -> ImageKeyCounts {
    var counts = ImageKeyCounts()
    for shard in try await ShardDirectory(database).shards() {
      let found = try await Statement(
        SQLFunction("image_keys", 1), [.int16(shard)], as: [KeyUse].self, while: "counting images"
      ).run(on: database, deadline: deadline ?? Self.patience)
      for use in found {
        if let key = use.encryptedBy {
          counts.encrypted[key, default: 0] += use.images
        } else {
          counts.plaintext += use.images
        }
      }
    }
    return counts
  }

  private struct KeyUse: Decodable {
    let encryptedBy: Int64?
    let images: Int
  }

  /// Where images are: each shard's months that have a partition for them.
  func locations() async throws(JobQueueError) -> [(shard: Int16, period: Period)] {
    let periods = try await Statement(
      SQLFunction("months", 0), as: [Period].self, while: "looking for the months"
    ).run(on: database)
    return try await ShardDirectory(database).shards().flatMap { shard in
      periods.sorted().map { (shard, $0) }
    }
  }

  /// The next encrypted images of a location that are not under a key, at most `count`, in the order of their numbers.
  func images(
    notUnder key: Int64, in location: (shard: Int16, period: Period), after id: Int64, count: Int
  ) async throws(JobQueueError) -> [EncryptedImageRecord] {
    try await Statement(
      SQLFunction("images_to_rewrap", 5),
      [
        .int16(location.shard), .int16(location.period.label), .int64(id), .int64(key),
        .int32(Int32(clamping: count)),
      ], as: [EncryptedImageRecord].self, while: "reading images' keys"
    ).run(on: database, deadline: Self.patience)
  }

  /// Gives images of a location their own keys as they are under another key; the images stay as they are. One that was
  /// changed meanwhile, or that a submit holds just now, is left as it is.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  /// - Returns: How many were changed.
  func rewrap(
    _ images: [(record: EncryptedImageRecord, storedKey: StoredKey)], under key: Int64,
    in location: (shard: Int16, period: Period), by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Int {
    try await Statement(
      SQLFunction("rewrap_images", 7),
      [
        .int16(location.shard), .int16(location.period.label), .array(images.map(\.record.id)),
        .array(images.map(\.record.rowID)), .array(images.map(\.record.storedKey.wrappedKey)), .int64(key),
        .array(images.map(\.storedKey.wrappedKey)),
      ], as: Int.self, while: "putting images under another key"
    ).run(on: database, as: actor, deadline: Self.patience)
  }
}
