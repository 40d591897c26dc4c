import CommandLineTool
import Endpoint
import HTTPTransfer
import PostgreSQL
import Queue

/// Makes every check, and goes on when one cannot be made.
struct Checkup: Sendable {
  private let request: DoctorRequest
  private let database: ConnectionPool
  private let environment: [String: String]

  /// Checks of a request.
  init(_ request: DoctorRequest, database: ConnectionPool, environment: [String: String]) {
    self.request = request
    self.database = database
    self.environment = environment
  }

  /// Makes them. Nothing is changed; at an endpoint one health call and one log-in are made.
  ///
  /// - Throws: `CancellationError` alone.
  func run() async throws -> DoctorReport {
    var findings: [Finding] = []
    let isReached = try await look(&findings)
    findings += try await endpointFindings()
    return DoctorReport(findings: findings, isDatabaseReached: isReached)
  }

  private func endpointFindings() async throws -> [Finding] {
    let settings = request.endpoint
    guard !settings.endpoints.isEmpty else {
      return [
        .skipped(
          "endpoint", "no endpoint was named", "Name one with --endpoint, or a worker's --worker-config.")
      ]
    }
    let certificate = ClientCertificateCheck(use: settings.certificate, environment: environment)
    var (findings, transfer) = ([Finding](), settings.transfer)
    transfer.readsCertificates = true
    certificate.look(&findings, &transfer)
    let http = HTTPClient(loop: database.loop, configuration: transfer)
    for endpoint in settings.endpoints where !Task.isCancelled {
      findings += await EndpointChecks(
        endpoint: endpoint, credentials: settings.credentials, http: http, environment: environment
      ).findings()
    }
    await http.close()
    try Task.checkCancellation()
    return findings
  }

  /// Looks at the database; false when it cannot be reached, or went away meanwhile.
  private func look(_ findings: inout [Finding]) async throws -> Bool {
    let asked = AskedDatabase(
      pool: database, longTransaction: request.longTransaction, maxWait: request.maxWait,
      worker: request.worker)
    var hasSchema = true
    for check in checks where hasSchema || !check.needsSchema {
      try Task.checkCancellation()
      do {
        let found = try await check.findings(asked)
        findings += found
        if check is SchemaChecks,
          found.contains(where: { $0.check == "schema.version" && $0.state == .wrong })
        {
          hasSchema = false
          findings.append(.skipped("queue", "nothing can be said of the queue without a schema that fits"))
        }
      } catch {
        if Self.isCancelled(error) { throw CancellationError() }
        if let loss = Self.server(error), loss.code == .connectionFailed || loss.isConnectionLoss {
          findings.append(Self.unreachable(loss))
          return false
        }
        findings.append(Self.failed(check.group, error))
      }
    }
    return true
  }

  private static func isCancelled(_ error: any Error) -> Bool {
    error is CancellationError || server(error)?.code == .cancelled
  }

  private static func server(_ error: any Error) -> PostgreSQLError? {
    error as? PostgreSQLError ?? (error as? JobQueueError)?.underlying as? PostgreSQLError
  }

  private var checks: [any DatabaseCheck] {
    let checks: [any DatabaseCheck] = [
      ServerChecks(), SchemaChecks(), ClockCheck(), PoolerCheck(), TimeoutChecks(), SettingChecks(),
      ConnectionChecks(),
      SessionChecks(), HorizonChecks(),
      VacuumChecks(), VolumeChecks(), LogChecks(), PartitionCheck(), ZoneChecks(),
      RightsChecks(), OwnershipCheck(), ViewerCheck(), LoginLimitCheck(), PublicCheck(), AuditCheck(),
      WorkerChecks(), QueueChecks(), MonthCheck(), WebhookChecks(),
      ImageChecks(keys: request.keys, environment: environment),
    ]
    return request.isDeep ? checks + [ReconcileCheck()] : checks
  }

  /// A check that could not be made says so and stops no other.
  private static func failed(_ group: String, _ error: any Error) -> Finding {
    let (queue, server) = (error as? JobQueueError, server(error))
    switch server {
    case let error? where error.isPermissionDenied:
      return .skipped(
        group, "this login may not look",
        "Run doctor as the schema's owner, or as a login with the auditor's role.")
    case let error? where error.isSchemaLacking:
      return .skipped(group, "the schema lacks what is looked at", "Run analysisctl migrate.")
    default:
      return .wrong(
        group, "it could not be checked: \(queue?.message ?? server?.message ?? "\(error)")",
        queue?.advice ?? "Look at the database's log.")
    }
  }

  private static func unreachable(_ error: PostgreSQLError) -> Finding {
    let advice =
      switch error.phase {
      case .some(.configuration):
        "Mend the connection settings: --database, or PG* variables and their files."
      case .some(.passwordFile): "Only its owner may be able to read a password file: mode 0600."
      case .some(.authentication): "Check the role, its password file and the server's pg_hba.conf."
      case .some(.databaseMissing): "Check the database's name, or make it with createdb."
      case .some(.tls): "Check the certificates and PGSSLMODE."
      case .some(.proof): LocalProof.advice
      case .some(.session): error.hint ?? "Take the setting back."
      case .some(.tooManyClients): "Raise max_connections, or end sessions that nobody needs."
      default: "Check that it runs and how to reach it: PGHOST, PGPORT, firewall, pg_hba.conf."
      }
    return .wrong("server.reachable", "the database cannot be reached: \(error.message)", advice)
  }
}

/// A group of checks that ask the database.
protocol DatabaseCheck: Sendable {
  /// What its findings' names begin with.
  var group: String { get }
  /// Whether it looks at the tables of the queue.
  var needsSchema: Bool { get }
  /// Makes the checks. What it throws becomes a finding of the group; the other groups are checked all the same.
  func findings(_ database: AskedDatabase) async throws -> [Finding]
}

extension DatabaseCheck {
  var needsSchema: Bool { false }
}

/// The database that is looked at, and what the checks need to know of the request.
struct AskedDatabase: Sendable {
  let pool: ConnectionPool
  let longTransaction: Duration
  let maxWait: Duration?
  let worker: WorkerUse?

  /// How long a question may take: a server in trouble must not hold up the answers to the others.
  static let deadline: Duration = .seconds(20)

  /// The rows of a statement of `sql/doctor`.
  func rows(_ name: String, _ parameters: [Parameter] = []) async throws(PostgreSQLError) -> Rows {
    try await pool.query(Self.text(name), parameters, deadline: Self.deadline)
  }

  /// A statement's text; one that is missing from the build is refused by the server by name.
  static func text(_ name: String) -> String {
    SQLFiles.text("doctor/\(name).sql") ?? "missing from this program: doctor/\(name).sql"
  }

  /// Whether this role sees what other roles' sessions do.
  func seesOthers() async throws -> Bool {
    try await rows("visibility").single().bool(0)
  }

  /// The advice where it does not.
  static let blind =
    "Grant the role pg_monitor to have the sessions of other roles looked at: GRANT pg_monitor TO …"
}

/// What a check saw, and what to do about it.
struct Finding: Sendable, Equatable {
  /// How bad it is.
  enum State: String, Sendable, CaseIterable {
    /// As it should be.
    case ok
    /// It works, and may not for long or not as well as it could.
    case warning
    /// Something does not work, or will lose or delay jobs.
    case wrong
    /// It could not be looked at; `seen` says why.
    case skipped
  }

  /// What was checked: the group, a dot and the name, for instance `vacuum.dead_rows`.
  let check: String
  /// How bad it is.
  let state: State
  /// What was seen. Nothing of it is secret.
  let seen: String
  /// What to do about it; nil where there is nothing to do.
  let advice: String?

  static func ok(_ check: String, _ seen: String) -> Finding {
    Finding(check: check, state: .ok, seen: seen, advice: nil)
  }

  static func warning(_ check: String, _ seen: String, _ advice: String) -> Finding {
    Finding(check: check, state: .warning, seen: seen, advice: advice)
  }

  static func wrong(_ check: String, _ seen: String, _ advice: String) -> Finding {
    Finding(check: check, state: .wrong, seen: seen, advice: advice)
  }

  static func skipped(_ check: String, _ seen: String, _ advice: String? = nil) -> Finding {
    Finding(check: check, state: .skipped, seen: seen, advice: advice)
  }
}

/// What was found, in the order in which it was looked for.
struct DoctorReport: Sendable, Equatable {
  /// What each check saw.
  let findings: [Finding]
  /// Whether the database answered.
  let isDatabaseReached: Bool
  /// Whether a person is shown the checks that passed or were skipped, too.
  var listsAll = false

  /// How many are in a state.
  func count(_ state: Finding.State) -> Int { findings.count { $0.state == state } }
}

/// What is to be looked at, and how closely.
struct DoctorRequest: Sendable {
  /// What a person names. What is left out is taken from the worker's configuration file, if one is named.
  struct Named: Sendable {
    /// The worker's configuration file.
    var workerConfiguration: String?
    /// The endpoint and how it is called.
    var endpoint = EndpointSettings.Named()
    /// The file with the keys of encrypted images.
    var keyFile: String?
    /// Whether it is said where the database is, so that the worker's file does not count for it.
    var isDatabaseGiven = false
    /// Whether to recount everybody's use, which reads all jobs.
    var isDeep = false
    /// For how long a transaction, or a session that holds one, may last before it is a finding.
    var longTransaction: Duration = .seconds(300)
    /// For how long a job may wait before it is a finding; nil for any time.
    var maxWait: Duration?

    init() {}
  }

  /// Where the worker finds the queue; nil to look where every command does.
  let database: ConnectionConfiguration?
  /// What there is to know of the workers' settings; nil when none were named.
  let worker: WorkerUse?
  /// The endpoints to be asked, and how.
  let endpoint: EndpointSettings
  /// Where the keys of encrypted images are.
  let keys: SecretUse
  let isDeep: Bool
  let longTransaction: Duration
  let maxWait: Duration?

  /// Puts together what was named and what the worker's file says.
  ///
  /// - Throws: What is wrong with the worker's file or an address.
  init(_ named: Named, environment: [String: String]) throws {
    let path = named.workerConfiguration
    let settings = try path.map(GivenSettings.read)
    isDeep = named.isDeep
    longTransaction = named.longTransaction
    maxWait = named.maxWait
    worker = try path.flatMap { path in
      try settings.map { WorkerUse(path: path, listens: try $0.values[WorkerOptions.listen]) }
    }
    endpoint = try EndpointSettings(named.endpoint, settings, environment: environment)
    keys = SecretUse(
      named: named.keyFile, inSettings: try settings?.values[WorkerOptions.keyFile], environment)
    database = named.isDatabaseGiven ? nil : try settings?.database()
  }
}

/// What a worker's settings mean for the database.
struct WorkerUse: Sendable, Equatable {
  /// The file that they were read from.
  let path: String
  /// Whether it listens for wake-ups.
  let listens: Bool
}
