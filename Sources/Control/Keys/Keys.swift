import CommandLineTool
import FoundationEssentials
import Images
import PostgreSQL
import Support

enum KeysCommand {
  static let command = ControlCommand(
    "keys", abstract: "Make, list, change and remove the keys under which images are encrypted.",
    discussion: """
      The keys are in a file of their own, of which the database knows the keys' numbers and nothing else. Every \
      image has a random key, and this one is encrypted under the file's current key: so rotating rewrites 80 \
      bytes an image. Whoever loses the file has lost the images; keep copies of it, apart from the database's.

      A new key comes into use in this order: keys new; the file to every worker, which reads it again by \
      itself, and then to whoever submits; keys rotate; keys remove for the old one, when keys list shows \
      nothing under it any more. A backup of the database from before needs the old key.
      """,
    examples: [
      Example("analysisctl keys new --key-file /etc/analysis/image.keys", "A first key, or a newer one."),
      Example(
        "analysisctl keys list --key-file /etc/analysis/image.keys", "The keys, and what is under them."),
      Example(
        "analysisctl keys rotate --key-file /etc/analysis/image.keys", "All images under the current key."),
      Example(
        "analysisctl keys remove 0f3a5c7e9b1d2468 --key-file /etc/analysis/image.keys",
        "Forget one that nothing is under."),
    ],
    inputs: [KeyFileOption.path],
    subcommands: [
      KeysNewCommand.command, KeysListCommand.command,
      KeysRotateCommand.command, KeysRemoveCommand.command,
    ])
}

enum KeysListCommand {
  static let command = ControlCommand(
    "list", abstract: "Show the keys, and how many images are under each.",
    discussion: """
      The images are counted in the database, which takes its time where there are millions. Keys that images name \
      and the file lacks are shown too: the jobs of such images wait.
      """,
    examples: [
      Example("analysisctl keys list --key-file /etc/analysis/image.keys", "The keys of a file."),
      Example("analysisctl keys list --key-file /etc/analysis/image.keys --json", "For a program."),
    ],
    exitCodes: [.done, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let ring = try await KeyFileOption.readRequired(context)
    return try await context.withSession { session in
      let counts = try await ImageKeyDirectory(session.database).counts()
      return try session.show(KeysListResponse(ring, counts))
    }
  }
}

/// The keys of a file and those that images name, by their numbers; never a key.
struct KeysListResponse: Sendable, Equatable, Presentable {
  struct Key: Sendable, Equatable {
    /// The number as it is written.
    let id: String
    /// Seconds since 1970; nil for a key that is not in the file.
    let createdAt: Double?
    let isCurrent: Bool
    let images: Int

    /// Whether images name it and the file lacks it.
    var isMissing: Bool { createdAt == nil }
  }

  let keys: [Key]
  /// How many images are in plaintext.
  let plaintext: Int

  /// What a file's keys and the counts of a database come to together.
  init(_ ring: KeyRing, _ counts: ImageKeyCounts) {
    let known = Set(ring.ids.map(\.value))
    let missing = counts.encrypted.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }
    keys =
      ring.keys.map { key in
        Key(
          id: key.id.description, createdAt: key.createdAt, isCurrent: key.id == ring.currentID,
          images: counts.encrypted[key.id.value] ?? 0)
      } + missing.map { Key(id: KeyID.text(of: $0.key), createdAt: nil, isCurrent: false, images: $0.value) }
    plaintext = counts.plaintext
  }

  private static let columns: [ListColumn<Key>] = [
    .init("KEY") { Cell($0.id) }.json("key") { .string($0.id) },
    .init("MADE") { $0.isMissing ? Cell("not in the file", .red) : Cell(Moment.short($0.createdAt)) }
      .json("created") { .time($0.createdAt) },
    .init("CURRENT") { $0.isCurrent ? Cell("yes", .green) : Cell("no", .dim) }
      .json("current") { .bool($0.isCurrent) },
    .init(json: "in_file") { .bool(!$0.isMissing) },
    .init("IMAGES", alignment: .right) { Cell($0.images) }.json("images") { .count($0.images) },
  ]

  var json: JSONValue { ["keys": keys.json(Self.columns), "clear_images": .count(plaintext)] }

  func text(width: Int?, paint: Paint) -> String {
    return keys.table(Self.columns).render(width: width, paint: paint) + "In plaintext: \(plaintext)\n"
  }
}

extension KeyID {
  /// A key's number as it is written, whatever the database has for one.
  fileprivate static func text(of number: Int64) -> String {
    KeyID(number)?.description ?? String(number)
  }
}

enum KeysNewCommand {
  static let command = ControlCommand(
    "new", abstract: "Make a key, under which images are encrypted from now on.",
    discussion: """
      The key is added to the file and is its current one; those that are there stay. A file that is not there is \
      made, for its owner alone (mode 0600). The database is not asked.
      """,
    examples: [
      Example("analysisctl keys new --key-file /etc/analysis/image.keys", "Make the file, or a newer key.")
    ],
    exitCodes: [.done, .usage, .unreadableInput, .tryLater, .permission]
  ) { context in
    let path = try KeyFileOption.required(context)
    let now = Date().timeIntervalSince1970
    let changing = Task(executorPreference: globalConcurrentExecutor) { try KeyFile.addKey(path, at: now) }
    try context.view.show(KeyFileResponse(path: path, ring: try await changing.value))
    return .done
  }
}

/// What a key file has after it was changed.
struct KeyFileResponse: Sendable, Equatable, Presentable {
  let path: String
  let current: KeyID
  let keys: [KeyID]
  /// The key that was taken out; nil when one was added.
  let removed: KeyID?

  init(path: String, ring: KeyRing, removed: KeyID? = nil) {
    self.path = path
    current = ring.currentID
    keys = ring.ids
    self.removed = removed
  }

  var json: JSONValue {
    [
      "file": .string(path), "current": .string(current.description),
      "removed": .text(removed?.description),
      "keys": .array(keys.map { .string($0.description) }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let path = printable(self.path)
    let keys = self.keys.count == 1 ? "1 key" : "\(self.keys.count) keys"
    if let removed { return "\(path): key \(removed) is removed, \(keys) left\n" }
    return "\(path): key \(current) is made and current, \(keys) in all\n"
  }
}

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
      return try session.show(KeyFileResponse(path: path, ring: ring, removed: id))
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
  static var keyID: Self {
    ValueFormat(
      name: "KEY",
      read: { KeyID(text: $0) },
      else: "is not a key's number: 16 hexadecimal digits, as analysisctl keys list shows them",
      text: \.description)
  }
}
