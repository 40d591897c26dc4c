import PostgreSQL

/// Asks one question of the database: one statement of `sql/reports`, whose rows it turns into responses.
protocol ReportInteractor: Sendable {
  /// One row of the report as a value.
  associatedtype Response: Sendable
  /// Runs the statement, and hands on the responses as its rows come. Throws what `each` throws, `schema` when the
  /// statement is not compiled in or a row is one that this program does not understand, and the database's errors.
  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration,
    each: (Response) throws -> Void
  ) async throws
}

/// One that reads row by row, by the columns' names.
protocol RowInteractor: ReportInteractor {
  /// The statement and its parameters. Throws `schema` when the statement is not compiled in.
  static func statement(for question: ReportQuestion) throws(ReportsError) -> SQLStatement
  /// An interactor for the rows of one answer, of which it is given the first. Throws the row's errors.
  init(_ first: Row) throws
  /// Hands on what a row of the statement holds. Throws what `each` throws, `schema` for a row that this
  /// program does not understand, and the row's own errors.
  func read(_ row: Row, each: (Response) throws -> Void) throws
}

extension RowInteractor {
  /// Runs the statement in single-row mode, so that one response at a time is in memory.
  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration,
    each: (Response) throws -> Void
  ) async throws {
    let statement = try statement(for: question)
    var known: Self?
    try await database.forEachBatch(statement, deadline: deadline) { rows in
      guard let first = rows.first else { return }
      let interactor = try known ?? Self(first)
      known = interactor
      for row in rows { try interactor.read(row, each: each) }
    }
  }
}
