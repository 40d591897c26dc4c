internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// What must be true before the first claim: the database answers, and its schema fits this program.
struct Startup {
  let context: WorkerContext

  /// How long a draining worker waits for a database that does not answer; a lasting one waits for ever,
  /// since it is started with the machine and the database may be later. So it does for a right that it lacks.
  static let drainPatience: Duration = .seconds(30)

  /// What it is when the settings of the connection can never lead anywhere, for instance with a server that need not
  /// prove itself: nobody but who wrote them mends that. What a server says of them may be mended there.
  private static func kind(ofSettings error: JobQueueError) -> WorkerError.Kind? {
    guard let cause = error.underlying as? PostgreSQLError, cause.sqlState == nil else { return nil }
    return switch cause.phase {
    case .some(.configuration), .some(.session): .configuration
    case .some(.passwordFile): .permission
    default: nil
    }
  }

  private static func kind(of code: JobQueueError.Code) -> WorkerError.Kind {
    switch code {
    case .schemaMissing, .schemaTooOld, .schemaTooNew, .unreachable: .unreachable
    case .permission: .permission
    default: .fault
    }
  }

  /// What the first claim is made by.
  struct Found: Sendable {
    /// By which number the database knows this worker.
    let number: Int64
    let shards: [Int16]
    let pauses: [OperatorPause]
    let shares: LaneShares
    let imageRules: [AnalysisKind: ImageRules]
  }

  /// Waits for the database and reads it.
  func find() async throws(WorkerError) -> Found {
    let start = EventLoop.now
    var retries = Retries(context, what: "starting")
    while true {
      do throws(JobQueueError) {
        context.login.keep(try await DatabaseLogin.read(context.databases.control))
        _ = try await Migrator(context.databases.control).requireCompatible()
        let directory = ShardDirectory(context.databases.control)
        let found = Found(
          number: try await WorkerStatements.number(of: context.identity).run(on: context.databases.control),
          shards: try await directory.shards(), pauses: try await pauses(),
          shares: try await directory.laneShares(), imageRules: try await directory.imageRules())
        try await recordStart()
        return found
      } catch let failure {
        let error = context.login.named(failure)
        if let kind = Self.kind(ofSettings: error) { throw WorkerError(error.description, kind: kind) }
        let waitsForGrant = error.lacksRole && context.configuration.drainHorizon == nil
        guard error.isTemporary || waitsForGrant else {
          throw WorkerError(error.description, kind: Self.kind(of: error.code))
        }
        if context.configuration.drainHorizon != nil, EventLoop.now - start > Self.drainPatience {
          throw WorkerError(error.description, kind: .unreachable)
        }
        guard await retries.pause(after: error) else {
          throw WorkerError("Stopped before the database answered.", kind: .unreachable)
        }
      }
    }
  }

  /// Reads the pauses once; those in force before a worker starts hold for it from its first claim on.
  private func pauses() async throws(JobQueueError) -> [OperatorPause] {
    do {
      return try await PauseDirectory(context.databases.control).inForce(deadline: context.deadline)
    } catch {
      guard error.code == .permission else { throw error }
      // To stop all work for it would be worse than to miss a pause.
      context.log.warning(
        "Cannot read the operators' pauses, and does not obey them",
        ["error": .string(context.login.named(error).description)])
      return []
    }
  }

  /// A worker's role lets it read images. That it does, under whose account and on which machine, is recorded before the
  /// first image is read, and where the worker ends; each of its calls is known by the job's result or attempt.
  ///
  /// - Throws: what passes by itself. A role that lacks the right does not stop the work: that would be worse.
  private func recordStart() async throws(JobQueueError) {
    do {
      try await WorkerStatements.recordStart(of: context.identity, kinds: context.configuration.kinds)
        .run(on: context.databases.control, as: context.auditActor, deadline: context.deadline)
    } catch {
      guard !error.isTemporary else { throw error }
      context.log.warning(
        "Cannot record the start of this worker in the audit",
        ["error": .string(context.login.named(error).description)])
    }
  }
}
