public import PostgreSQL

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
      QueueSQL.text("queue/pauses.sql"), [], while: "reading the operators' pauses"
    ) { rows in
      try rows.map { try OperatorPause($0) }
    }.run(on: database, deadline: deadline)
  }
}
