internal import Clibpq
public import EventLoop
internal import Synchronization

/// A connection to a PostgreSQL server, whose executor is an event loop.
///
/// Calls may come from any number of tasks; each has the connection for itself, in the order of arrival.
/// Each has a deadline, and ends soon after its task is cancelled: the server is asked to stop, and what
/// it still sends is read to its end, so that the connection can be used again; if the server does not
/// obey within `cancelGrace`, the connection is dropped. A connection that is lost or closed stays so.
///
/// It must be released, or closed, before its loop is shut down.
public actor Connection: Queryable {
  /// The loop on which the connection waits.
  public nonisolated let loop: EventLoop
  /// What the connection was made with.
  public nonisolated let configuration: ConnectionConfiguration
  /// The server's version, for instance 150018 for 15.18.
  public nonisolated let serverVersion: Int
  /// The number of the server's process for this connection, as in `pg_stat_activity`.
  public nonisolated let backendPID: Int32

  nonisolated let condition = ConnectionCondition()
  nonisolated let madeAt = EventLoop.now
  let wire: Wire
  let root = ConnectionGate()
  /// The lines of open transactions, by scope.
  var scopes: [UInt64: ConnectionGate] = [:]
  var operations: [UInt64: Operation] = [:]
  /// The operation that has the wire.
  var current: Operation?
  private var lastID: UInt64 = 0
  /// Why the connection is gone.
  private(set) var loss: PostgreSQLError?
  private var waiter: (continuation: CheckedContinuation<Void, Never>, forResult: Bool)?
  /// Something has happened since anybody last waited.
  private var hasNews = false
  /// The server was made read-only, or somebody wrote in a transaction that may not: a pool is to connect
  /// anew, perhaps to another server.
  var hasMetReadOnly = false
  var prepared = PreparedStatements()
  var listeners: [String: [UInt64: AsyncStream<Notification>.Continuation]] = [:]
  private var closeWaiters: [CheckedContinuation<Void, Never>] = []

  /// The loop.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// Connects.
  ///
  /// - Throws: `connectionFailed` with a phase, or `cancelled`.
  public static func connect(
    _ configuration: ConnectionConfiguration = ConnectionConfiguration(), on loop: EventLoop
  ) async throws(PostgreSQLError) -> Connection {
    let until = EventLoop.now + configuration.connectTimeout
    return try await connect(
      configuration, on: loop, until: until,
      settled: max(until, EventLoop.now + configuration.defaultDeadline))
  }

  /// - Parameters:
  ///   - until: When it has to be up.
  ///   - settled: When its first answer has to be there, for which a pooler may let it wait.
  static func connect(
    _ configuration: ConnectionConfiguration, on loop: EventLoop, until: ContinuousClock.Instant,
    settled: ContinuousClock.Instant
  ) async throws(PostgreSQLError) -> Connection {
    let outcome = await ConnectAttempt(configuration, until: until).run(on: loop)
    if let tell = configuration.onConnect {
      if case .failure(let error) = outcome { tell(error) } else { tell(nil) }
    }
    let fresh = try outcome.get()
    let connection = Connection(fresh, configuration, loop)
    await connection.start()
    try await connection.settle(until: settled)
    return connection
  }

  private init(_ fresh: FreshConnection, _ configuration: ConnectionConfiguration, _ loop: EventLoop) {
    self.loop = loop
    self.configuration = configuration
    let wire = Wire(fresh, on: loop)
    serverVersion = wire.serverVersion
    backendPID = wire.backendPID
    self.wire = wire
  }

  isolated deinit {
    wire.close()
    for streams in listeners.values { for stream in streams.values { stream.finish() } }
  }

  private func start() {
    wire.startReading { [weak self] readiness in
      self?.assumeIsolated { $0.ready(readiness) }
    }
  }

  // MARK: State

  /// Whether the connection is up; a connection lost while nobody uses it is noticed at once.
  public nonisolated var isUsable: Bool { condition.isUsable }

  /// A setting that the server reports by itself, such as `TimeZone`.
  public func parameterStatus(_ name: String) -> String? {
    wire.parameterStatus(name)
  }

  /// Whether the server is a standby, as it last said; a pooler says nothing of it.
  public var isStandby: Bool { parameterStatus("in_hot_standby") == "on" }

  /// Ends the connection; calls that are running or waiting fail with `closed`. Does nothing twice.
  public func close() {
    lose(PostgreSQLError(.closed, "The connection was closed."))
  }

  /// Returns when the connection is gone, whether lost or closed.
  public func closed() async {
    await withCheckedContinuation { continuation in
      if loss == nil { closeWaiters.append(continuation) } else { continuation.resume() }
    }
  }

  func nextID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Gives the connection up, for all who use it or wait for it.
  func lose(_ error: PostgreSQLError) {
    guard loss == nil else { return }
    loss = error
    condition.isUsable = false
    wire.close()
    root.close(error)
    for gate in scopes.values { gate.close(error) }
    for streams in listeners.values { for stream in streams.values { stream.finish() } }
    listeners = [:]
    for waiter in closeWaiters { waiter.resume() }
    closeWaiters = []
    wake()
  }

  /// Gives the connection up because reading or writing failed.
  func loseFailed() {
    if let lastMessage = wire.notices.lastMessage { return lose(lastMessage) }
    let message = wire.failureText
    lose(
      PostgreSQLError(.connectionLost, message.isEmpty ? "The connection to the server was lost." : message))
  }

  // MARK: Waiting

  /// Waits until something has come from the server, been sent, or changed otherwise; the caller looks
  /// whether it is what it waits for.
  ///
  /// - Parameter forResult: Whether only a whole result is of interest, not every part of it.
  func pause(forResult: Bool = false) async {
    await withCheckedContinuation { continuation in
      wire.resumeReading()
      if hasNews || !wire.isOpen || wire.hasFailed {
        hasNews = false
        continuation.resume()
      } else {
        waiter = (continuation, forResult)
      }
    }
  }

  func wake() {
    guard let waiting = waiter else {
      hasNews = true
      return
    }
    waiter = nil
    waiting.continuation.resume()
  }

  private func ready(_ readiness: Readiness) {
    guard wire.isOpen else { return }
    if waiter == nil, current?.kind == .stream || current?.kind == .copyOut {
      // The reader is busy with the last rows: the server is to wait.
      wire.pauseReading()
      return
    }
    if readiness.contains(.write) { wire.flush() }
    if !readiness.isDisjoint(with: [.read, .hangup, .error]) { wire.consume() }
    wire.notifications(deliver)
    if wire.hasFailed, current == nil { return loseFailed() }
    if let waiter, waiter.forResult, wire.isBusy { return }
    wake()
  }
}

/// What others may ask of a connection without waiting for it.
final class ConnectionCondition: Sendable {
  private let usable = Atomic(true)
  private let clean = Atomic(true)

  /// Whether the connection is up.
  var isUsable: Bool {
    get { usable.load(ordering: .acquiring) }
    set { usable.store(newValue, ordering: .releasing) }
  }

  /// Whether it holds nothing of its last user's: no open transaction, no channel listened to.
  var isClean: Bool {
    get { clean.load(ordering: .acquiring) }
    set { clean.store(newValue, ordering: .releasing) }
  }
}

extension Connection {
  /// What the server keeps of a login's password (SCRAM-SHA-256), made here so that the password itself is never sent.
  public func hash(ofPassword password: String, for login: String) throws(PostgreSQLError) -> String {
    guard let hash = wire.hash(ofPassword: password, for: login) else {
      throw PostgreSQLError(.misuse, "The password cannot be hashed: \(wire.failureText)")
    }
    return hash
  }
}
