internal import EventLoop
public import PostgreSQL
internal import Synchronization

/// Brings a database's schema to the state that this program knows.
///
/// Every step is a transaction of its own, which holds a lock until it ends and looks again inside it what
/// is still to be done; so two migrators at once are safe, also through a pooler that hands the session to
/// others between transactions. Once there are the roles and the schema, nothing is done with more rights than the
/// schema's owner has, whoever runs it: what others could have put into the schema does not run as a superuser.
public struct Migrator: Sendable {
  private let database: ConnectionPool
  private let source: MigrationSource
  private let deadline: Duration
  private let lockTimeout: Duration
  private let pause: @Sendable () -> Duration
  private let rolePrefix: String?

  /// A migrator of a database.
  ///
  /// - Parameters:
  ///   - source: the migrations; this program's own unless a test gives others.
  ///   - deadline: how long each step may take, waiting for another migrator and for locks included.
  ///   - lockTimeout: how long a step waits for a lock, and others behind it, before it gives up and tries again.
  ///   - pause: how long it lets others through before that.
  ///   - rolePrefix: with what the names of the installation's roles begin; nil for what they began with at its first
  ///     migration, or `analysis`.
  public init(
    _ database: ConnectionPool, source: MigrationSource = .embedded, rolePrefix: String? = nil,
    deadline: Duration = .seconds(3600), lockTimeout: Duration = .seconds(2),
    pause: @escaping @Sendable () -> Duration = { .milliseconds(Int.random(in: 1000...3000)) }
  ) {
    self.database = database
    self.source = source
    self.deadline = deadline
    self.lockTimeout = lockTimeout
    self.pause = pause
    self.rolePrefix = rolePrefix
  }

  /// The version of the schema that this program was made for.
  public static var version: Int { MigrationSource.embedded.version }

  /// What would be run, in order; nothing is changed.
  public func plan() async throws(JobQueueError) -> [MigrationStep] {
    try await stateAsOwner().steps(rolePrefix: rolePrefix)
  }

  /// All that ``migrate(_:waiting:)`` would run for these steps, as SQL that `psql` runs as it stands.
  public func script(of steps: [MigrationStep]) -> String {
    MigrationScript(source: source, rolePrefix: rolePrefix).text(of: steps)
  }

  /// What the database has, and what is missing.
  public func status() async throws(JobQueueError) -> SchemaStatus {
    try await stateAsOwner().status
  }

  /// The version that the database has, if this program can work with it: its own, the one before or the
  /// one after, so that programs and database can be upgraded one after the other.
  ///
  /// - Throws: an error that says which side is to be upgraded.
  public func requireCompatible() async throws(JobQueueError) -> Int {
    let applied: [SchemaStatus.Applied]
    do {
      applied = try await Self.applied(while: "looking for the schema").run(on: database)
    } catch {
      // The table is not there or may not be read: asked for step by step, the error says what is amiss.
      guard let cause = error.underlying as? PostgreSQLError,
        cause.isSchemaLacking || cause.isPermissionDenied
      else { throw error }
      return try await self.state(in: database).compatibleVersion()
    }
    return try SchemaState(source: source, isPrepared: true, applied: applied, functions: [:])
      .compatibleVersion()
  }

  /// Reads the migrations that were applied.
  private static func applied(while doing: String) -> Statement<[SchemaStatus.Applied]> {
    Statement(file: "migrator/applied.sql", while: doing) { rows in
      try rows.map {
        SchemaStatus.Applied(
          number: try $0.int("number"), name: try $0.string("name"), checksum: try $0.string("checksum"),
          at: try $0.seconds("applied_at"))
      }
    }
  }

  /// The functions and triggers that somebody replaced, dropped, disabled or opened by hand since they were applied, each
  /// with what is another.
  public func altered() async throws(JobQueueError) -> [String] {
    try await state(in: database).altered(PresentSchema.read(database))
  }

  /// Runs what is missing, and answers what this call itself ran.
  ///
  /// - Parameters:
  ///   - applied: called after each step is committed.
  ///   - waiting: called when a step could not have a lock in time and is going to be tried again.
  public func migrate(
    _ applied: (MigrationStep) -> Void = { _ in }, waiting: (MigrationWait) -> Void = { _ in }
  ) async throws(JobQueueError) -> [MigrationStep] {
    var done: [MigrationStep] = []
    _ = try await step(waiting, asOwner: false) { transaction, running in
      running.name = "the roles and the schema"
      try await transaction.execute(script: SchemaState.setup(rolePrefix: rolePrefix), deadline: deadline)
      return MigrationStep?.none
    }
    while let step = try await step(waiting, asOwner: true, next) {
      done.append(step)
      applied(step)
    }
    if let finally = source.finally {
      _ = try await step(waiting, asOwner: true) { transaction, running in
        running.name = "rights and the coming months"
        _ = try await transaction.query(finally, deadline: deadline)
        try await close(transaction)
        return MigrationStep?.none
      }
    }
    return done
  }

  /// How often a step is made again that the server ended in favour of others.
  private static let tries = 10

  /// What is under way, for errors and for who waits.
  private final class Running: Sendable {
    let step = Mutex<String?>(nil)
    let seen = Mutex<(what: String, blockers: [MigrationWait.Blocker])?>(nil)

    var name: String? {
      get { step.withLock { $0 } }
      set { step.withLock { $0 = newValue } }
    }
  }

  /// Makes a step in a transaction of its own, again and again if need be, until the deadline.
  ///
  /// A step locks whole tables while others hold rows of them, and behind a lock that is waited for, everybody else waits
  /// too. So it waits a short time only, gives up all that it has, lets the others through, and tries again. And of two
  /// that wait for each other the server ends one, which may be this one.
  private func step<R>(
    _ waiting: (MigrationWait) -> Void, asOwner: Bool,
    _ body: (Transaction, Running) async throws -> R
  ) async throws(JobQueueError) -> R {
    let until = EventLoop.now + deadline
    var tries = Self.tries
    while true {
      let running = Running()
      do {
        return try await database.transaction(
          isolation: .readCommitted, deadline: until - EventLoop.now
        ) { transaction in
          try await transaction.execute(script: SQLFiles.required("migrator/session.sql"))
          if asOwner { try await transaction.execute(script: SQLFiles.required("migrator/owner.sql")) }
          // Nobody but another migrator waits behind this lock, so it is waited for without a limit.
          try await limit(waits: .zero, in: transaction)
          try await transaction.execute(script: SQLFiles.required("migrator/lock.sql"), deadline: deadline)
          try await limit(waits: lockTimeout, in: transaction)
          let process = try await transaction.query(.serverProcess).single().int32(0)
          async let _: Void = watch(process, running)
          return try await body(transaction, running)
        }
      } catch {
        let doing = running.name.map { "applying \($0)" } ?? "migrating"
        let failure = JobQueueError(error, while: doing)
        guard failure.code == .conflict else { throw failure }
        guard (failure.underlying as? PostgreSQLError)?.sqlState == "55P03" else {
          tries -= 1
          guard tries > 0 else { throw failure }
          continue
        }
        let pause = pause()
        guard EventLoop.now + pause < until else { throw failure }
        let seen = running.seen.withLock { $0 }
        waiting(
          MigrationWait(step: running.name ?? "a step", object: seen?.what, blockers: seen?.blockers ?? []))
        do { try await database.loop.sleep(for: pause) } catch { throw JobQueueError(error, while: doing) }
      }
    }
  }

  /// How long a statement of the transaction waits for a lock; zero: without a limit.
  private func limit(waits: Duration, in transaction: Transaction) async throws {
    _ = try await transaction.query(
      SQLFiles.required("migrator/lock_timeout.sql"), [.text(String(milliseconds(waits)))], deadline: nil)
  }

  /// Notes for whom a process waits, over another connection, until the task is cancelled.
  private func watch(_ process: Int32, _ running: Running) async {
    let blockers = SQLStatement(
      SQLFiles.required("migrator/blockers.sql"), [.int32(process)], label: "looking for who is in the way")
    while true {
      do {
        try await database.loop.sleep(for: lockTimeout / 4)
        let rows = try await database.query(blockers)
        guard let first = rows.first else { continue }
        let seen = (
          what: try first.string("object"),
          blockers: try rows.map {
            MigrationWait.Blocker(
              process: try $0.int32IfPresent("process"), prepared: try $0.stringIfPresent("prepared"),
              role: try $0.stringIfPresent("role"), since: try $0.secondsIfPresent("since"))
          }
        )
        running.seen.withLock { $0 = seen }
      } catch {
        // Cancelled: the step is over. Or it cannot be told, and the step goes on without.
        return
      }
    }
  }

  /// Makes the first step that is missing; nil when there is none.
  private func next(_ transaction: Transaction, _ running: Running) async throws -> MigrationStep? {
    guard let step = try await state(in: transaction).steps(rolePrefix: rolePrefix).first else { return nil }
    running.name = step.name
    try await transaction.execute(script: MigrationScript.statements(of: step), deadline: deadline)
    try await record(step, in: transaction)
    try await close(transaction)
    return step
  }

  /// Closes what a step has made to everybody, and has the functions fix what a caller's session could have set.
  private func close(_ transaction: Transaction) async throws {
    try await transaction.execute(script: MigrationScript.closing, deadline: deadline)
  }

  private func record(_ step: MigrationStep, in transaction: Transaction) async throws {
    switch step.kind {
    case .preparation:
      break
    case .migration(let number):
      _ = try await transaction.query(
        SQLFiles.required("migrator/record_migration.sql"),
        [.int32(Int32(clamping: number)), .text(step.name), .text(step.checksum)], deadline: nil)
    case .functions:
      _ = try await transaction.query(
        SQLFiles.required("migrator/record_function.sql"), [.text(step.name), .text(step.checksum)],
        deadline: nil
      )
    }
  }

  /// What is recorded, read with no more rights than the schema's owner has where this session may act as that.
  private func stateAsOwner() async throws(JobQueueError) -> SchemaState {
    do {
      return try await database.transaction(isolation: .readCommitted, readOnly: true) { transaction in
        try await transaction.execute(script: SQLFiles.required("migrator/session.sql"))
        if try await transaction.query(SQLFiles.required("migrator/may_act.sql")).single().bool("may_act") {
          try await transaction.execute(script: SQLFiles.required("migrator/owner.sql"))
        }
        return try await state(in: transaction)
      }
    } catch {
      throw JobQueueError(error, while: "looking for the schema")
    }
  }

  private func state(in database: some Queryable) async throws(JobQueueError) -> SchemaState {
    let isPrepared = try await Statement(
      file: "migrator/exists.sql", while: "looking for the schema"
    ) { rows in
      try rows.single().bool("is_prepared")
    }.run(on: database)
    guard isPrepared else {
      return SchemaState(source: source, isPrepared: false, applied: [], functions: [:])
    }
    let applied = try await Self.applied(while: "reading the applied migrations").run(on: database)
    let functions = try await Statement(
      file: "migrator/functions.sql", while: "reading the applied functions"
    ) { rows in
      Dictionary(
        try rows.map { (try $0.string("name"), try $0.string("checksum")) }, uniquingKeysWith: { $1 })
    }.run(on: database)
    return SchemaState(source: source, isPrepared: true, applied: applied, functions: functions)
  }
}

/// A step of a migration that could not have a lock in time, and is going to be tried again.
public struct MigrationWait: Sendable, Equatable {
  /// Who has what the step waits for: a session, or a transaction that was prepared and is not over.
  public struct Blocker: Sendable, Equatable {
    /// The server's process; nil of a prepared transaction.
    public let process: Int32?
    /// The prepared transaction's name; nil of a session.
    public let prepared: String?
    /// The role; nil where this session's role may not know.
    public let role: String?
    /// Since when its transaction is open, in seconds since 1970; nil where this session's role may not know.
    public let since: Double?
  }

  /// The step's name.
  public let step: String
  /// The table or other thing that is locked; nil where it was not seen.
  public let object: String?
  /// Who has it, the oldest first; empty where it was not seen.
  public let blockers: [Blocker]
}
