import SQLFiles

/// The migrations and function groups that a migrator knows.
public struct MigrationSource: Sendable {
  /// A numbered change of the tables, applied once.
  public struct Migration: Sendable, Equatable {
    /// Its number, at least 1.
    public var number: Int
    /// Its name, for instance `0001_accounts`.
    public var name: String
    /// Its SQL.
    public var text: String

    /// The checksums of texts that it had before and that led to the same schema: its first lines name them.
    var earlierChecksums: [String] {
      text.split(separator: "\n").prefix { $0.hasPrefix(Self.earlier) }
        .map { String($0.dropFirst(Self.earlier.count).prefix(64)) }
    }

    private static let earlier = "-- earlier text: "

    /// A migration with its parts.
    public init(number: Int, name: String, text: String) {
      self.number = number
      self.name = name
      self.text = text
    }
  }

  /// A group of functions that replaces itself, applied whenever it changed.
  public struct FunctionGroup: Sendable, Equatable {
    /// Its name, for instance `claim`.
    public var name: String
    /// Its SQL.
    public var text: String

    /// A group with its parts.
    public init(name: String, text: String) {
      self.name = name
      self.text = text
    }
  }

  /// The migrations by number.
  public let migrations: [Migration]
  /// The function groups by name.
  public let functions: [FunctionGroup]
  /// What is run at the end of every migration; nil for nothing.
  public let finally: String?

  /// A source with its parts, in any order.
  public init(migrations: [Migration], functions: [FunctionGroup] = [], finally: String? = nil) {
    self.migrations = migrations.sorted { $0.number < $1.number }
    self.functions = functions.sorted { $0.name < $1.name }
    self.finally = finally
  }

  /// What is compiled into this program; at the end rights are granted and the partitions of the coming months made.
  public static let embedded = MigrationSource(
    migrations: SQLFiles.migrations.map { Migration(number: $0.number, name: $0.name, text: $0.text) },
    functions: SQLFiles.files(in: "functions").map { FunctionGroup(name: $0.name, text: $0.text) },
    finally: QueueSQL.text("migrator/finally.sql"))

  /// The highest number; 0 when there are no migrations.
  public var version: Int { migrations.last?.number ?? 0 }
}
