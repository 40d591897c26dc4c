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
        // A name server that does not answer cannot be interrupted: the thread is left to it. One that can
        // say more than that the time is over has the first word.
        loop.execute {
          _ = loop.schedule(after: self.until - EventLoop.now + .milliseconds(200)) {
            self.finish(.failure(ConnectFailure.timeout(after: nil)))
          }
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
      var race = HostRace(configuration, until: until) { self.isOver }
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
