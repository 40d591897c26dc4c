import Administration
import ImageEncryption
import JobQueue
import PostgreSQL

/// The keys of a file and those that images name.
struct KeysListResponse: Sendable, Equatable {
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
  let clear: Int

  /// What a file's keys and the counts of a database come to together.
  init(_ ring: KeyRing, _ counts: ImageKeyCounts) {
    let known = Set(ring.ids.map(\.value))
    let missing = counts.encrypted.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }
    keys =
      ring.keys.map { key in
        Key(
          id: key.id.description, createdAt: key.createdAt, isCurrent: key.id == ring.currentID,
          images: counts.encrypted[key.id.value] ?? 0)
      } + missing.map { Key(id: Self.name($0.key), createdAt: nil, isCurrent: false, images: $0.value) }
    clear = counts.plaintext
  }

  /// A key's number as it is written, whatever the database has for one.
  static func name(_ number: Int64) -> String { KeyID(number)?.description ?? String(number) }
}

/// Counts images by key.
struct KeysListInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ ring: KeyRing) async throws -> KeysListResponse {
    KeysListResponse(ring, try await ImageKeyDirectory(database).counts())
  }
}
