import Queue

extension QueueFixture {
  /// Makes the tables of version 1.0 in an empty database, without the functions, and runs a script that fills them.
  package func makeReleasedSchema(then fill: String) async throws {
    let known = MigrationSource.embedded
    let released = MigrationSource(
      migrations: known.migrations.filter { $0.number <= known.baseline }, baseline: known.baseline)
    _ = try await Migrator(pool, source: released).migrate()
    try await execute(fill)
  }
}
