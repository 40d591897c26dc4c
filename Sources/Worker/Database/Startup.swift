internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// What must be true before the first claim: the database answers, and its schema fits this program.
struct Startup {
  let worker: AnalysisWorker
  let databases: WorkerDatabases

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
    /// The shards to go round.
    let shards: [Int16]
    /// What operators have paused.
    let pauses: [OperatorPause]
    /// What each priority has of the claims.
    let shares: LaneShares
    /// What is sent of each type's images.
    let imageRules: [AnalysisKind: ImageRules]
  }

  /// Waits for the database and looks.
  func find() async throws(WorkerError) -> Found {
    let start = EventLoop.now
    var retries = Retries(worker: worker, what: "starting")
    while true {
      do throws(JobQueueError) {
        worker.login.keep(try await DatabaseLogin.read(databases.control))
        _ = try await Migrator(databases.control).requireCompatible()
        let directory = ShardDirectory(databases.control)
        let found = Found(
          number: try await WorkerStatements.number(of: worker.identity).run(on: databases.control),
          shards: try await directory.shards(), pauses: try await OperatorLink.pauses(databases, worker),
          shares: try await directory.laneShares(), imageRules: try await directory.imageRules())
        try await ReaderRecord(worker: worker, databases: databases).start()
        return found
      } catch let failure {
        let error = worker.login.named(failure)
        if let kind = Self.kind(ofSettings: error) { throw WorkerError(error.description, kind: kind) }
        let waitsForGrant = error.lacksRole && worker.configuration.drainHorizon == nil
        guard error.isTemporary || waitsForGrant else {
          throw WorkerError(error.description, kind: Self.kind(of: error.code))
        }
        if worker.configuration.drainHorizon != nil, EventLoop.now - start > Self.drainPatience {
          throw WorkerError(error.description, kind: .unreachable)
        }
        guard await retries.pause(after: error) else {
          throw WorkerError("Stopped before the database answered.", kind: .unreachable)
        }
      }
    }
  }
}
