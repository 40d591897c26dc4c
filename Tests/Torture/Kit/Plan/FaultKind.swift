import Queue
import Worker

/// What can be done to a running installation. What the endpoint answers wrongly on its own account is apart:
/// see `AnswerFaults`.
enum FaultKind: Hashable, Sendable {
  case worker(WorkerFault)
  /// A worker runs that dies at a failpoint; debug builds only.
  case death(Failpoint)
  case server(ServerFault)
  case connection(ConnectionFault)
  case endpoint(EndpointFault)
  case operation(OperatorAction)
  /// A transaction is left open for a while.
  case transaction(OpenTransaction)
  /// Functions are called at random throughout.
  case stress(StressPart)

  /// As it is written in options and tables.
  var name: String {
    switch self {
    case .worker(let fault): fault.rawValue
    case .death(let failpoint): "worker-dies-\(failpoint.rawValue)"
    case .server(let fault): fault.rawValue
    case .connection(let fault): fault.rawValue
    case .endpoint(let fault): fault.rawValue
    case .operation(let action): action.rawValue
    case .transaction(let transaction): transaction.rawValue
    case .stress(let part): part.name
    }
  }

  /// All that this build can cause, always in the same order.
  static let all: [FaultKind] = {
    var all: [FaultKind] = WorkerFault.allCases.map { .worker($0) }
    #if DEBUG
      all += Failpoint.allCases.map { .death($0) }
    #endif
    all += ServerFault.allCases.map { .server($0) }
    all += ConnectionFault.allCases.map { .connection($0) }
    all += EndpointFault.allCases.map { .endpoint($0) }
    all += OperatorAction.allCases.map { .operation($0) }
    all += OpenTransaction.allCases.map { .transaction($0) }
    return all + StressPart.all.map { .stress($0) }
  }()

  /// The kind of a name, or every kind of a group: `worker`, `death`, `server`, `connection`, `endpoint`,
  /// `operation`, `transaction` or `stress`. Empty for a name that is unknown.
  static func named(_ name: String) -> [FaultKind] {
    all.filter { $0.name == name || $0.group == name }
  }

  /// The group's name.
  var group: String {
    switch self {
    case .worker: "worker"
    case .death: "death"
    case .server: "server"
    case .connection: "connection"
    case .endpoint: "endpoint"
    case .operation: "operation"
    case .transaction: "transaction"
    case .stress: "stress"
    }
  }

  /// Whether it begins with the run and lasts until its end.
  var isThroughout: Bool {
    if case .stress = self { true } else { false }
  }

  /// Whether it halts everything for a moment, so that two of the kind must not follow each other closely.
  var isHeavy: Bool {
    switch self {
    case .server(let fault): fault.isHeavy
    case .endpoint(.limitReached), .endpoint(.allForbidden): true
    default: false
    }
  }
}

/// What is done to a worker process.
enum WorkerFault: String, CaseIterable, Sendable {
  /// SIGKILL.
  case killed = "worker-killed"
  /// SIGSTOP for longer than its lease, then SIGCONT.
  case frozen = "worker-frozen"
  /// SIGSTOP for less than its lease, then SIGCONT.
  case paused = "worker-paused"
  /// SIGTERM.
  case stopped = "worker-stopped"
  /// SIGTERM twice.
  case stoppedAtOnce = "worker-stopped-at-once"
  /// One more worker for a while.
  case added = "worker-added"
  /// One more worker that runs with `--drain` and is stopped soon, several times in a row.
  case drainsShortly = "worker-drains-shortly"
}

/// What is done to PostgreSQL.
enum ServerFault: String, CaseIterable, Sendable {
  case backendTerminated = "backend-terminated"
  case backendCancelled = "backend-cancelled"
  /// SIGKILL of a backend: the server cuts all others and recovers.
  case backendKilled = "backend-killed"
  /// SIGSTOP of a backend for a while.
  case backendFrozen = "backend-frozen"
  case fastRestart = "server-fast-restart"
  case immediateRestart = "server-immediate-restart"
  /// SIGKILL of the postmaster and its children, then a start.
  case killed = "server-killed"
  /// A lock on a hot table that stops everybody.
  case tableLocked = "table-locked"
  /// Two transactions that lock the same rows the other way round than the functions do.
  case deadlock = "deadlock"
  /// A snapshot that is held while everything goes on.
  case snapshotHeld = "snapshot-held"
  /// Statements are cut after a few milliseconds for a moment.
  case statementTimeout = "statement-timeout"
  /// Waits for a lock are cut after a few milliseconds, while a hot table is locked.
  case lockTimeout = "lock-timeout"
  /// Sessions that wait within a transaction are cut at once.
  case idleTimeout = "idle-in-transaction-timeout"
  /// No connection is free for a while.
  case connectionsExhausted = "connections-exhausted"

  var isHeavy: Bool {
    switch self {
    case .backendKilled, .fastRestart, .immediateRestart, .killed: true
    default: false
    }
  }
}

/// What the network does between half of the clients and PostgreSQL.
enum ConnectionFault: String, CaseIterable, Sendable {
  /// All connections are ended.
  case cut = "connections-cut"
  /// No byte passes for a while.
  case frozen = "network-frozen"
  /// No new connection is taken for a while, and the others are ended.
  case refused = "connections-refused"
  /// A submit, a store and the like never reach the server.
  case submitUnseen = "submit-cut-before"
  case storeUnseen = "store-cut-before"
  case commitUnseen = "commit-cut-before"
  /// The server has carried them out, and its answer never arrives.
  case submitUnheard = "submit-cut-after"
  case claimUnheard = "claim-cut-after"
  case storeUnheard = "store-cut-after"
  case failureUnheard = "failure-cut-after"
  case commitUnheard = "commit-cut-after"
}

/// What is done to the endpoint as a process.
enum EndpointFault: String, CaseIterable, Sendable {
  /// SIGKILL, and a start: its tokens are unknown then.
  case killed = "endpoint-killed"
  /// SIGTERM, and a start.
  case restarted = "endpoint-restarted"
  /// SIGSTOP for longer than a call may take.
  case frozen = "endpoint-frozen"
  /// It answers most calls with failures for a moment.
  case failing = "endpoint-failing"
  /// It refuses all for the service account's monthly limit for a moment.
  case limitReached = "endpoint-limit-reached"
  /// It refuses all as forbidden for a moment.
  case allForbidden = "endpoint-all-forbidden"
}

/// What operators do meanwhile.
enum OperatorAction: String, CaseIterable, Sendable {
  case cancelsJobs = "jobs-cancelled"
  case retriesDead = "dead-retried"
  /// Hundreds of jobs are scheduled for the same few seconds.
  case schedulesMany = "jobs-scheduled-in-mass"
  /// Whatever was submitted lately is cancelled.
  case cancelsMany = "jobs-cancelled-in-mass"
  case retriesMany = "dead-retried-in-mass"
  /// `analysisctl migrate`, twice at once.
  case migrates = "migrate-rerun"
  /// Plans and limits change.
  case changesPlans = "plans-changed"
  /// Reports and `reconcile` at the same time.
  case reports = "reports-at-once"
}

/// What is done in a transaction that stays open, some for longer than a lease, and is committed or rolled back in the
/// end.
enum OpenTransaction: String, CaseIterable, Sendable {
  /// A back-end submits jobs of three users.
  case submit = "submit-left-open"
  /// An operator cancels jobs.
  case cancel = "cancel-left-open"
  /// An operator retries dead jobs.
  case retry = "retry-left-open"
  /// A reporter opens a report with diagnoses, and has every constraint checked at once.
  case report = "report-left-open"
  /// A worker's login takes the locks that its rights allow.
  case worker = "worker-left-open"
  /// A privacy officer erases a person.
  case erasure = "erase-left-open"
}

/// What the random stress over all functions is made of.
enum StressPart: Hashable, Sendable {
  /// A session as the login of a role that calls whatever the login may call. That of the owner calls what any role may.
  case role(DatabaseRole)
  /// Backends of these sessions are terminated.
  case killer

  static let all = DatabaseRole.allCases.map { StressPart.role($0) } + [.killer]

  /// As it is written in options and tables.
  var name: String {
    switch self {
    case .role(let role): "stress-\(role.rawValue)"
    case .killer: "stress-killer"
    }
  }

  /// The login of its session.
  var login: String { name.replacing("-", with: "_") }
}
