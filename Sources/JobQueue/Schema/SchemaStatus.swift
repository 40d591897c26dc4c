/// What a database has of the schema, and what this program would change.
public struct SchemaStatus: Sendable, Equatable {
  /// A migration that was applied.
  public struct Applied: Sendable, Equatable {
    /// Its number.
    public let number: Int
    /// Its name when it was applied.
    public let name: String
    /// The checksum of its text when it was applied.
    public let checksum: String
    /// When it was applied, in seconds since 1970.
    public let at: Double
  }

  /// The highest number that was applied; 0 in an empty database.
  public var version: Int { applied.last?.number ?? 0 }
  /// The migrations that were applied, by number.
  public let applied: [Applied]
  /// The names of the migrations still to be applied, by number.
  public let pending: [String]
  /// The names of the function groups that are missing or were changed since.
  public let outdatedFunctions: [String]
  /// The numbers of applied migrations that this program does not know.
  public let unknown: [Int]

  /// Whether a migrator of this program would change nothing.
  public var isCurrent: Bool { pending.isEmpty && outdatedFunctions.isEmpty && unknown.isEmpty }
}
