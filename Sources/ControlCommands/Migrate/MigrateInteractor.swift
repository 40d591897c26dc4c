import JobQueue
import PostgreSQL

/// Whether to run the migrations or only to say which.
struct MigrateRequest: Sendable {
  var isDryRun: Bool
  /// With what the names of the database's roles begin; nil for what they begin with already.
  var rolePrefix: String?
}

/// What was run, or would be.
struct MigrateResponse: Sendable, Equatable {
  let isDryRun: Bool
  let steps: [MigrationStep]
  /// The schema's version now.
  let version: Int
}

/// Applies migrations.
struct MigrateInteractor: Sendable {
  let database: ConnectionPool

  /// - Parameter waiting: called when a step waited too long for a lock and is going to be tried again.
  func answer(
    _ request: MigrateRequest, waiting: (MigrationWait) -> Void = { _ in }
  ) async throws -> MigrateResponse {
    let migrator = Migrator(database, rolePrefix: request.rolePrefix)
    let steps =
      request.isDryRun ? try await migrator.plan() : try await migrator.migrate({ _ in }, waiting: waiting)
    let version = try await migrator.status().version
    return MigrateResponse(isDryRun: request.isDryRun, steps: steps, version: version)
  }
}
