internal import EventLoop

/// A setting of the server's that a connection's sessions have to have, whatever the role, the database or the server sets.
public struct SessionSetting: Sendable, Hashable {
  /// Its name.
  public let name: String
  /// What it is set to.
  public let value: String
  /// What will do as well.
  public let others: Set<String>

  /// A setting.
  public init(_ name: String, _ value: String, or others: Set<String> = []) {
    self.name = name
    self.value = value
    self.others = others
  }
}

extension Connection {
  /// Sees to it that the session has the settings that it has to have. Where the session is the connection's own they are
  /// set. A pooler's session is not: who has set them otherwise is asked to take it back.
  func settle(until: ContinuousClock.Instant) async throws(PostgreSQLError) {
    let settings = configuration.settings
    guard !settings.isEmpty else { return }
    do throws(PostgreSQLError) {
      let columns = settings.indices.map { ", pg_catalog.current_setting($\($0 + 1))" }.joined()
      let row = try await run(
        SQLStatement(
          """
          SELECT pg_catalog.pg_backend_pid(), pg_catalog.format('%I', current_user),
            pg_catalog.format('%I', pg_catalog.current_database())\(columns)
          """, settings.map { .text($0.name) }, label: "reading the session's settings"),
        ConnectionScope(connection: self), until: until
      ).single()
      let ownsSession = try row.int32(0) == backendPID
      prepared.ownsSession = ownsSession
      for (index, setting) in settings.enumerated() {
        let found = try row.string(index + 3)
        guard found != setting.value, !setting.others.contains(found) else { continue }
        guard ownsSession else {
          throw Self.unfit(setting, found, role: try row.string(1), database: try row.string(2))
        }
        _ = try await run(
          SQLStatement(
            "SELECT pg_catalog.set_config($1, $2, false)", [.text(setting.name), .text(setting.value)],
            label: "setting \(setting.name)"), ConnectionScope(connection: self), until: until)
      }
    } catch {
      close()
      // Nothing of the caller's was sent yet.
      guard error.code == .connectionLost else { throw error }
      var failure = PostgreSQLError(.connectionFailed, "No connection: \(error.message)")
      failure.phase = .interrupted
      failure.sqlState = error.sqlState
      throw failure
    }
  }

  private static func unfit(
    _ setting: SessionSetting, _ found: String, role: String, database: String
  ) -> PostgreSQLError {
    var error = PostgreSQLError(
      .connectionFailed,
      "No connection: \(ConnectionPhase.session). \(setting.name) is \(found) and has to be \(setting.value); through a"
        + " pooler it cannot be set for this program alone.")
    error.phase = .session
    error.hint =
      "See where it is set with analysisctl doctor, on a direct connection; then ALTER ROLE \(role) RESET \(setting.name),"
      + " ALTER DATABASE \(database) RESET \(setting.name), or ALTER ROLE \(role) SET \(setting.name) = '\(setting.value)'."
      + " Then let the pooler connect anew (RECONNECT)."
    return error
  }
}
