public import PostgreSQL
import SQLFiles

/// The pauses that operators make: kept in the database and obeyed by every worker.
public struct PauseDirectory: Sendable {
  package let database: ConnectionPool

  /// The pauses of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// The pauses in force.
  public func inForce(deadline: Duration? = nil) async throws(JobQueueError) -> [OperatorPause] {
    try await Statement(
      SQLFunction(
        "pauses_in_force", 0, "o_scope", "o_name", "o_reason", "o_by", "o_since", "o_until", "o_seconds_left"),
      [],
      while: "reading the operators' pauses"
    ) { rows in
      try rows.map { try OperatorPause($0) }
    }.run(on: database, deadline: deadline)
  }
}
