import PostgreSQL

extension BenchmarkCluster {
  /// Does something by programs that connect to a database, and counts the transactions committed in it until they
  /// have gone. A few of the benchmarks' own may be among them.
  ///
  /// - Parameter body: Leaves no session in the database but those of ``BenchmarkDatabase/pool``.
  public func countingTransactions<R>(
    in database: BenchmarkDatabase, _ body: () async throws -> R
  ) async throws -> (value: R, transactions: Double) {
    let before = try await transactions(in: database)
    let value = try await body()
    // What a session has done is counted for certain when it has gone.
    while try await sessions(in: database) > 0 { try await Task.sleep(for: .milliseconds(10)) }
    return (value, try await transactions(in: database) - before)
  }

  private func transactions(in database: BenchmarkDatabase) async throws -> Double {
    let sql = "SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = $1"
    return try await owner.query(sql, [.text(database.name)]).single().double(0)
  }

  private func sessions(in database: BenchmarkDatabase) async throws -> Int {
    let sql = """
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = $1 AND backend_type = 'client backend' AND application_name <> 'benchmarks'
      """
    return try await owner.query(sql, [.text(database.name)]).single().int(0)
  }
}
