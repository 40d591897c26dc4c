internal import Clibpq
internal import EventLoop
internal import Glibc
internal import Synchronization

/// One attempt to connect, on a thread of its own: libpq looks up names, reads the service, password and
/// certificate files and asks for tickets with calls that block, and may do so between any two steps.
final class ConnectAttempt: Sendable {
  typealias Outcome = Result<FreshConnection, PostgreSQLError>

  private enum State {
    case starting
    case waiting(CheckedContinuation<Outcome, Never>)
    case over
  }

  private let configuration: ConnectionConfiguration
  private let until: ContinuousClock.Instant
  private let state = Mutex(State.starting)

  init(_ configuration: ConnectionConfiguration, until: ContinuousClock.Instant) {
    self.configuration = configuration
    self.until = until
  }

  /// Connects, or says why not; at the time given at the latest, and soon after the task is cancelled.
  func run(on loop: EventLoop) async -> Outcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard begin(continuation) else { return }
        if !HelperThread.start({ self.finish(self.connect()) }) {
          finish(
            .failure(PostgreSQLError(.connectionFailed, "No connection: the system has no thread left.")))
        }
        // A name server that does not answer cannot be interrupted: the thread is left to it.
        loop.execute {
          _ = loop.schedule(after: self.until - EventLoop.now) { self.finish(.failure(self.timeout())) }
        }
      }
    } onCancel: {
      finish(.failure(PostgreSQLError(.cancelled, "Connecting was cancelled.")))
    }
  }

  private func begin(_ continuation: CheckedContinuation<Outcome, Never>) -> Bool {
    let begins = state.withLock { state in
      guard case .starting = state else { return false }
      state = .waiting(continuation)
      return true
    }
    if !begins {
      continuation.resume(returning: .failure(PostgreSQLError(.cancelled, "Connecting was cancelled.")))
    }
    return begins
  }

  /// Resumes the caller with the first outcome; a connection that comes later is closed by its `deinit`.
  private func finish(_ outcome: Outcome) {
    let continuation = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
      defer { state = .over }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(returning: outcome)
  }

  private var isOver: Bool {
    state.withLock { if case .over = $0 { true } else { false } }
  }

  private func timeout() -> PostgreSQLError {
    var error = PostgreSQLError(.connectionFailed, "No connection: \(ConnectionPhase.timeout).")
    error.phase = .timeout
    return error
  }
}

// MARK: - On the thread

extension ConnectAttempt {
  private func connect() -> Outcome {
    if let error = unreadableConninfo() { return .failure(error) }
    guard let connection = start() else {
      return .failure(PostgreSQLError(.connectionFailed, "No connection: out of memory."))
    }
    let notices = NoticeSink(configuration.onNotice)
    notices.install(on: connection)
    // libpq calls the sink by its address alone, until the connection is finished.
    return withExtendedLifetime(notices) {
      if let error = establish(connection) {
        PQfinish(connection)
        return .failure(error)
      }
      return .success(FreshConnection(connection, notices: notices))
    }
  }

  /// Takes the connection through all its steps; nil when it is up.
  private func establish(_ connection: OpaquePointer) -> PostgreSQLError? {
    // Only so is the SQLSTATE part of what libpq says of a refused connection.
    _ = PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
    guard PQstatus(connection) != CONNECTION_BAD else {
      return failure(connection, whenUnknown: .configuration)
    }
    if let error = poll(connection) { return error }
    return PQsetnonblocking(connection, 1) == 0 ? nil : failure(connection, whenUnknown: .interrupted)
  }

  /// A connection string that cannot be parsed is told apart here, where its words can be left out.
  private func unreadableConninfo() -> PostgreSQLError? {
    // A plain name is a database's, as everywhere in libpq.
    guard let conninfo = configuration.conninfo, conninfo.contains("=") || conninfo.contains("://") else {
      return nil
    }
    var message: UnsafeMutablePointer<CChar>?
    let options = PQconninfoParse(conninfo, &message)
    defer {
      PQconninfoFree(options)
      PQfreemem(message)
    }
    guard options == nil else { return nil }
    let words = message.map { String(cString: $0) } ?? "out of memory"
    var error = PostgreSQLError(
      .connectionFailed,
      "No connection: the connection string cannot be read: \(Redaction.withoutQuoted(words).trimmed).")
    error.phase = .configuration
    return error
  }

  private func start() -> OpaquePointer? {
    let parameters = configuration.parameters
    let keywords = parameters.map { strdup($0.keyword) }
    let values = parameters.map { strdup($0.value) }
    defer { for text in keywords + values { free(text) } }
    let terminated = { (list: [UnsafeMutablePointer<CChar>?]) in
      list.map { $0.map { UnsafePointer($0) } } + [nil]
    }
    return PQconnectStartParams(terminated(keywords), terminated(values), 1)
  }

  /// Runs the connection's steps until it is up; nil when it is.
  private func poll(_ connection: OpaquePointer) -> PostgreSQLError? {
    var events = Int16(POLLOUT)
    while true {
      guard !isOver else { return PostgreSQLError(.cancelled, "Connecting was given up.") }
      let left = until - EventLoop.now
      guard left > .zero else { return timeout() }
      var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
      // In slices, so that the thread notices when nobody waits for it any more.
      let slice = min(left, .milliseconds(100))
      let ready = Glibc.poll(&descriptor, 1, Int32(slice.components.attoseconds / 1_000_000_000_000_000) + 1)
      guard ready > 0 else { continue }
      switch PQconnectPoll(connection) {
      case PGRES_POLLING_OK: return nil
      case PGRES_POLLING_READING: events = Int16(POLLIN)
      case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
      default: return failure(connection, whenUnknown: .interrupted)
      }
    }
  }

  private func failure(_ connection: OpaquePointer, whenUnknown: ConnectionPhase) -> PostgreSQLError {
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    return ConnectFailure.error(message, whenUnknown: whenUnknown)
  }
}
