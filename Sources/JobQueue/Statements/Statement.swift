public import PostgreSQL

/// A call of the queue that has not been made: its SQL and parameters, and how its answer is read.
///
/// Several can be put in one pipeline: send each one's ``sql`` and give each answer to ``decode(_:)``.
public struct Statement<Output: Sendable>: Sendable {
  /// What is sent.
  public let sql: SQLStatement
  private let doing: String
  private let read: @Sendable (Rows) throws -> Output

  package init(
    _ text: String, _ parameters: [Parameter], while doing: String,
    read: @escaping @Sendable (Rows) throws -> Output
  ) {
    sql = SQLStatement(text, parameters, label: doing, isRepeated: true)
    self.doing = doing
    self.read = read
  }

  /// Reads the answer.
  ///
  /// - Throws: `unexpectedAnswer` when it is not what the schema promises.
  public func decode(_ rows: Rows) throws(JobQueueError) -> Output {
    do { return try read(rows) } catch { throw JobQueueError(error, while: doing) }
  }

  /// Reads one result of a pipeline.
  public func decode(_ result: Result<Rows, PostgreSQLError>) throws(JobQueueError) -> Output {
    switch result {
    case .success(let rows): return try decode(rows)
    case .failure(let error): throw JobQueueError(error, while: doing)
    }
  }

  /// Makes the call by itself.
  ///
  /// - Parameters:
  ///   - database: a connection, a pool or a transaction.
  ///   - deadline: how long it may take; nil for the connection's own.
  public func run(
    on database: some Queryable, deadline: Duration? = nil
  ) async throws(JobQueueError) -> Output {
    let rows: Rows
    do {
      rows = try await database.query(sql, deadline: deadline)
    } catch {
      throw JobQueueError(error, while: doing)
    }
    return try decode(rows)
  }
}
