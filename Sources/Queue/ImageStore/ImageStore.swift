public import EventLoop
internal import HTTPTransfer
public import PostgreSQL
public import Support

/// A bucket of S3's API in which images are. What is written there is what the database would have: encrypted, where there
/// are keys, so that the store sees no picture.
public struct ImageStore: Sendable {
  /// Requests to it that may be in flight, each by a connection of its own.
  public static let connections = 64

  private let client: ObjectClient

  /// The store that a private file names; nothing is asked of it yet.
  ///
  /// - Throws: What is wrong with the file.
  public init(file: String, environment: [String: String], loop: EventLoop) throws(SystemError) {
    self.init(try ObjectSettings.read(file, environment: environment), loop: loop)
  }

  init(_ settings: ObjectSettings, loop: EventLoop) { client = ObjectClient(settings, loop: loop) }

  /// What messages call it: its address.
  var name: String { client.settings.name }

  /// Ends what is in flight, and closes the connections.
  public func close() async { await client.close() }

  /// Writes an image, and answers its key: the installation's number, the month, the beginning of the hash, and a random
  /// number.
  func put(_ bytes: [UInt8], sha256: [UInt8], prefix: String) async throws(ImageStoreError) -> ImageObject {
    let today = UnixTime.now.date
    let month = today.description.prefix(7).replacing("-", with: "")
    let key =
      "\(prefix)\(month)/\(Hexadecimal.text(of: sha256.prefix(1)))/\(Hexadecimal.random(bytes: 16))"
    try await client.put(key, bytes)
    return ImageObject(key: key, byteCount: bytes.count)
  }

  /// An image with its bytes; nil where the store has no such object.
  public func fetch(_ image: StoredImage) async throws(ImageStoreError) -> StoredImage? {
    guard let key = image.objectKey else { return image.isHere ? image : nil }
    return try await client.get(key).map { image.with(Blob($0)) }
  }

  // MARK: Comparing

  /// Where the objects of a store and the images that name them disagree.
  public struct Comparison: Sendable, Equatable {
    /// An image whose object is not there as it was.
    public struct Trouble: Sendable, Equatable {
      /// The image's number in its month.
      public let image: Int64
      /// The month.
      public let period: Period
      /// Whether there is no such object; else it has another length.
      public let isMissing: Bool
    }

    /// How many objects there are.
    public var objects = 0
    /// How many images have no object.
    public var missing = 0
    /// How many objects have another length than their image.
    public var changed = 0
    /// How many objects no image names.
    public var unnamed = 0
    /// The first images whose object is not there as it was.
    public var first: [Trouble] = []

    /// Nothing was compared.
    public init() {}

    /// Whether each image has its object.
    public var isSound: Bool { missing == 0 && changed == 0 }

    fileprivate mutating func add(_ row: Compared) {
      switch row.trouble {
      case "unnamed": unnamed += row.count
      case "missing": missing += row.count
      default: changed += row.count
      }
    }
  }

  fileprivate struct Compared: Decodable {
    let trouble: String
    let image: Int64?
    let period: Period?
    let count: Int
  }

  /// How many images a comparison names at most.
  private static let namedTroubles = 20

  /// Compares all objects of the installation with the images. What is submitted meanwhile may seem to be of no image.
  ///
  /// - Throws: ``ImageStoreError``, ``JobQueueError``.
  public func compare(_ database: ConnectionPool) async throws -> Comparison {
    let prefix = try await NewImages.place(database).prefix
    var comparison = Comparison()
    var (after, token): (String, String?) = ("", nil)
    repeat {
      let page = try await client.list(prefix: prefix, after: token)
      let keys = page.objects.map(\.key)
      // The rows between two keys are compared with a page, so both have to be in one order.
      guard zip([after] + keys, keys).allSatisfy({ Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) })
      else {
        throw ImageStoreError("The image store \(name) does not list its objects by their keys.")
      }
      let upTo = page.next == nil ? nil : keys.last
      let rows = try await Statement(
        SQLFunction("objects_compared", 5),
        [
          .text(after), .text(upTo), .array(keys),
          .array(page.objects.map { Int32(clamping: $0.byteCount) }), .int32(Int32(Self.namedTroubles)),
        ], as: [Compared].self, while: "comparing objects with images"
      ).run(on: database)
      comparison.objects += keys.count
      for kind in Dictionary(grouping: rows, by: \.trouble).values { comparison.add(kind[0]) }
      let room = Self.namedTroubles - comparison.first.count
      comparison.first += rows.compactMap { row in
        guard let image = row.image, let period = row.period else { return nil }
        return Comparison.Trouble(image: image, period: period, isMissing: row.trouble == "missing")
      }.prefix(room)
      (after, token) = (upTo ?? after, page.next)
    } while token != nil
    return comparison
  }

  // MARK: Removing

  /// What a removal of objects came to.
  public struct Removal: Sendable, Equatable {
    /// How many are gone.
    public var removed = 0
    /// How many the store would not remove; they are tried again by the next removal.
    public var left = 0
    /// Why the last of them is left.
    public var reason: ImageStoreError?

    /// Nothing was removed.
    public init() {}
  }

  /// Removes from a store the objects whose images are gone from the database. Without a store they are left.
  ///
  /// - Parameter isStopped: asked between two objects.
  public static func removeLost(
    _ database: ConnectionPool, from store: ImageStore?, isStopped: @Sendable () -> Bool = { false }
  ) async throws(JobQueueError) -> Removal {
    if let store { return try await store.removeLost(database, isStopped) }
    var removal = Removal()
    removal.left = try await lost([], after: "", page).run(on: database).count
    removal.reason = removal.left > 0 ? .missing : nil
    return removal
  }

  private static func lost(_ gone: [String], after key: String, _ count: Int32) -> Statement<[String]> {
    Statement(
      SQLFunction("lost_objects", 3), [.array(gone), .text(key), .int32(count)], as: [String].self,
      while: "looking for objects to remove")
  }

  private func removeLost(
    _ database: ConnectionPool, _ isStopped: @Sendable () -> Bool
  ) async throws(JobQueueError) -> Removal {
    var removal = Removal()
    var after = ""
    var gone: [String] = []
    repeat {
      let keys = try await Self.lost(gone, after: after, Self.page).run(on: database)
      gone = await remove(keys, &removal, isStopped)
      guard let last = keys.last, removal.reason?.isAway != true, !isStopped() else { break }
      after = last
    } while true
    if !gone.isEmpty { _ = try await Self.lost(gone, after: after, 0).run(on: database) }
    return removal
  }

  /// Removes objects that no image names and that were written more than a day before a moment: of a submit that never
  /// came. Where they are many, somebody is asked first: the database may be a copy, or older than the store.
  public func sweep(
    _ database: ConnectionPool, at moment: Double, isStopped: @Sendable () -> Bool = { false }
  ) async throws -> Removal {
    let prefix = try await NewImages.place(database).prefix
    var removal = Removal()
    var (objects, unnamed): (Int, [String]) = (0, [])
    var token: String?
    repeat {
      let page = try await client.list(prefix: prefix, after: token)
      objects += page.objects.count
      let old = page.objects.filter { moment - $0.writtenAt > Self.orphanAge }.map(\.key)
      if !old.isEmpty { unnamed += try await Self.unnamed(old, database) }
      token = page.next
    } while token != nil && unnamed.count < Self.mostUnnamed && !isStopped()
    guard unnamed.count <= Self.fewUnnamed || unnamed.count <= objects / 10 else {
      throw ImageStoreError(
        "\(unnamed.count) of \(objects) objects in \(name) are of no image in this database.",
        advice:
          "A copy, or one that was restored from a backup, may remove nothing there. If it is neither, remove them "
          + "by the store's own tools.")
    }
    // Asked once more: a submit may have been open for a day.
    for start in stride(from: 0, to: unnamed.count, by: Int(Self.page)) where !isStopped() {
      let part = Array(unnamed[start..<min(start + Int(Self.page), unnamed.count)])
      _ = await remove(try await Self.unnamed(part, database), &removal, isStopped)
    }
    return removal
  }

  /// How many keys one statement is about, and one list has.
  private static let page: Int32 = 1000
  private static let orphanAge = 86_400.0
  private static let mostUnnamed = 100_000
  private static let fewUnnamed = 100

  private static func unnamed(
    _ keys: [String], _ database: ConnectionPool
  ) async throws(JobQueueError) -> [String] {
    try await Statement(
      SQLFunction("unnamed_objects", 1), [.array(keys)], as: [String].self,
      while: "asking which objects are of no image"
    ).run(on: database)
  }

  /// Removes objects, several at once, and answers those that are gone.
  private func remove(
    _ keys: [String], _ removal: inout Removal, _ isStopped: @Sendable () -> Bool
  ) async -> [String] {
    var gone: [String] = []
    await withTaskGroup(of: (String, ImageStoreError?).self) { group in
      var (next, running) = (keys.makeIterator(), 0)
      func begin() {
        guard !isStopped(), let key = next.next() else { return }
        running += 1
        group.addTask { [client] in
          do throws(ImageStoreError) {
            try await client.remove(key)
            return (key, nil)
          } catch {
            return (key, error)
          }
        }
      }
      for _ in 0..<16 { begin() }
      while running > 0, let (key, error) = await group.next() {
        running -= 1
        if let error {
          removal.reason = error
          // One that is away for one is away for all.
          if error.isAway { next = [].makeIterator() }
        } else {
          gone.append(key)
        }
        begin()
      }
    }
    removal.removed += gone.count
    removal.left += keys.count - gone.count
    return gone
  }
}

/// An image that is an object in a store.
public struct ImageObject: Sendable, Equatable {
  /// Where it is in the store.
  package let key: String
  package let byteCount: Int
}

extension StoredImage {
  /// The image with its bytes, wherever they are.
  ///
  /// - Throws: Also where there is no such object, or no store was named.
  public func whole(from store: ImageStore?) async throws(ImageStoreError) -> StoredImage {
    guard !isHere else { return self }
    guard let store else { throw .missing }
    guard let image = try await store.fetch(self) else {
      throw ImageStoreError("The image is not in the image store \(store.name) any more.")
    }
    return image
  }
}

/// The store where new images go.
public struct NewImages: Sendable {
  private let store: ImageStore
  /// With what the keys of this installation's objects begin.
  private let prefix: String

  /// Asks where new images go; nil: to the database, with their submit.
  ///
  /// - Parameters:
  ///   - store: the store that this program was given.
  ///   - hasKeys: whether they are encrypted here.
  /// - Throws: `invalid` where they go to a store and none was given, or would go there in plaintext.
  public static func read(
    _ database: ConnectionPool, store: ImageStore?, hasKeys: Bool
  ) async throws(JobQueueError) -> NewImages? {
    let (name, prefix) = try await place(database)
    guard name != "database" else { return nil }
    guard let store else {
      throw JobQueueError(
        .invalid, "New images go to an object store (setting image_store), and none is named.",
        advice: "Name its file with --image-store.")
    }
    guard hasKeys || name == "s3-plaintext" else {
      throw JobQueueError(
        .invalid, "New images go to an object store, and without keys it would see the pictures.",
        advice: "Give --key-file. The setting image_store s3-plaintext allows it without.")
    }
    return NewImages(store: store, prefix: prefix)
  }

  private struct Columns: Decodable {
    let store: String
    let prefix: String
  }

  fileprivate static func place(
    _ database: ConnectionPool
  ) async throws(JobQueueError) -> (store: String, prefix: String) {
    try await Statement(
      SQLFunction("image_store", 0), as: Columns.self, while: "asking where new images go"
    ) { ($0.store, $0.prefix) }.run(on: database)
  }

  /// Writes an image, before it is submitted.
  public func put(_ bytes: [UInt8], sha256: [UInt8]) async throws(ImageStoreError) -> ImageObject {
    try await store.put(bytes, sha256: sha256, prefix: prefix)
  }
}

/// Why an object store did not do what it was asked for. It holds no key and no byte of an image.
public struct ImageStoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What happened, as a sentence.
  public let message: String
  /// What to do about it; nil when there is nothing to say.
  public let advice: String?
  /// Whether the store cannot be reached or fails, which may pass by itself.
  public let isAway: Bool
  /// Whether there is no such object.
  let isAbsence: Bool
  /// Whether the store answered that it failed for the moment; S3 wants the request sent again then.
  let isMomentary: Bool

  init(
    _ message: String, advice: String? = nil, isAway: Bool = false, isAbsence: Bool = false,
    isMomentary: Bool = false
  ) {
    self.message = message
    self.advice = advice
    self.isAway = isAway
    self.isAbsence = isAbsence
    self.isMomentary = isMomentary
  }

  /// A store that was not named.
  static let missing = ImageStoreError(
    "The image is in an object store, and none is named.", advice: "Name its file with --image-store.")

  /// The message and the advice.
  public var description: String { advice.map { "\(message) \($0)" } ?? message }

  init(_ error: TransferError, of store: String) {
    self.init("The image store \(store): \(error.message)", isAway: true)
  }

  /// What an answer says went wrong; nil: nothing.
  init?(_ answer: Response, of store: String) {
    guard !(200...299).contains(answer.status) else { return nil }
    let code = ObjectListing(Array(answer.body.prefix(4096)))["Code"].map { printable($0, limit: 60) }
    let said = code.map { "\(answer.status) \($0)" } ?? "\(answer.status)"
    // A bucket that is not there is the store's fault; of an object it says nothing.
    let isAbsence = answer.status == 404 && (code == "NoSuchKey" || code == "NoSuchVersion")
    let isFull = answer.status == 507 || code == "QuotaExceeded"
    let advice: String? =
      switch code {
      case _ where isFull: "Give it room, or the bucket a larger quota."
      case "RequestTimeTooSkewed": "Set this machine's clock."
      case "NoSuchBucket": "Look at the address in the file of --image-store."
      case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken":
        "Look at the key in the file of --image-store, and at what it may do."
      default: nil
      }
    self.init(
      "The image store \(store) answered \(said).", advice: advice,
      isAway: answer.status >= 500 || [408, 429].contains(answer.status) || isFull, isAbsence: isAbsence,
      isMomentary: [500, 502, 503, 504].contains(answer.status))
  }
}
