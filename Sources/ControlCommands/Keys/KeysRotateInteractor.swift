import Administration
import ImageEncryption
import JobQueue
import PostgreSQL

/// What a rotation came to.
struct KeysRotateResponse: Sendable, Equatable {
  /// Why images could not be put under the current key.
  struct Failure: Sendable, Equatable {
    /// What happened and what to do.
    let words: String
    /// To how many.
    var count: Int
    /// One of them.
    let example: Int64
  }

  /// The key under which they are now.
  let current: KeyID
  /// How many were put under it.
  var rewrapped = 0
  /// What could not be, by cause.
  var failures: [Failure] = []
  /// How many are under other keys in the end: those that could not be, and what came or was held meanwhile.
  var left = 0

  /// How many could not be put under the current key.
  var failed: Int { failures.reduce(0) { $0 + $1.count } }
}

/// Puts every encrypted image under the current key.
struct KeysRotateInteractor: Sendable {
  let database: ConnectionPool
  let keys: KeyRing
  /// Who does it, for the audit.
  let actor: AuditActor

  /// How many are written in one statement.
  private static let pageSize = 1000

  /// How many images there are under other keys.
  func total() async throws -> Int {
    let counts = try await ImageKeyDirectory(database).counts()
    return counts.allEncrypted - (counts.encrypted[keys.currentID.value] ?? 0)
  }

  /// Does it, a page after the other, and goes through all again for what came or was held meanwhile, as long as that
  /// finds anything.
  ///
  /// - Parameter advanced: Told how many more have had their turn.
  func answer(_ advanced: @Sendable (Int) -> Void) async throws -> KeysRotateResponse {
    var response = KeysRotateResponse(current: keys.currentID)
    while true {
      let before = response.rewrapped
      response.failures = []
      try await pass(&response, advanced)
      response.left = try await total()
      guard response.rewrapped > before, response.left > response.failed else { return response }
    }
  }

  private func pass(_ response: inout KeysRotateResponse, _ advanced: @Sendable (Int) -> Void) async throws {
    let directory = ImageKeyDirectory(database)
    for place in try await directory.places() {
      var last: Int64 = 0
      while true {
        try Task.checkCancellation()
        let page = try await directory.images(
          notUnder: keys.currentID.value, in: place, after: last, count: Self.pageSize)
        guard let end = page.last?.id else { break }
        last = end
        let (changed, failed) = await Self.rewrap(page, keys)
        response.rewrapped += try await directory.rewrap(
          changed, under: keys.currentID.value, in: place, by: actor)
        for (record, words) in failed { response.add(record, words) }
        advanced(page.count)
      }
    }
  }

  /// A page's own keys under the current key, computed where threads may be kept busy.
  @concurrent
  private static func rewrap(
    _ page: [EncryptedImageRecord], _ keys: KeyRing
  ) async -> (
    changed: [(record: EncryptedImageRecord, storedKey: StoredKey)],
    failed: [(record: EncryptedImageRecord, words: String)]
  ) {
    var changed: [(record: EncryptedImageRecord, storedKey: StoredKey)] = []
    var failed: [(record: EncryptedImageRecord, words: String)] = []
    for record in page {
      guard let user = record.userSHA256, let id = KeyID(record.storedKey.keyID) else {
        failed.append((record, "The image has no user any more, or no key's number."))
        continue
      }
      do throws(ImageEncryptionError) {
        let key = try keys.rewrap(
          WrappedKey(keyID: id, bytes: record.storedKey.wrappedKey),
          ImageBinding(userSHA256: user, sha256: record.sha256))
        changed.append((record, StoredKey(keyID: key.keyID.value, wrappedKey: key.bytes)))
      } catch {
        failed.append((record, error.description))
      }
    }
    return (changed, failed)
  }
}

extension KeysRotateResponse {
  fileprivate mutating func add(_ record: EncryptedImageRecord, _ words: String) {
    if let place = failures.firstIndex(where: { $0.words == words }) {
      failures[place].count += 1
    } else {
      failures.append(Failure(words: words, count: 1, example: record.id))
    }
  }
}
