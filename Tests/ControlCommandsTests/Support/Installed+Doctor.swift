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
  func withRole(_ groups: String..., body: (String) async throws -> Void) async throws {
    try await withLoginRole(on: pool, named: "role", in: groups.map { "analysis_\($0)" }, body)
  }

  /// The same database as a role.
  func acting(as role: String) -> Installed {
    var control = control
    control.environment["ANALYSIS_DATABASE"]? += " user=\(role)"
    return Installed(pool: pool, control: control)
  }
}
