import CommandLineTool
import Images
import Support

/// `analysisctl keys list`.
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
      try session.view.show(KeysListResponse(ring, counts))
      return .done
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

  var json: JSONValue {
    [
      "keys": .array(
        keys.map { key in
          [
            "key": .string(key.id), "created": .time(key.createdAt), "current": .bool(key.isCurrent),
            "in_file": .bool(!key.isMissing), "images": .count(key.images),
          ]
        }),
      "clear_images": .count(plaintext),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    var table = Table([
      .init("KEY"), .init("MADE"), .init("CURRENT"), .init("IMAGES", alignment: .right),
    ])
    for key in keys {
      table.add([
        Cell(key.id), key.isMissing ? Cell("not in the file", .red) : Cell(Moment.short(key.createdAt)),
        key.isCurrent ? Cell("yes", .green) : Cell("no", .dim), Cell(String(key.images)),
      ])
    }
    return table.render(width: width, paint: paint) + "In plaintext: \(plaintext)\n"
  }
}

extension KeyID {
  /// A key's number as it is written, whatever the database has for one.
  fileprivate static func text(of number: Int64) -> String {
    KeyID(number)?.description ?? String(number)
  }
}
