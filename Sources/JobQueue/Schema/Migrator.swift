public import PostgreSQL

/// Brings a database's schema to the state that this program knows.
///
/// Every step is a transaction of its own, which holds a lock until it ends and looks again inside it what
/// is still to be done; so two migrators at once are safe, also through a pooler that hands the session to
/// others between transactions.
public struct Migrator: Sendable {
  private let database: ConnectionPool
  private let source: MigrationSource
  private let deadline: Duration

  /// A migrator of a database.
  ///
  /// - Parameters:
  ///   - source: the migrations; this program's own unless a test gives others.
  ///   - deadline: how long each step may take, waiting for another migrator included.
  public init(
    _ database: ConnectionPool, source: MigrationSource = .embedded, deadline: Duration = .seconds(3600)
  ) {
    self.database = database
    self.source = source
    self.deadline = deadline
  }

  /// The version of the schema that this program was made for.
  public static var version: Int { MigrationSource.embedded.version }

  /// What would be run, in order; nothing is changed.
  public func plan() async throws(JobQueueError) -> [MigrationStep] {
    try await state(in: database).steps()
  }

  /// What the database has, and what is missing.
  public func status() async throws(JobQueueError) -> SchemaStatus {
    try await state(in: database).status
  }

  /// The version that the database has, if this program can work with it: its own, the one before or the
  /// one after, so that programs and database can be upgraded one after the other.
  ///
  /// - Throws: an error that says which side is to be upgraded.
  public func requireCompatible() async throws(JobQueueError) -> Int {
    try await state(in: database).compatibleVersion()
  }

  /// The names of functions that somebody replaced or dropped by hand since they were applied.
  public func alteredFunctions() async throws(JobQueueError) -> [String] {
    let present = try await Statement(
      QueueSQL.text("migrator/bodies.sql"), [], while: "reading the functions"
    ) { rows in
      Dictionary(try rows.map { (try $0.string(0), Set([try $0.string(1)])) }) { $0.union($1) }
    }.run(on: database)
    return try await state(in: database).altered(present: present)
  }

  /// Runs what is missing, and answers what this call itself ran.
  ///
  /// - Parameter applied: called after each step is committed.
  public func migrate(
    _ applied: (MigrationStep) -> Void = { _ in }
  ) async throws(JobQueueError) -> [MigrationStep] {
    var done: [MigrationStep] = []
    while let step = try await inPeace({ () async throws(JobQueueError) in try await next() }) {
      done.append(step)
      applied(step)
    }
    if let finally = source.finally {
      let last = Statement(finally, [], while: "granting rights and preparing the coming months") { _ in }
      try await inPeace { () async throws(JobQueueError) in
        try await last.run(on: database, deadline: deadline)
      }
    }
    return done
  }

  /// How often a step is made again that the server ended in favour of others.
  private static let tries = 10

  /// Does a step, again and again if need be. It locks whole tables while workers hold rows of several: of two that wait
  /// for each other the server ends one, and it may be this one.
  private func inPeace<R>(_ step: () async throws(JobQueueError) -> R) async throws(JobQueueError) -> R {
    for _ in 1..<Self.tries {
      do throws(JobQueueError) {
        return try await step()
      } catch {
        guard error.code == .conflict else { throw error }
      }
    }
    return try await step()
  }

  /// Makes the first step that is missing; nil when there is none.
  private func next() async throws(JobQueueError) -> MigrationStep? {
    guard try await !state(in: database).steps().isEmpty else { return nil }
    var running: MigrationStep?
    do {
      return try await database.transaction(deadline: deadline) { transaction in
        _ = try await transaction.query(QueueSQL.text("migrator/lock.sql"), [], deadline: deadline)
        guard let step = try await state(in: transaction).steps().first else { return nil }
        running = step
        try await transaction.execute(script: step.sql, deadline: deadline)
        try await record(step, in: transaction)
        // Before anybody sees it: the functions of before run with the owner's rights, and may need it at once.
        try await transaction.execute(script: QueueSQL.text("migrator/ownership.sql"), deadline: deadline)
        return step
      }
    } catch {
      throw JobQueueError(error, while: running.map { "applying \($0.name)" } ?? "migrating")
    }
  }

  private func record(_ step: MigrationStep, in transaction: Transaction) async throws {
    switch step.kind {
    case .preparation:
      break
    case .migration(let number):
      _ = try await transaction.query(
        QueueSQL.text("migrator/record_migration.sql"),
        [.int32(Int32(clamping: number)), .text(step.name), .text(step.checksum)], deadline: nil)
    case .functions:
      _ = try await transaction.query(
        QueueSQL.text("migrator/record_function.sql"), [.text(step.name), .text(step.checksum)], deadline: nil
      )
    }
  }

  private func state(in database: some Queryable) async throws(JobQueueError) -> SchemaState {
    let isPrepared = try await Statement(
      QueueSQL.text("migrator/exists.sql"), [], while: "looking for the schema"
    ) { rows in
      try rows.single().bool(0)
    }.run(on: database)
    guard isPrepared else {
      return SchemaState(source: source, isPrepared: false, applied: [], functions: [:])
    }
    let applied = try await Statement(
      QueueSQL.text("migrator/applied.sql"), [], while: "reading the applied migrations"
    ) { rows in
      try rows.map {
        SchemaStatus.Applied(
          number: try $0.int(0), name: try $0.string(1), checksum: try $0.string(2),
          at: try $0.timestamp(3).secondsSince1970)
      }
    }.run(on: database)
    let functions = try await Statement(
      QueueSQL.text("migrator/functions.sql"), [], while: "reading the applied functions"
    ) { rows in
      Dictionary(try rows.map { (try $0.string(0), try $0.string(1)) }, uniquingKeysWith: { $1 })
    }.run(on: database)
    return SchemaState(source: source, isPrepared: true, applied: applied, functions: functions)
  }
}
