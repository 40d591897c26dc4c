internal import Clibpq
internal import EventLoop
internal import Glibc

/// One attempt to connect, on a thread of its own: libpq looks up names, reads the service, password and
/// certificate files and asks for tickets with calls that block, and may do so between any two steps.
final class ConnectAttempt: Sendable {
  typealias Outcome = Result<FreshConnection, PostgreSQLError>

  private let configuration: ConnectionConfiguration
  private let until: ContinuousClock.Instant
  /// A connection that comes too late is closed by its `deinit`.
  private let outcome = FirstValue<Outcome>()

  init(_ configuration: ConnectionConfiguration, until: ContinuousClock.Instant) {
    self.configuration = configuration
    self.until = until
  }

  /// Connects, or says why not; at the time given at the latest, and soon after the task is cancelled.
  func run(on loop: EventLoop) async -> Outcome {
    await outcome.wait(cancelled: .failure(PostgreSQLError(.cancelled, "Connecting was cancelled."))) {
      if !HelperThread.start({ self.outcome.give(self.connect()) }) {
        outcome.give(
          .failure(PostgreSQLError(.connectionFailed, "No connection: the system has no thread left.")))
      }
      // A name server that does not answer cannot be interrupted: the thread is left to it. One that can
      // say more than that the time is over has the first word.
      loop.execute {
        _ = loop.schedule(after: self.until - EventLoop.now + .milliseconds(200)) {
          self.outcome.give(.failure(ConnectFailure.timeout(after: nil)))
        }
      }
    }
  }
}

// MARK: - On the thread

extension ConnectAttempt {
  private func connect() -> Outcome {
    // libpq reads it whenever it begins with a server, so it has to be there until the end.
    var credential: CredentialCopy?
    defer { withExtendedLifetime(credential) {} }
    do throws(PostgreSQLError) {
      var configuration = configuration
      credential = try settle(&configuration)
      var race = HostRace(configuration, until: until) { self.outcome.isOver }
      return .success(try race.run())
    } catch {
      return .failure(credential?.named(in: error) ?? error)
    }
  }

  /// Looks at what is given before anything is asked of a server.
  private func settle(
    _ configuration: inout ConnectionConfiguration
  ) throws(PostgreSQLError) -> CredentialCopy? {
    let settings = try configuration.conninfo.map(LibpqSettings.init(conninfo:))
    if let settings { try PasswordRule.check(conninfo: settings) }
    try PasswordRule.checkEnvironment(Self.variable)
    guard
      let file = configuration.keywords["passfile"] ?? settings?.values["passfile"]
        ?? Self.variable("PGPASSFILE"),
      let folder = Self.variable("CREDENTIALS_DIRECTORY"),
      let credential = CredentialCopy(of: file, in: folder)
    else { return nil }
    configuration.keywords["passfile"] = credential.path
    return credential
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}

/// An established connection on its way from the thread that made it to the loop that will use it.
///
/// Safe to send: it is given away exactly once (`take`), by the only thread that knows of it, and the
/// hand-over itself, through a mutex and a continuation, orders the two threads' accesses.
final class FreshConnection: @unchecked Sendable {
  private var pointer: OpaquePointer?
  let notices: NoticeSink

  init(_ pointer: OpaquePointer, notices: NoticeSink) {
    self.pointer = pointer
    self.notices = notices
  }

  deinit {
    if let pointer { PQfinish(pointer) }
  }

  /// The connection, which is now the caller's to finish; nil the second time.
  func take() -> OpaquePointer? {
    defer { pointer = nil }
    return pointer
  }
}

/// One connection on its way up, which goes through its servers by itself as long as each says something.
///
/// Used by one thread only.
final class ConnectCandidate {
  enum Step {
    case goesOn
    case up(FreshConnection)
    /// The servers have to prove more than was asked of them: begin anew, with these settings.
    case demands([String: String])
    /// Whether other servers are worth a try though libpq gave up.
    case failed(PostgreSQLError, othersMayDo: Bool)
  }

  /// Where it is, and since when.
  private(set) var host: HostList.Host
  private(set) var hostSince: ContinuousClock.Instant
  /// What it waits for.
  private(set) var events = Int16(POLLOUT)
  private let notices: NoticeSink
  private let proof: ServerProof
  /// Whether the server has to ask for a password.
  private let isAsked: Bool
  private var connection: OpaquePointer?

  /// - Parameter isExpanded: Whether the database's name may be a whole connection string.
  /// - Throws: When it fails at once, and when a password comes from where it may not.
  init(
    _ parameters: [(keyword: String, value: String)], isExpanded: Bool,
    _ configuration: ConnectionConfiguration
  ) throws(PostgreSQLError) {
    notices = NoticeSink(configuration.onNotice)
    proof = configuration.serverProof
    isAsked = configuration.login != nil
    host = HostList.Host(name: "", address: "", port: "")
    hostSince = EventLoop.now
    guard let connection = Self.start(parameters, isExpanded) else {
      throw PostgreSQLError(.connectionFailed, "No connection: out of memory.")
    }
    self.connection = connection
    // libpq calls the sink by its address alone; it lives as long as the connection.
    notices.install(on: connection)
    // Only so is the SQLSTATE part of what libpq says of a refused connection.
    _ = PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
    // Only libpq knows what it found in a service file, and where it looked for passwords.
    if isExpanded, let settings = LibpqSettings(of: connection) {
      try PasswordRule.check(settings, given: parameters.map(\.keyword))
    }
    guard PQstatus(connection) != CONNECTION_BAD else {
      throw failure(connection, whenUnknown: .configuration)
    }
    noteHost(connection)
  }

  deinit {
    if let connection { PQfinish(connection) }
  }

  /// What to poll; −1 when it is over.
  var descriptor: Int32 { connection.map { PQsocket($0) } ?? -1 }

  /// The servers it goes through.
  var servers: HostList? { connection.flatMap { LibpqSettings(of: $0) }.map(HostList.init) }

  /// Goes on when what it waits for has come.
  func step() -> Step {
    guard let connection else { return .goesOn }
    // Nothing that the server asks for has been read yet: libpq returns between each two of its messages.
    switch localVerdict(connection) {
    case .enough: break
    case .demands(let settings): return .demands(settings)
    case .refused(let reason): return .failed(unproven(reason), othersMayDo: true)
    }
    switch PQconnectPoll(connection) {
    case PGRES_POLLING_OK:
      guard !isAsked || PQconnectionUsedPassword(connection) == 1 else {
        return .failed(Self.unasked, othersMayDo: false)
      }
      guard PQsetnonblocking(connection, 1) == 0 else {
        return .failed(failure(connection, whenUnknown: .interrupted), othersMayDo: true)
      }
      self.connection = nil
      return .up(FreshConnection(connection, notices: notices))
    case PGRES_POLLING_READING: events = Int16(POLLIN)
    case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
    default:
      noteHost(connection)
      let error = failure(connection, whenUnknown: .interrupted)
      // libpq goes to the next server by itself when one refuses or is of the wrong kind, but not when one
      // hangs up or has no room, as a proxy before a dead server does.
      let phases: [ConnectionPhase] = [.interrupted, .startingUp, .tooManyClients]
      return .failed(error, othersMayDo: error.phase.map(phases.contains) ?? false)
    }
    noteHost(connection)
    return .goesOn
  }

  private func localVerdict(_ connection: OpaquePointer) -> LocalProof.Verdict {
    guard proof == .verified, let settings = LibpqSettings(of: connection) else { return .enough }
    return LocalProof(
      host: host, settings: settings.values, hasPassword: PQpass(connection).map { $0.pointee != 0 } ?? false,
      peer: host.isSocket ? LocalProof.peer(of: PQsocket(connection)) : nil
    ).verdict()
  }

  /// Who names a login has not shown that it is theirs.
  private static var unasked: PostgreSQLError {
    var error = PostgreSQLError(
      .connectionFailed,
      "No connection: the server lets the login in without asking for its password. Have pg_hba.conf, or the pooler's"
        + " auth_type, ask for it: scram-sha-256.")
    error.phase = .authentication
    return error
  }

  private func unproven(_ reason: String) -> PostgreSQLError {
    // A socket's owner may be another one later; settings stay what they are.
    let phase = host.isSocket ? ConnectionPhase.proof : .configuration
    var error = PostgreSQLError(
      .connectionFailed,
      "No connection: \(phase). At \(host.shown), port \(host.port), \(reason)."
        + (host.isSocket ? "" : " \(LocalProof.advice)"))
    error.phase = phase
    return error
  }

  private func noteHost(_ connection: OpaquePointer) {
    func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
    let now = HostList.Host(
      name: text(PQhost(connection)), address: text(PQhostaddr(connection)), port: text(PQport(connection)))
    guard now != host else { return }
    host = now
    hostSince = EventLoop.now
  }

  private static func start(
    _ parameters: [(keyword: String, value: String)], _ isExpanded: Bool
  ) -> OpaquePointer? {
    let keywords = parameters.map { strdup($0.keyword) }
    let values = parameters.map { strdup($0.value) }
    defer { for text in keywords + values { free(text) } }
    let terminated = { (list: [UnsafeMutablePointer<CChar>?]) in
      list.map { $0.map { UnsafePointer($0) } } + [nil]
    }
    return PQconnectStartParams(terminated(keywords), terminated(values), isExpanded ? 1 : 0)
  }

  private func failure(_ connection: OpaquePointer, whenUnknown: ConnectionPhase) -> PostgreSQLError {
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    return ConnectFailure.error(message, whenUnknown: whenUnknown)
  }
}
