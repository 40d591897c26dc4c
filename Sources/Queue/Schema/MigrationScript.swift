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
