import EventLoop
import Glibc
public import PostgreSQL

/// What a role, a database or a session may set by itself, each as it hurts most: no function and no program of ours may do
/// anything else under them.
public enum HostileSettings {
  /// Whether every database and login of the tests has them: `scripts/test --settings hostile`.
  public static let isOn = getenv("ANALYSIS_TEST_SETTINGS").map { String(cString: $0) } == "hostile"

  /// Names, and what each is here and usually.
  private static let all = [
    ("client_min_messages", "log", "notice"), ("debug_print_plan", "on", "off"),
    ("debug_print_rewritten", "on", "off"),
    ("standard_conforming_strings", "off", "on"), ("escape_string_warning", "off", "on"),
    ("backslash_quote", "off", "safe_encoding"), ("array_nulls", "off", "on"),
    ("transform_null_equals", "on", "off"),
    ("quote_all_identifiers", "on", "off"), ("DateStyle", "SQL, DMY", "ISO, MDY"),
    ("IntervalStyle", "sql_standard", "postgres"), ("TimeZone", "Asia/Kathmandu", "UTC"),
    ("extra_float_digits", "-15", "1"), ("bytea_output", "escape", "hex"), ("xmlbinary", "hex", "base64"),
    ("row_security", "off", "on"), ("default_text_search_config", "pg_catalog.german", "pg_catalog.simple"),
    ("plpgsql.extra_errors", "all", "none"), ("plpgsql.print_strict_params", "on", "off"),
    ("plpgsql.check_asserts", "off", "on"),
    ("default_transaction_isolation", "repeatable read", "read committed"),
    ("default_transaction_deferrable", "on", "off"),
  ]

  /// What our functions refuse with the cure, and the server itself.
  private static let refused = ["default_transaction_isolation", "row_security"]

  /// What a caller sets for its own session.
  public static let script = all.filter { $0.0 != refused[0] }.map { "SET \($0.0) = '\($0.1)';" }.joined(
    separator: "\n")

  /// Sets them for a database or a role.
  ///
  /// - Parameter object: `DATABASE name` or `ROLE name IN DATABASE name`.
  public static func script(for object: String) -> String {
    "LOAD 'plpgsql';\n" + all.map { "ALTER \(object) SET \($0.0) = '\($0.1)';" }.joined(separator: "\n")
  }

  /// What our functions' refusal tells a person to do, once for each; empty where nothing is hostile.
  ///
  /// - Parameter object: `DATABASE name` or `ROLE name IN DATABASE name`.
  public static func cure(for object: String) -> String {
    ofLogins.map { "ALTER \(object) SET \($0.name) = '\($0.value)';" }.joined(separator: "\n")
  }

  /// Takes them from a database and its logins where they are on: what our programs tell a person to do who has a pooler
  /// before it. Logins that are made later do not get them.
  static func remove(from conninfo: String) async throws {
    guard isOn else { return }
    let loop = try EventLoop(name: "settings")
    defer { loop.shutdown() }
    let connection = try await Connection.connect(ConnectionConfiguration(conninfo), on: loop)
    // Not reset: what a test's own connection undoes has to be known to its session, through a pooler too.
    try await connection.execute(script: "LOAD 'plpgsql'")
    let objects = try await connection.query(
      """
      SELECT concat('ROLE ' || quote_ident(r.rolname) || ' IN ', 'DATABASE ', quote_ident(d.datname))
        FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase LEFT JOIN pg_roles r ON r.oid = s.setrole
       WHERE d.datname = current_database()
      """)
    for object in try objects.map({ try $0.string(0) }) {
      try await connection.execute(script: all.map { "ALTER \(object) SET \($0.0) = '\($0.2)';" }.joined())
    }
    await connection.close()
  }

  /// Whether a database has them.
  static func areIn(_ database: some Queryable) async throws -> Bool {
    guard isOn else { return false }
    return try await database.query(
      """
      SELECT EXISTS (SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
                      WHERE d.datname = current_database() AND s.setrole = 0
                        AND 'client_min_messages=log' = ANY (s.setconfig))
      """
    ).single().bool(0)
  }

  /// By which a test's own connection is none the worse.
  static let undone = isOn ? all.map { SessionSetting($0.0, $0.2) } : []

  /// By which a test's login has them all but for what is refused.
  public static let ofLogins = undone.filter { refused.contains($0.name) }
}
