import CommandLineTool
import Images
import PostgreSQL
import Queue
import Support

enum KeysRotateCommand {
  static let command = ControlCommand(
    "rotate", abstract: "Put every encrypted image, and the secrets of webhooks, under the current key.",
    discussion: """
      Each image's own key is decrypted here and encrypted under the current key; the images themselves stay as \
      they are, and those in plaintext stay in plaintext. Workers and submits go on meanwhile, if the workers have \
      the current key already.

      A thousand images are written at a time: whatever ends the command, what was written holds, and the same \
      command does the rest. Exit code 4 when an image could not be put under the current key: its own key is \
      missing from the file, or was changed in the database. What was written is recorded in the audit, with the keys \
      of before.
      """,
    examples: [
      Example("analysisctl keys rotate --key-file /etc/analysis/image.keys", "After keys new."),
      Example("analysisctl keys rotate --key-file /etc/analysis/image.keys --json", "For a program."),
    ],
    inputs: [ReasonOption.reason],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let ring = try await KeyFileOption.readRequired(context)
    return try await context.withSession { session in
      let rotation = KeyRotation(database: session.database, keys: ring, actor: try session.actor)
      let bar = ProgressBar("images", total: try await rotation.total(), console: session.console)
      let response = try await rotation.run { bar.advance(by: $0) }
      bar.finish()
      let webhooks = try await rotation.rewrapWebhooks()
      if webhooks > 0 {
        session.console.say("The secrets of \(webhooks) webhooks are under the current key.")
      }
      try session.view.show(response)
      return response.failures.isEmpty ? .done : .refused
    }
  }
}

/// What a rotation came to.
struct KeysRotateResponse: Sendable, Equatable, Presentable {
  /// Why images could not be put under the current key.
  struct Failure: Sendable, Equatable {
    /// What happened and what to do.
    let message: String
    var count: Int
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

  var json: JSONValue {
    [
      "current": .string(current.description), "rewrapped": .count(rewrapped),
      "left": .count(left),
      "failures": .array(
        failures.map { failure in
          [
            "images": .count(failure.count), "example": .string(String(failure.example)),
            "message": .string(failure.message),
          ]
        }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let first = "\(rewrapped) images put under key \(current)\n"
    let lines = failures.map { failure in
      paint.red("\(failure.count) images could not be (one is image \(failure.example))")
        + ": \(printable(failure.message))\n"
    }
    let others = left - failed
    let rest =
      others > 0 ? "\(others) more are under other keys by now: run the command again for them\n" : ""
    return first + lines.joined() + rest
  }
}

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
