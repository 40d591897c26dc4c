public import EventLoop

/// A few connections that are made when they are first needed, borrowed one call at a time, and replaced
/// when they are lost.
///
/// Who finds all of them borrowed waits in line, in the order of arrival, until its deadline.
public actor ConnectionPool: Queryable {
  /// What the connections are made with.
  public nonisolated let configuration: ConnectionConfiguration
  /// The loop of the pool and its connections.
  public nonisolated let loop: EventLoop
  /// How many connections there may be at once.
  public nonisolated let size: Int

  private let reconnect: ReconnectPolicy
  private let longestLife: Duration?
  private let gate: ConnectionGate
  private var idle: [Connection] = []
  private var lastID: UInt64 = 0
  /// Who is on the way into the line or in it, and why it is not to wait any longer.
  private var waiting: [UInt64: PostgreSQLError?] = [:]
  private var isClosed = false

  /// The loop.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// A pool; nothing is connected before the first call.
  ///
  /// - Parameter longestLife: How old a connection becomes, but for the call that has it then; nil for any age.
  public init(
    _ configuration: ConnectionConfiguration = ConnectionConfiguration(), on loop: EventLoop, size: Int = 4,
    reconnect: ReconnectPolicy = .failAtOnce, longestLife: Duration? = nil
  ) {
    precondition(size > 0, "A pool has at least one connection.")
    self.configuration = configuration
    self.loop = loop
    self.size = size
    self.reconnect = reconnect
    self.longestLife = longestLife
    gate = ConnectionGate(capacity: size)
  }

  /// The configuration's.
  public nonisolated var defaultDeadline: Duration { configuration.defaultDeadline }

  /// Closes the idle connections at once and the borrowed ones as they come back; calls that wait or come
  /// later fail with `closed`. Does nothing twice.
  public func close() async {
    isClosed = true
    gate.close(closedError)
    await closeIdle()
  }

  /// Closes the idle connections; later calls make new ones. The connections of a server that is frozen show no error, and
  /// each would be waited for until the deadline of the first call that takes it.
  package func closeIdle() async {
    let connections = idle
    idle = []
    for connection in connections { await connection.close() }
  }

  /// Takes a connection that is up, or makes one; used by the calls of `Queryable`.
  ///
  /// - Throws: `connectionFailed`, `deadlineExceeded`, `cancelled` or `closed`.
  public func lend(until: ContinuousClock.Instant) async throws(PostgreSQLError) -> ConnectionScope {
    try await enter(until)
    while let connection = idle.popLast() {
      if connection.isUsable { return ConnectionScope(connection: connection) }
    }
    do throws(PostgreSQLError) {
      return ConnectionScope(connection: try await connect(until))
    } catch {
      gate.leave()
      throw error
    }
  }

  /// Takes a connection back; one that is lost, or still holds something of its user's, is closed. With one that is lost the
  /// idle ones go.
  public func giveBack(_ scope: ConnectionScope) async {
    let connection = scope.connection
    if !connection.isUsable { await closeIdle() }
    if connection.isUsable, connection.condition.isClean, !isClosed, !isOld(connection) {
      idle.append(connection)
    } else {
      await connection.close()
    }
    gate.leave()
  }

  private func isOld(_ connection: Connection) -> Bool {
    longestLife.map { EventLoop.now - connection.madeAt >= $0 } ?? false
  }

  /// Closes a connection at the end of its life; one that is lent is closed when it comes back.
  private func retire(_ connection: Connection) {
    guard let index = idle.firstIndex(where: { $0 === connection }) else { return }
    idle.remove(at: index)
    connection.assumeIsolated { $0.close() }
  }

  private var closedError: PostgreSQLError {
    PostgreSQLError(.closed, "The connection pool was closed.")
  }

  // MARK: The line

  private func enter(_ until: ContinuousClock.Instant) async throws(PostgreSQLError) {
    if Task.isCancelled { throw PostgreSQLError(.cancelled, "Waiting for a connection was cancelled.") }
    lastID += 1
    let id = lastID
    waiting[id] = .some(nil)
    let timer = loop.schedule(after: until - EventLoop.now) { [weak self] in
      self?.assumeIsolated {
        $0.sendAway(
          id, PostgreSQLError(.deadlineExceeded, "The deadline passed while waiting for a connection."))
      }
    }
    let refusal = await withTaskCancellationHandler {
      await gate.enter(id) { waiting[id] ?? nil }
    } onCancel: {
      loop.execute {
        self.assumeIsolated {
          $0.sendAway(id, PostgreSQLError(.cancelled, "Waiting for a connection was cancelled."))
        }
      }
    }
    loop.cancel(timer)
    waiting[id] = nil
    if let refusal { throw refusal }
  }

  private func sendAway(_ id: UInt64, _ error: PostgreSQLError) {
    guard waiting[id] != nil else { return }
    waiting[id] = error
    gate.remove(id, error)
  }

  // MARK: Connecting

  private func connect(_ until: ContinuousClock.Instant) async throws(PostgreSQLError) -> Connection {
    var attempt = 0
    while true {
      attempt += 1
      do throws(PostgreSQLError) {
        let limit = min(until, EventLoop.now + configuration.connectTimeout)
        let connection = try await Connection.connect(configuration, on: loop, until: limit, settled: until)
        guard isClosed else {
          if let longestLife {
            _ = loop.schedule(after: longestLife) { [weak self, weak connection] in
              guard let connection else { return }
              self?.assumeIsolated { $0.retire(connection) }
            }
          }
          return connection
        }
        await connection.close()
        throw closedError
      } catch {
        guard error.code == .connectionFailed, error.isTransient, let delay = reconnect.delay?(attempt),
          EventLoop.now + delay < until
        else { throw error }
        do throws(CancellationError) {
          try await loop.sleep(for: delay)
        } catch {
          throw PostgreSQLError(.cancelled, "Connecting was cancelled.")
        }
      }
    }
  }
}

extension ConnectionPool {
  /// Lends one connection for as long as the closure runs.
  ///
  /// - Parameter deadline: Of the wait for a connection, not of the closure.
  /// - Throws: What the closure threw, or why there is no connection.
  public nonisolated func withConnection<R>(
    deadline: Duration? = nil, _ body: (Connection) async throws -> R
  ) async throws -> R {
    try await lendingAny(deadline) { scope, _ in try await body(scope.connection) }
  }

  /// Runs a closure in a transaction on one of the connections; see `Connection.transaction`.
  ///
  /// - Parameter deadline: Of the whole transaction and the wait for a connection; nil leaves each
  ///   statement, and the wait, to the default.
  /// - Throws: What the closure threw, `commitFailed`, or why there is no connection or transaction.
  public nonisolated func transaction<R>(
    isolation: IsolationLevel? = nil, readOnly: Bool = false, deadline: Duration? = nil,
    _ body: (Transaction) async throws -> R
  ) async throws -> R {
    try await lendingAny(deadline) { scope, until in
      try await scope.connection.transaction(
        isolation: isolation, readOnly: readOnly,
        deadline: deadline.map { _ in until - ContinuousClock.now }, body)
    }
  }

  /// Runs a closure with connections to that of its servers which takes changes, for what a standby refused or broke off.
  ///
  /// - Parameters:
  ///   - deadline: How long one is looked for, as while a standby takes over.
  ///   - failure: What is thrown where there is none.
  public nonisolated func withPrimary<R>(
    deadline: Duration, after failure: any Error, _ body: (ConnectionPool) async throws -> R
  ) async throws -> R {
    var configuration = configuration
    configuration.keywords["target_session_attrs"] = "read-write"
    let primary = ConnectionPool(configuration, on: loop, size: size, reconnect: .retry)
    let outcome: Result<R, any Error>
    do {
      guard (try? await primary.withConnection(deadline: deadline, { _ in })) != nil else { throw failure }
      outcome = .success(try await body(primary))
    } catch {
      outcome = .failure(error)
    }
    await primary.close()
    return try outcome.get()
  }
}

/// What a pool does when the server cannot be reached.
public struct ReconnectPolicy: Sendable {
  /// The wait after each failed attempt, counted from 1; nil gives up at the first.
  let delay: (@Sendable (_ attempt: Int) -> Duration)?

  /// The error goes to the caller at once: for commands that a person waits for.
  public static let failAtOnce = ReconnectPolicy(delay: nil)

  /// Attempts go on until the caller's deadline, with full jitter under a bound that doubles from 50 ms to
  /// 5 s, so that the workers of a restarted server do not come all at once. What waiting cannot cure (a
  /// wrong password, a missing database) is thrown at once.
  public static let retry = ReconnectPolicy.retry { attempt in
    let bound = min(5000, 50 << min(attempt - 1, 10))
    return .milliseconds(Int.random(in: 0...bound))
  }

  /// The same with waits of the caller's choice.
  public static func retry(_ delay: @escaping @Sendable (_ attempt: Int) -> Duration) -> ReconnectPolicy {
    ReconnectPolicy(delay: delay)
  }
}
