import PostgreSQL
import SQLFiles

/// A group of checks that ask the database.
protocol DatabaseCheck: Sendable {
  /// What its findings' names begin with.
  var group: String { get }
  /// Whether it looks at the tables of the queue.
  var needsSchema: Bool { get }
  /// Makes the checks. What it throws becomes a finding of the group; the other groups are checked all the same.
  func findings(_ database: AskedDatabase) async throws -> [Finding]
}

extension DatabaseCheck {
  var needsSchema: Bool { false }
}

/// The database that is looked at, and what the checks need to know of the request.
struct AskedDatabase: Sendable {
  let pool: ConnectionPool
  let longTransaction: Duration
  let worker: WorkerUse?

  /// How long a question may take: a server in trouble must not hold up the answers to the others.
  static let deadline: Duration = .seconds(20)

  /// The rows of a statement of `sql/doctor`.
  func rows(_ name: String, _ parameters: [Parameter] = []) async throws(PostgreSQLError) -> Rows {
    try await pool.query(Self.text(name), parameters, deadline: Self.deadline)
  }

  /// A statement's text; one that is missing from the build is refused by the server by name.
  static func text(_ name: String) -> String {
    SQLFiles.text("doctor/\(name).sql") ?? "missing from this program: doctor/\(name).sql"
  }

  /// Whether this role sees what other roles' sessions do.
  func seesOthers() async throws -> Bool {
    try await rows("visibility").single().bool(0)
  }

  /// The advice where it does not.
  static let blind =
    "Grant the role pg_monitor to have the sessions of other roles looked at: GRANT pg_monitor TO …"
}
