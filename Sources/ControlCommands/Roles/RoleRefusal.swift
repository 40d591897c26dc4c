import CommandLineTool
import JobQueue
import PostgreSQL
import Reports

/// Names the role that is missing where the server refused a call.
enum RoleRefusal {
  /// The error as it is, or, where a login lacks a role, one that names the role and who can grant it.
  static func named(_ error: any Error, command: String, _ database: ConnectionPool) async -> any Error {
    guard server(error)?.lacksRole == true, let login = try? await DatabaseLogin.read(database) else {
      return error
    }
    let (message, advice) = login.refusal(
      of: "analysisctl \(command)", needing: CommandRoles.roles(for: command))
    return ControlError(.permission, message, advice: advice)
  }

  private static func server(_ error: any Error) -> PostgreSQLError? {
    error as? PostgreSQLError ?? (error as? JobQueueError)?.underlying as? PostgreSQLError
      ?? (error as? ReportsError)?.underlying as? PostgreSQLError
  }
}
