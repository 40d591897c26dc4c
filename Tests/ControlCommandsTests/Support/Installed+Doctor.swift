import CommandLineTool
import PostgreSQL
import TestSupport

@testable import ControlCommands

extension Installed {
  /// Runs the doctor and answers what it found, and with which code it ended.
  func doctor(_ arguments: String...) async throws -> (found: Diagnosis, code: ExitCode) {
    let ran = await control.run(["doctor", "--json"] + arguments)
    guard ran.messages.isEmpty else { throw TestSupportError("doctor said: \(ran.messages)") }
    return (try Diagnosis(ran.output), ran.code)
  }

  /// Runs a statement.
  func execute(_ sql: String) async throws { try await pool.execute(script: sql) }

  /// The database's name.
  func name() async throws -> String { try await texts("SELECT current_database()::text")[0] }

  /// Makes roles of this test's own for as long as the closure runs.
  ///
  /// - Parameter body: Is given the role's name.
  func withRole(_ body: (String) async throws -> Void) async throws {
    let role = "role_of_\(try await name())"
    try await execute("CREATE ROLE \(role) LOGIN")
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(role)) } catch { outcome = .failure(error) }
    try await execute("DROP OWNED BY \(role); DROP ROLE \(role)")
    try outcome.get()
  }

  /// The same database as a role.
  func acting(as role: String) -> Installed {
    var control = control
    control.environment["ANALYSIS_DATABASE"]? += " user=\(role)"
    return Installed(pool: pool, control: control)
  }
}
