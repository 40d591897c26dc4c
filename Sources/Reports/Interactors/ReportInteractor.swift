import PostgreSQL

/// Asks one question of the database: one statement of `sql/reports`, whose rows it turns into responses.
protocol ReportInteractor: Sendable {
  /// One row of the report as a value.
  associatedtype Response: Sendable
  /// The statement and its parameters. Throws `schema` when the statement is not compiled in.
  static func statement(for question: ReportQuestion) throws(ReportsError) -> SQLStatement
  /// Hands on what a row of the statement holds. Throws what `each` throws, `schema` for a row that this
  /// program does not understand, and the row's own errors.
  static func read(_ row: Row, each: (Response) throws -> Void) throws
}

extension ReportInteractor {
  /// Runs the statement in single-row mode, so that one response at a time is in memory.
  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration,
    each: (Response) throws -> Void
  ) async throws {
    let statement = try statement(for: question)
    _ = try await database.forEachRow(statement.sql, statement.parameters, deadline: deadline) { row in
      try read(row, each: each)
    }
  }
}
