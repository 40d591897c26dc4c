import Support

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
  }

  /// A group of functions that replaces itself, applied whenever it changed.
  public struct FunctionGroup: Sendable, Equatable {
    /// Its name, for instance `50_queue/claim`. Groups are applied in the order of their names.
    public var name: String
    /// Its SQL.
    public var text: String
  }

  /// The migrations by number.
  public let migrations: [Migration]
  /// The function groups by name.
  let functions: [FunctionGroup]
  /// The number of the last migration of the baseline, which is the schema of version 1.0 and is applied as a whole; 0
  /// where there is none.
  public let baseline: Int
  /// The checksums of the baseline's migrations, by number.
  let baselineChecksums: [Int: String]
  /// What is run at the end of every migration; nil for nothing.
  let finally: String?

  /// A source with its parts, in any order.
  public init(
    migrations: [Migration], functions: [FunctionGroup] = [], baseline: Int = 0, finally: String? = nil
  ) {
    self.baseline = baseline
    baselineChecksums = Dictionary(
      migrations.filter { $0.number <= baseline }.map { ($0.number, SHA256.hexadecimal(of: $0.text)) },
      uniquingKeysWith: { $1 })
    self.migrations = migrations.sorted { $0.number < $1.number }
    self.functions = functions.sorted { $0.name < $1.name }
    self.finally = finally
  }

  /// What is compiled into this program; at the end rights are granted and the partitions of the coming months made.
  public static let embedded = MigrationSource(
    migrations: SQLFiles.migrations.map { Migration(number: $0.number, name: $0.name, text: $0.text) },
    functions: SQLFiles.files(in: "functions").map { FunctionGroup(name: $0.name, text: $0.text) },
    baseline: 9, finally: SQLFiles.required("migrator/finally.sql"))

  /// The highest number; 0 when there are no migrations.
  public var version: Int { migrations.last?.number ?? 0 }
}

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

/// All that a migration runs, as SQL that `psql` runs as it stands: each step is a transaction, which does the same and
/// leaves the same record as the migrator's own.
struct MigrationScript {
  let source: MigrationSource
  let rolePrefix: String?

  /// The steps behind what makes the roles and the schema, and before what grants the rights.
  func text(of steps: [MigrationStep]) -> String {
    let setup = Self.transaction(
      "roles and schema", asOwner: false, [SchemaState.setup(rolePrefix: rolePrefix)])
    let made = steps.map { step in
      Self.transaction(
        step.name, asOwner: true, [Self.statements(of: step), Self.record(of: step), Self.closing])
    }
    let finally = source.finally.map {
      Self.transaction("rights and the coming months", asOwner: true, [$0 + ";", Self.closing])
    }
    return ([setup] + made + [finally].compactMap { $0 }).joined(separator: "\n")
  }

  /// What a step itself runs.
  static func statements(of step: MigrationStep) -> String {
    step.kind == .preparation ? SQLFiles.required("migrator/prepare.sql") : step.sql
  }

  /// Closes to everybody what a step has made, and has the functions fix what a caller's session could have set.
  static let closing = """
    DO $close$
    DECLARE
      v_change text;
    BEGIN
      FOR v_change IN
    \(SQLFiles.required("migrator/close.sql").replacing("$1::text[]", with: contract))
      LOOP
        EXECUTE v_change;
      END LOOP;
    END $close$;
    """

  private static let contract =
    "ARRAY[\(FunctionDefinition.contract.map(literal).joined(separator: ", "))]::text[]"

  private static func record(of step: MigrationStep) -> String {
    switch step.kind {
    case .preparation: ""
    case .migration(let number):
      inserted("migrator/record_migration.sql", [String(number), literal(step.name), literal(step.checksum)])
    case .functions:
      inserted("migrator/record_function.sql", [literal(step.name), literal(step.checksum)])
    }
  }

  /// A statement with its parameters as texts.
  private static func inserted(_ file: String, _ values: [String]) -> String {
    var sql = SQLFiles.required(file)
    for (index, value) in values.enumerated() { sql = sql.replacing("$\(index + 1)", with: value) }
    return sql.trimmedEnd + ";"
  }

  private static func transaction(_ name: String, asOwner: Bool, _ parts: [String]) -> String {
    let session = [
      SQLFiles.required("migrator/session.sql"), asOwner ? SQLFiles.required("migrator/owner.sql") : "",
      SQLFiles.required("migrator/lock.sql"),
    ]
    return "-- \(name)\nBEGIN ISOLATION LEVEL READ COMMITTED;\n"
      + (session + parts).map(\.trimmedEnd).filter { !$0.isEmpty }.joined(separator: "\n") + "\nCOMMIT;\n"
  }

  private static func literal(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
}

extension String {
  /// Without line ends behind it.
  fileprivate var trimmedEnd: String { String(reversed().drop { $0.isNewline }.reversed()) }
}
