public import PostgreSQL
public import Support

/// Reads the bytes of images.
public enum ImageReader {
  private static let function = SQLFunction(
    "images_of_jobs", 5, "o_image", "o_bytes", "o_sha256", "o_encrypted_by", "o_wrapped_key", "o_user_sha256",
    "o_user")

  /// Streams the images of jobs that this worker has, each image once and handed over as soon as it is there, in no
  /// particular order.
  ///
  /// The bytes are not copied: each ``PostgreSQL/Blob`` keeps the part of the answer that it is a view of.
  /// Nothing is read ahead while `each` is suspended. Images that are objects come last, with their keys for their bytes.
  ///
  /// - Returns: the keys of which there is no image.
  /// - Throws: ``JobQueueError``, `conflict` where the lease of a job is lost or not known, so that nobody takes an image
  ///   for gone of which the server knows nothing; or what `each` throws.
  public static func read(
    of jobs: [ClaimedJob], by worker: WorkerIdentity, shard: Int16, on database: some Queryable,
    deadline: Duration? = nil,
    each: (ImageKey, StoredImage) async throws -> Void
  ) async throws -> Set<ImageKey> {
    let doing = "reading images"
    var missing: Set<ImageKey> = []
    // One month a statement, so that one partition is looked at; jobs claimed together rarely have two.
    for (period, jobs) in Dictionary(grouping: jobs, by: \.image.period).sorted(by: { $0.key < $1.key }) {
      var awaited = Set(jobs.map(\.image))
      var elsewhere: [ImageKey: StoredImage] = [:]
      let parameters: [Parameter] = [
        .int16(shard), worker.parameter, .int16(period.label), .array(Set(jobs.map(\.lease)).sorted()),
        .array(Set(jobs.map(\.id.value)).sorted()),
      ]
      do {
        try await database.forEachRow(
          SQLStatement(Self.function.text, parameters, label: doing, isRepeated: true), deadline: deadline
        ) { row in
          let key = ImageKey(period: period, id: try row.int64("o_image"))
          guard awaited.remove(key) != nil else { return }
          let image = try StoredImage(row, userID: row.int64IfPresent("o_user"))
          if image.isHere { try await each(key, image) } else { elsewhere[key] = image }
        }
      } catch let error as PostgreSQLError {
        throw JobQueueError(error, while: doing)
      }
      let objects = try await objects(
        of: elsewhere.keys.map(\.id), period: period, shard: shard, on: database, deadline: deadline)
      for (key, var image) in elsewhere {
        image.objectKey = objects[key.id]
        guard image.objectKey != nil else {
          throw JobQueueError(.conflict, "An image was moved while it was being read.")
        }
        try await each(key, image)
      }
      missing.formUnion(awaited)
    }
    return missing
  }

  private struct Object: Decodable {
    let image: Int64
    let object: String
  }

  /// The keys of the objects that images of a month are, by the images' numbers; none of one that is in the database.
  public static func objects(
    of images: [Int64], period: Period, shard: Int16, on database: some Queryable, deadline: Duration? = nil
  ) async throws(JobQueueError) -> [Int64: String] {
    guard !images.isEmpty else { return [:] }
    return try await Statement(
      SQLFunction("image_objects", 3), [.int16(shard), .int16(period.label), .array(images.sorted())],
      as: [Object].self, while: "asking where images are"
    ) { found in
      Dictionary(found.map { ($0.image, $0.object) }, uniquingKeysWith: { $1 })
    }.run(on: database, deadline: deadline)
  }

  private static let functionOfClaim = SQLFunction(
    "images_of_claim", 6, "o_image_period", "o_image", "o_bytes", "o_sha256", "o_encrypted_by",
    "o_wrapped_key", "o_user_sha256", "o_user")

  /// Asks for the images of the first jobs that a claim takes, to be sent behind the claim in the same write. Of the
  /// images that are not answered nothing is known: they are read as others are.
  ///
  /// - Parameters:
  ///   - firstLease: what the claim was given for its first lease.
  ///   - leases: how many numbers it was given.
  ///   - images: how many images at most, in `bytes` together.
  public static func ofClaim(
    by worker: WorkerIdentity, shard: Int16, firstLease: Int64, leases: Int, images: Int, bytes: Int
  ) -> Statement<[ImageKey: StoredImage]> {
    Statement(
      functionOfClaim,
      [
        .int16(shard), worker.parameter, .int64(firstLease), .int32(Int32(clamping: leases)),
        .int32(Int32(clamping: images)), .int32(Int32(clamping: bytes)),
      ], while: "reading the images of a claim"
    ) { rows in
      var found: [ImageKey: StoredImage] = [:]
      for row in rows {
        let key = ImageKey(period: try row.period("o_image_period"), id: try row.int64("o_image"))
        let image = try StoredImage(row, userID: row.int64IfPresent("o_user"))
        if image.isHere { found[key] = image }
      }
      return found
    }
  }
}

/// An image as the database holds it.
public struct StoredImage: Sendable {
  /// How an image is encrypted, and for whom.
  public struct Encryption: Sendable, Equatable {
    /// The number of the key file's key under which the image's own key is, and that key.
    public let storedKey: StoredKey
    /// Whose image it is: the SHA-256 of the user's reference.
    public let userSHA256: [UInt8]

    /// A stored key with the user to whom it is bound.
    init(_ storedKey: StoredKey, userSHA256: [UInt8]) {
      self.storedKey = storedKey
      self.userSHA256 = userSHA256
    }
  }

  /// The image, inside the answer that brought it: the bytes are not copied. None where it is in an object store.
  public private(set) var bytes: Blob
  /// The key of the object that it is, where that is known.
  public package(set) var objectKey: String?
  /// What tells one image from another, and what an encrypted one is bound to: the SHA-256 of the image as it was
  /// before, of an encrypted one under a key of the key file (HMAC).
  public let sha256: [UInt8]
  /// How the bytes are encrypted; nil for an image in plaintext.
  public let encryption: Encryption?
  /// Whose it is, as ``ClaimedJob/userID`` has it; nil where that was not asked for.
  public let userID: Int64?

  /// An image with its parts.
  public init(bytes: Blob, sha256: [UInt8], encryption: Encryption? = nil, userID: Int64? = nil) {
    self.bytes = bytes
    self.sha256 = sha256
    self.encryption = encryption
    self.userID = userID
  }

  /// Whether the bytes are here: no image is without any.
  var isHere: Bool { bytes.count > 0 }

  /// The same with its bytes.
  func with(_ bytes: Blob) -> StoredImage {
    var image = self
    image.bytes = bytes
    return image
  }
}

extension StoredImage {
  /// Reads it from a row of an image, which may say of which object too.
  package init(_ row: Row, userID: Int64? = nil, hasObject: Bool = false) throws {
    self.init(
      bytes: try row.blobIfPresent("o_bytes") ?? Blob([]), sha256: try row.bytes("o_sha256"),
      encryption: try Encryption(row), userID: userID)
    if hasObject { objectKey = try row.stringIfPresent("o_object") }
  }
}

extension StoredImage.Encryption {
  /// Reads it from a row of an image; nil for an image in plaintext.
  package init?(_ row: Row) throws {
    guard let keyID = try row.int64IfPresent("o_encrypted_by") else { return nil }
    self.init(
      StoredKey(keyID: keyID, wrappedKey: try row.bytes("o_wrapped_key")),
      userSHA256: try row.bytesIfPresent("o_user_sha256") ?? [])
  }
}
