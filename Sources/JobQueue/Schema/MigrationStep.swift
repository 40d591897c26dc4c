import System

/// One transaction of a migration.
public struct MigrationStep: Sendable, Equatable {
  /// What a step does.
  public enum Kind: Sendable, Equatable {
    /// Makes the migrator's own tables.
    case preparation
    /// Applies the migration with a number.
    case migration(Int)
    /// Replaces a group of functions.
    case functions
  }

  /// What it does.
  public let kind: Kind
  /// The migration's or the group's name.
  public let name: String
  /// The SQL that it runs.
  public let sql: String
  /// The SHA-256 of the SQL, in hexadecimal.
  public let checksum: String

  init(_ kind: Kind, name: String, sql: String) {
    self.kind = kind
    self.name = name
    self.sql = sql
    checksum = SHA256.hexadecimal(of: sql)
  }
}
