import EventLoop
import HTTPTransfer
import PostgreSQL
import QueueTestSupport
import TestSupport

@testable import Endpoint
@testable import Queue
@testable import Support
@testable import Worker

/// A worker that runs within the test's process, on a loop of its own.
final class Running: Sendable {
  let counters: Counters
  let loop: EventLoop
  /// Its log so far.
  let log: MemorySink
  /// What it tells a monitoring system.
  let monitor: WorkerMonitor
  private let stops: AsyncStream<Void>.Continuation
  private let task: Task<WorkerSummary, any Error>

  /// The name under which the server knows its connections.
  static let applicationName = "worker-under-test"

  /// Starts a worker with short pauses; it is to be waited for by `summary`.
  ///
  /// - Parameter change: Changes its configuration.
  convenience init(
    _ queue: QueueFixture, _ backends: [AnalysisKind: Backend], credentials: Bool = false,
    _ change: (inout WorkerConfiguration) -> Void = { _ in }
  ) throws {
    var database = queue.database.configuration
    database.applicationName = Self.applicationName
    try self.init(database, backends.mapValues(\.url), credentials: credentials, change)
  }

  /// A worker that ends when the queue is empty.
  static func drain(
    _ queue: QueueFixture, _ backend: Backend, horizon: Duration = .seconds(60), credentials: Bool = false,
    _ change: (inout WorkerConfiguration) -> Void = { _ in }
  ) async throws -> WorkerSummary {
    try await Running(queue, [.throat: backend, .ear: backend], credentials: credentials) {
      $0.drainHorizon = horizon
      change(&$0)
    }.summary()
  }

  init(
    _ database: ConnectionConfiguration, _ addresses: [AnalysisKind: String], credentials: Bool = false,
    _ change: (inout WorkerConfiguration) -> Void = { _ in }
  ) throws {
    let loop = try EventLoop(name: "worker")
    let http = HTTPClient(loop: try EventLoop(name: "calls"))
    var configuration = WorkerConfiguration(database: database)
    configuration.concurrency = 4
    configuration.prefetch = 4
    configuration.idlePoll = .milliseconds(20)
    configuration.promoteEvery = .milliseconds(20)
    configuration.rescueEvery = .milliseconds(100)
    configuration.heartbeat = .milliseconds(200)
    // On a busy machine, too, what is said at the end is looked for by tests, no lease runs out and no statement is given
    // up, unless a test asks for it.
    configuration.shutdownGrace = patience
    configuration.leaseDuration = patience
    configuration.statementDeadline = patience
    configuration.listens = false
    configuration.retryPolicy = RetryPolicy(
      base: .milliseconds(1), cap: .milliseconds(1), freeCap: .milliseconds(1))
    change(&configuration)
    var account: (@Sendable () throws -> Credentials)?
    if credentials {
      account = { Credentials(email: "service@example.org", password: Secret("correct horse")) }
    }
    let clients = addresses.mapValues { [account] url in
      ModelClient(endpoint: Endpoint(name: url, baseURL: url), http: http, credentials: account)
    }
    let counters = Counters()
    let log = MemorySink()
    let worker = AnalysisWorker(
      configuration, clients: clients, loop: loop,
      log: Log(level: .info, format: .json, sink: log), counters: counters, host: "test", processID: 1,
      version: "1.0")
    let (stream, stops) = AsyncStream<Void>.makeStream()
    self.counters = counters
    monitor = worker.monitor
    self.loop = loop
    self.log = log
    self.stops = stops
    task = Task {
      do {
        let summary = try await worker.run(stops: stream)
        await http.close()
        return summary
      } catch {
        await http.close()
        throw error
      }
    }
  }

  deinit {
    // A test that failed in between leaves nothing running behind it.
    task.cancel()
    stops.finish()
  }

  /// Asks for a stop, as a signal does.
  func stop() { stops.yield() }

  /// Cancels the task that runs it.
  func cancel() { task.cancel() }

  /// How it ended.
  func summary() async throws -> WorkerSummary {
    let summary = try await task.value
    loop.shutdown()
    return summary
  }

  func count(_ name: String) -> Int { counters.counter(name).value }
  func gauge(_ name: String) -> Int { counters.gauge(name).value }
}
