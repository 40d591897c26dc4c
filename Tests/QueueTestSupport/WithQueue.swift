import EventLoop
package import PostgreSQL
import Queue
package import TestSupport
package import Testing

extension DatabaseTemplate {
  /// The schema as `analysisctl migrate` leaves it.
  package static let migrated = migrated("migrated")

  /// The schema, and something that is put into it.
  package static func migrated(
    _ name: String, then fill: @escaping @Sendable (ConnectionPool) async throws -> Void = { _ in }
  ) -> DatabaseTemplate {
    DatabaseTemplate(name) { database in
      try await withQueue(in: database, connections: 1) { queue in
        _ = try await Migrator(queue.pool).migrate()
        try await fill(queue.pool)
      }
    }
  }
}

/// Lends a database of the test's own with the whole schema, and drops it at the end.
///
/// - Parameters:
///   - template: What it is a copy of; nil for an empty database.
///   - shards: In how many the users are.
package func withQueue<R>(
  from template: DatabaseTemplate? = .migrated, shards: Int = 1, connections: Int = 8,
  _ body: (QueueFixture) async throws -> R
) async throws -> R {
  try await withTestDatabase(template) { database in
    try await withQueue(in: database, connections: connections) { queue in
      if shards > 1 {
        try await queue.execute("UPDATE analysis.setting SET value = '\(shards)' WHERE name = 'shards'")
      }
      return try await body(
        TestServer.isPooled ? queue.reached(by: TestServer.shared.programs(database: database.name)) : queue)
    }
  }
}

/// The same; at its end no invariant may be broken.
package func withCheckedQueue(
  from template: DatabaseTemplate = .migrated, connections: Int = 4,
  sourceLocation: SourceLocation = #_sourceLocation, _ body: (QueueFixture) async throws -> Void
) async throws {
  try await withQueue(from: template, connections: connections) { queue in
    try await body(queue)
    try await queue.expectInvariants(sourceLocation)
  }
}

/// Lends the database of a cluster with the whole schema.
///
/// - Parameter proxy: What the programs' connections go through; the test's own go past it.
package func withQueue<R>(
  on cluster: ServerCluster, through proxy: FaultProxy? = nil, _ body: (QueueFixture) async throws -> R
) async throws -> R {
  let database = TestDatabase(conninfo: cluster.conninfo(), name: "postgres")
  try await DatabaseTemplate.migrated.prepare(database)
  return try await withQueue(in: database) { queue in
    try await body(queue.reached(by: proxy?.conninfo() ?? database.conninfo))
  }
}

/// Lends a database that is there.
package func withQueue<R>(
  in database: TestDatabase, connections: Int = 8, reconnect: ReconnectPolicy = .failAtOnce,
  _ body: (QueueFixture) async throws -> R
) async throws -> R {
  let loop = try EventLoop(name: "queue")
  let pool = ConnectionPool(database.configuration, on: loop, size: connections, reconnect: reconnect)
  let outcome: Result<R, any Error>
  do {
    outcome = .success(try await body(QueueFixture(database: database, loop: loop, pool: pool)))
  } catch {
    outcome = .failure(error)
  }
  await pool.close()
  loop.shutdown()
  return try outcome.get()
}
