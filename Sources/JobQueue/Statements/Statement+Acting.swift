public import PostgreSQL

extension Statement {
  /// Makes the call in a transaction with the word of who acts, in one write; works through a pooler.
  ///
  /// - Parameters:
  ///   - database: a connection, a pool or a transaction.
  ///   - actor: who acts; nil leaves the audit with what the server knows itself.
  ///   - deadline: how long it may take; nil for the connection's own.
  public func run(
    on database: some Queryable, as actor: AuditActor?, deadline: Duration? = nil
  ) async throws(JobQueueError) -> Output {
    guard let actor else { return try await run(on: database, deadline: deadline) }
    let results: [Result<Rows, PostgreSQLError>]
    do {
      results = try await database.pipeline(
        [actor.statement, SQLStatement(sql.sql, sql.parameters, label: sql.label)], atomic: true,
        deadline: deadline)
    } catch {
      throw JobQueueError(error, while: sql.label ?? "asking the database")
    }
    guard let told = results.first, let answer = results.last, results.count == 2 else {
      throw JobQueueError(
        .unexpectedAnswer, "The database answered another number of statements than it got.")
    }
    // What kept the first from being carried out is why the second was not.
    if case .failure(let error) = told { throw JobQueueError(error, while: "saying who acts") }
    return try decode(answer)
  }
}
