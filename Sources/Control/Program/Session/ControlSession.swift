import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support
import Synchronization

/// What a command works with while it is connected.
struct ControlSession: Sendable {
  let context: ControlContext
  let database: ConnectionPool
  let interruption: Interruption
  /// Where everything of the command runs.
  let loop: EventLoop

  /// Where results go, in the form that was asked for.
  var view: View { context.view }
  /// Where results and messages go.
  var console: Console { context.console }

  /// Shows a response with which the command has done all that it was to do.
  func show(_ response: some Presentable) throws(WriteError) -> ExitCode {
    try view.show(response)
    return .done
  }

  /// Shows what programs read of a response, or what people do.
  func show(_ json: JSONValue, _ text: String, _ code: ExitCode = .done) throws(WriteError) -> ExitCode {
    try view.show(PlainResponse(json: json, text: text))
    return code
  }

  /// Who acts, as the audit records it, with the reason that `--reason` gives.
  var actor: AuditActor {
    get throws(UsageError) { actor(try context[ReasonOption.reason]) }
  }

  /// Who acts, as the audit records it.
  func actor(_ reason: String?) -> AuditActor {
    let owner = context.dependencies.owner()
    return AuditActor(user: owner.user, host: owner.host, reason: reason)
  }
}

/// What a command needs of the database's schema.
enum SchemaNeed {
  /// One that this program can work with.
  case compatible
  /// None: the command makes it.
  case none
  /// None, and no server either: the command reports what it finds, at once.
  case nothing
}

extension ControlContext {
  /// Runs a command's body on an event loop of its own, with connections to the database, and closes them.
  ///
  /// The first Ctrl-C or SIGTERM cancels the body, unless it looks for interruptions itself; a second one
  /// cancels it in any case. What was under way at the server is then rolled back.
  ///
  /// - Parameters:
  ///   - named: Where the database is, when not where the common options say.
  ///   - keepsEnd: Whether the end of the audit is kept where the common options say, if the command has moved it.
  func withSession(
    schema: SchemaNeed = .compatible, database named: ConnectionConfiguration? = nil, keepsEnd: Bool = true,
    _ body: @escaping @Sendable (ControlSession) async throws -> ExitCode
  ) async throws -> ExitCode {
    let configuration = try configuration(named)
    let loop = try EventLoop(name: "analysisctl")
    defer { loop.shutdown() }
    let database = ConnectionPool(configuration, on: loop, size: Self.connections)
    let interruption = Interruption()
    let session = ControlSession(context: self, database: database, interruption: interruption, loop: loop)
    let first = FirstConnection(
      on: loop, patience: try self[CommonOptions.connectTimeout], say: console.say)
    let place = keepsEnd && schema == .compatible ? try self[CommonOptions.auditEnds] : nil
    let signals = try dependencies.interruptions()
    let outcome = await interruption.run(on: loop, signals) {
      try await first.made { try await connect(database, schema) }
      var keeper: EndKeeper?
      if let place { keeper = await EndKeeper(place, database, say: console.say) }
      let code = try await CommandRoles.naming(command, database) { try await run(body, session) }
      // What the command recorded; where it could not be chained, a worker or the next command does it.
      if schema == .compatible { try? await AuditLog(database).chain(deadline: .seconds(5)) }
      return await keeper?.finish(code) ?? code
    }
    await database.close()
    return try outcome.get()
  }

  /// Runs a command's body, where the servers that are named have it begin on a standby (`prefer-standby`) and that refuses it,
  /// once more on the primary. What is recorded or changed comes before anything is shown, so that nothing is shown twice.
  private func run(
    _ body: (ControlSession) async throws -> ExitCode, _ session: ControlSession
  ) async throws -> ExitCode {
    let beganOnStandby = try? await session.database.withConnection { await $0.isStandby }
    do {
      return try await body(session)
    } catch  where beganOnStandby == true && PostgreSQLError.within(error)?.isReadOnlyServer == true {
      return try await session.database.withPrimary(deadline: .seconds(2), after: error) { primary in
        try await body(
          ControlSession(
            context: self, database: primary, interruption: session.interruption, loop: session.loop))
      }
    }
  }

  private func connect(_ database: ConnectionPool, _ schema: SchemaNeed) async throws {
    switch schema {
    case .compatible:
      _ = try await CommandRoles.naming(command, database) {
        try await Migrator(database).requireCompatible()
      }
    case .none: try await database.withConnection { _ in }
    case .nothing: break
    }
  }

  private func configuration(_ named: ConnectionConfiguration?) throws -> ConnectionConfiguration {
    let log = Log.standardError(level: try self[CommonOptions.logLevel], environment: environment)
    var configuration = try named ?? ConnectionConfiguration(self[CommonOptions.database])
    configuration.serverProof = try self[SharedOptions.databaseProof]
    configuration.applicationName = "analysisctl"
    configuration.searchPath = ConnectionConfiguration.catalogOnly
    configuration.settings = ConnectionConfiguration.plainSession
    configuration.onNotice = { log.serverSaid($0.message, severity: $0.severity) }
    return configuration
  }

  /// One for what a command asks, one for what it asks meanwhile.
  private static let connections = 2
}

extension Queryable {
  /// The time of the last change that a standby has; nil of a primary.
  func standbyChangedAt() async throws -> Timestamp? {
    try await query(SQLFiles.required("server/standby.sql")).single().timestampIfPresent("changed_at")
  }
}

extension Log {
  /// Writes what the server said beside its answers.
  ///
  /// A WARNING is for whoever runs the command. What is below it (NOTICE, INFO, LOG, DEBUG) is for debugging only:
  /// each migration, for instance, is told that the schema is there already.
  func serverSaid(_ message: String, severity: String) {
    let fields: Fields = ["severity": .string(severity), "notice": .string(message)]
    if Self.isMinor(severity) {
      debug("the database says", fields)
    } else {
      warning("the database says", fields)
    }
  }

  /// PostgreSQL's severities below WARNING; `DEBUG` comes with a number from 1 to 5 in its settings, but not
  /// in what it sends.
  private static func isMinor(_ severity: String) -> Bool {
    ["NOTICE", "INFO", "LOG", "DEBUG"].contains(severity)
  }
}

/// The first connection of a command: while the database cannot be reached, as when a standby takes over, it is tried
/// again for some time. What waiting does not cure, such as a wrong password, ends the command at once.
struct FirstConnection: Sendable {
  private let loop: EventLoop
  private let patience: Duration
  private let say: @Sendable (String) -> Void

  /// When a person begins to wonder.
  private static let silence = Duration.seconds(1)

  /// - Parameters:
  ///   - patience: How long a failed attempt is followed by another; zero for one attempt.
  ///   - say: Says what is waited for.
  init(on loop: EventLoop, patience: Duration, say: @escaping @Sendable (String) -> Void) {
    self.loop = loop
    self.patience = patience
    self.say = say
  }

  /// Connects and asks what has to be asked first.
  ///
  /// - Throws: The error of the last attempt.
  func made(_ connect: () async throws -> Void) async throws {
    let end = EventLoop.now + patience
    let reason = Mutex("")
    let wonder = Task { [loop, say, patience] in
      try await loop.sleep(for: Self.silence)
      if patience > .zero { say("Waiting for the database, for up to \(patience).\(reason.withLock { $0 })") }
    }
    defer { wonder.cancel() }
    var retries = RetryPauses(Backoff(base: .milliseconds(100), cap: .seconds(1)))
    while true {
      do {
        return try await connect()
      } catch {
        let pause = retries.next()
        guard let cause = Self.passing(error), EventLoop.now + pause < end else { throw error }
        reason.withLock { $0 = " \(cause.message)" }
        try await loop.sleep(for: pause)
      }
    }
  }

  /// Why there is no connection, if there may be one without anybody's doing.
  private static func passing(_ error: any Error) -> PostgreSQLError? {
    let cause = error as? PostgreSQLError ?? (error as? JobQueueError)?.underlying as? PostgreSQLError
    guard let cause, cause.isConnectionLoss || cause.code == .deadlineExceeded else { return nil }
    return cause.isTransient ? cause : nil
  }
}
