public import PostgreSQL

/// Makes a role that can log in, for as long as the closure runs. Roles belong to the whole server, which the tests share:
/// its name is made from the database's.
///
/// - Parameters:
///   - suffix: What distinguishes it from others of the same test.
///   - groups: The roles of which it is a member.
///   - body: Is given the role's name.
public func withLoginRole<R>(
  on database: some Queryable, named suffix: String = "login", in groups: [String] = [],
  _ body: (String) async throws -> R
) async throws -> R {
  let name = try await database.query("SELECT current_database()::text").single().string(0)
  let role = name + "_" + suffix
  let membership = groups.isEmpty ? "" : " IN ROLE \(groups.joined(separator: ", "))"
  try await database.execute(script: "CREATE ROLE \(role) LOGIN\(membership)")
  if try await HostileSettings.areIn(database) {
    try await database.execute(script: HostileSettings.script(for: "ROLE \(role) IN DATABASE \(name)"))
  }
  let outcome: Result<R, any Error>
  do { outcome = .success(try await body(role)) } catch { outcome = .failure(error) }
  try await dropLoginRole(role, on: database)
  return try outcome.get()
}

/// Removes a role that a test has made.
///
/// Roles belong to the whole cluster: where two tests remove theirs at the same moment, the server may find a row that
/// the other has just deleted ("tuple concurrently deleted"), and nothing is done. Then it is done again.
public func dropLoginRole(_ role: String, on database: some Queryable) async throws(PostgreSQLError) {
  // A pooler keeps sessions of it, in which a role that is made later under the same name would act.
  _ = try await database.query(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = $1", [.text(role)])
  for attempt in 1... {
    do {
      return try await database.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
    } catch  where error.sqlState == "XX000" && attempt < 20 {
      continue
    }
  }
}
