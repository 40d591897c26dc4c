import Images
import PostgreSQL
import Queue

/// Puts every encrypted image under the current key.
struct KeyRotation: Sendable {
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

  /// Does it page by page, then again for images that came or were locked meanwhile, until a pass changes nothing.
  ///
  /// - Parameter advanced: Called with how many more were looked at.
  func run(_ advanced: @Sendable (Int) -> Void) async throws -> KeysRotateResponse {
    var response = KeysRotateResponse(current: keys.currentID)
    while true {
      let before = response.rewrapped
      response.failures = []
      try await pass(&response, advanced)
      response.left = try await total()
      guard response.rewrapped > before, response.left > response.failed else { return response }
    }
  }

  /// Puts the secrets of webhooks under the current key; answers of how many webhooks.
  func rewrapWebhooks() async throws -> Int {
    let directory = WebhookDirectory(database)
    var count = 0
    for secret in try await directory.secrets() where KeyRing.keyID(ofFile: secret.bytes) != keys.currentID {
      let encrypted = try WebhookSecret(secret.bytes, of: secret.url, keys: keys)
        .encrypted(for: secret.url, keys: keys)
      if try await directory.rewrap(secret, to: encrypted) { count += 1 }
    }
    return count
  }

  private func pass(_ response: inout KeysRotateResponse, _ advanced: @Sendable (Int) -> Void) async throws {
    let directory = ImageKeyDirectory(database)
    for location in try await directory.locations() {
      var last: Int64 = 0
      while true {
        try Task.checkCancellation()
        let page = try await directory.images(
          notUnder: keys.currentID.value, in: location, after: last, count: Self.pageSize)
        guard let end = page.last?.id else { break }
        last = end
        let (changed, failed) = await Self.rewrap(page, keys)
        response.rewrapped += try await directory.rewrap(
          changed, under: keys.currentID.value, in: location, by: actor)
        for (record, message) in failed { response.add(record, message) }
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
    failed: [(record: EncryptedImageRecord, message: String)]
  ) {
    var changed: [(record: EncryptedImageRecord, storedKey: StoredKey)] = []
    var failed: [(record: EncryptedImageRecord, message: String)] = []
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
  fileprivate mutating func add(_ record: EncryptedImageRecord, _ message: String) {
    if let index = failures.firstIndex(where: { $0.message == message }) {
      failures[index].count += 1
    } else {
      failures.append(Failure(message: message, count: 1, example: record.id))
    }
  }
}
