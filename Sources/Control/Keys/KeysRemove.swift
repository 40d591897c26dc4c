import CommandLineTool
import FoundationEssentials
import Images
import PostgreSQL

/// `analysisctl keys remove`.
enum KeysRemoveCommand {
  static let key = Argument("key", .keyID, help: "The key's number: 16 hexadecimal digits.")
  static let atOnce = Flag(
    "at-once", help: "Also within a day of the next key: nobody submits any more who began before it.")

  static let command = ControlCommand(
    "remove", abstract: "Remove a key from the file, unless images are under it.",
    discussion: """
      Refused, with exit code 4, while an image in the database is under the key, for the current key, and within \
      a day of the key that came after it, unless with --at-once: a submit that began before that encrypts under the \
      older one until it ends. What is in older backups under it can be read by nobody afterwards. See to it that \
      nobody submits with an older copy of the file in which the key is the current one. That it was removed is \
      recorded in the audit. It asks before; a script gives --yes.
      """,
    examples: [
      Example(
        "analysisctl keys remove 0f3a5c7e9b1d2468 --key-file /etc/analysis/image.keys",
        "After keys rotate.")
    ],
    inputs: [atOnce, Confirmation.yes, ReasonOption.reason, key],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let path = try KeyFileOption.required(context)
    let id = try context[key]
    return try await context.withSession { session in
      try checkAge(of: id, in: try await KeyFileOption.readRequired(context), isAtOnce: try context[atOnce])
      try await checkUnused(id, session.database)
      try await Confirmation.require(
        """
        No image in the database is under key \(id). What is under it in backups can be read by nobody without a \
        copy of the file, and this cannot be undone.
        Remove it?
        """, session)
      // Somebody may have submitted while the question was open.
      try await checkUnused(id, session.database)
      let ring = try await AuditLog(session.database).record(removing: id.value, by: session.actor) {
        // Writing blocks, so it is done where threads may wait.
        let changing = Task(executorPreference: globalConcurrentExecutor) {
          try KeyFile.removeKey(id, from: path)
        }
        return try await changing.value
      }
      try session.view.show(KeyFileResponse(path: path, ring: ring, removed: id))
      return .done
    }
  }

  /// How long a submit may go on with the key that it found when it began: a large folder takes hours.
  private static let patience: Double = 86_400

  /// - Parameter isAtOnce: Whether nobody submits any more who read the file before the next key was in it.
  private static func checkAge(of id: KeyID, in keys: KeyRing, isAtOnce: Bool) throws {
    let now = Date().timeIntervalSince1970
    guard !isAtOnce, let next = keys.key(after: id), now - next.createdAt < patience else { return }
    throw CommandFailure(
      .refused, "The key that came after \(id) is not a day old.",
      advice:
        "A submit that began before it may still encrypt under \(id): wait, or if there is none, say --at-once."
    )
  }

  /// Waits for the submits that are under way, then looks for images under the key.
  private static func checkUnused(_ id: KeyID, _ database: ConnectionPool) async throws {
    let directory = ImageKeyDirectory(database)
    try await directory.awaitSubmits()
    let images = try await directory.counts().encrypted[id.value] ?? 0
    guard images == 0 else {
      throw CommandFailure(
        .refused, "\(images) images are under key \(id); without it nobody could read them.",
        advice: "Put them under the current key first: analysisctl keys rotate.")
    }
    let webhooks = try await WebhookDirectory(database).keys()[id.value] ?? 0
    guard webhooks == 0 else {
      throw CommandFailure(
        .refused,
        "The secrets of \(webhooks) webhooks are under key \(id); without it nothing could be sent to them.",
        advice: "Put them under the current key first: analysisctl keys rotate.")
    }
  }
}

extension ValueFormat where Value == KeyID {
  /// A key's number.
  static var keyID: Self {
    ValueFormat(
      name: "KEY",
      read: { KeyID(text: $0) },
      else: "is not a key's number: 16 hexadecimal digits, as analysisctl keys list shows them",
      text: \.description)
  }
}
