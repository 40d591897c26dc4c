import Foundation
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Queue
@testable import Support

/// A database with jobs, a service account, and worker processes that are led to a faulty backend; at its end every
/// invariant holds, and no secret stands in the log or in the database.
final class AccountInstallation: Sendable {
  let queue: QueueFixture
  /// The submitted jobs.
  let jobs: [JobID]
  private let folder: TemporaryFolder
  private let started = Mutex<[Executable]>([])

  static let email = "service.account@clinic.example"
  static let password = "Correct-Horse-77"
  /// What every token of the account begins with.
  static let token = "Secret-Token-Of-The-Account"
  static let user = "clinic-1"

  private init(_ queue: QueueFixture, _ jobs: [JobID]) throws {
    self.queue = queue
    self.jobs = jobs
    folder = try TemporaryFolder()
  }

  deinit {
    // A worker that still runs is killed with its last owner.
    for worker in started.withLock({ $0 }) { WrongClock.clean(after: worker.processID) }
  }

  /// Submits jobs, runs the body, and looks whether everything is sound.
  static func with(
    jobs: Int = 1, maxAttempts: Int = 2, _ location: SourceLocation = #_sourceLocation,
    _ body: (AccountInstallation) async throws -> Void
  ) async throws {
    let picture = try await drawnPicture()
    try await withQueue { queue in
      try await queue.addUser(user)
      let submitted = try await queue.submit(
        jobs, user: user, maxAttempts: maxAttempts, image: picture)
      let account = try AccountInstallation(queue, submitted)
      try await body(account)
      try await queue.expectSound(location)
      try await account.expectNoSecretStored(location)
    }
  }

  /// A backend at which the account can log in.
  static func backend(
    on port: ReservedPort? = nil,
    _ answer: @escaping @Sendable (Backend.Call) throws -> Backend.Reply = { .analysis($0) }
  ) throws -> Backend {
    try Backend(on: port, answer, login: { .token("\(token)-\($0)") })
  }

  // MARK: The worker

  /// The options of a worker that calls with the account's token, or without one.
  private func options(_ url: String, account: Bool) throws -> [String] {
    let plain = ["--endpoint", url, "--log-level", "debug"]
    guard account else { return plain }
    let file = folder.path("endpoint.credentials")
    // Written once: another worker may be reading it.
    if !FileManager.default.fileExists(atPath: file) {
      try Data("email = \(Self.email)\npassword = \(Self.password)\n".utf8).write(to: URL(filePath: file))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }
    return plain + ["--credentials", file]
  }

  /// Starts a worker.
  ///
  /// - Parameters:
  ///   - account: Whether it calls with the account's token.
  ///   - clock: The clock that it has; nil for the right one.
  func start(
    _ url: String, _ further: [String] = [], account: Bool = true, clock: WrongClock? = nil
  ) throws -> Executable {
    let (arguments, environment) = (try options(url, account: account) + further, queue.environment)
    let worker =
      if let clock {
        try clock.start("analysis-worker", arguments, environment: environment)
      } else {
        try Executable("analysis-worker", arguments, environment: environment)
      }
    started.withLock { $0.append(worker) }
    return worker
  }

  /// Runs a worker until nothing can run within the horizon.
  @discardableResult
  func drain(
    _ url: String, horizon: String = "30s", _ further: [String] = [], account: Bool = true,
    clock: WrongClock? = nil, _ location: SourceLocation = #_sourceLocation
  ) async throws -> Executable.Ended {
    let worker = try start(
      url, ["--drain", "--drain-horizon", horizon] + further, account: account, clock: clock)
    let ended = await worker.ended()
    expectNoSecret(ended, location)
    return ended
  }

  /// Stops a worker that runs on, and gives what it said.
  func stop(_ worker: Executable, _ location: SourceLocation = #_sourceLocation) async -> Executable.Ended {
    worker.send(SIGTERM)
    let ended = await worker.ended()
    #expect(ended.code == 0, "\(ended.messages)", sourceLocation: location)
    expectNoSecret(ended, location)
    return ended
  }

  private func expectNoSecret(_ ended: Executable.Ended, _ location: SourceLocation) {
    for secret in [Self.email, Self.password, Self.token] {
      #expect(
        !ended.messages.contains(secret) && !ended.output.contains(secret), "a secret was logged",
        sourceLocation: location)
    }
  }

  private func expectNoSecretStored(_ location: SourceLocation) async throws {
    for secret in [Self.email, Self.password, Self.token] {
      let found = try await queue.number(
        """
        SELECT (SELECT count(*) FROM analysis.attempt_error e WHERE strpos(e::text, '\(secret)') > 0)::int
             + (SELECT count(*) FROM analysis.dead d WHERE strpos(d::text, '\(secret)') > 0)::int
             + (SELECT count(*) FROM analysis.result r WHERE strpos(r::text, '\(secret)') > 0)::int
        """)
      #expect(found == 0, "a secret was stored", sourceLocation: location)
    }
  }

  // MARK: What became of the jobs

  /// An attempt that brought no result.
  struct Attempt: Equatable {
    var kind: String
    var status: Int?
    var code: String?
    var errorID: String?
    var message: String
    var consumed: Bool
    var maybeCounted: Bool
    var calls: Int
  }

  /// The attempts without a result that consumed, or all, in their order.
  func attempts(consumedOnly: Bool = false) async throws -> [Attempt] {
    try await queue.pool.query(
      """
      SELECT class, status::int, code, error_id, message, consumed, maybe_counted, calls::int
      FROM analysis.attempt_error WHERE consumed OR NOT \(consumedOnly) ORDER BY at, job_id
      """
    ).map { row in
      Attempt(
        kind: try row.string(0), status: try row.intIfPresent(1), code: try row.stringIfPresent(2),
        errorID: try row.stringIfPresent(3), message: try row.string(4), consumed: try row.bool(5),
        maybeCounted: try row.bool(6), calls: try row.int(7))
    }
  }

  /// How many jobs wait, unharmed by any attempt.
  var unharmed: Int {
    get async throws {
      try await queue.count("ready WHERE tries = 0") + queue.count("scheduled WHERE tries = 0")
    }
  }

  /// The calls that the database knows of: of attempts that failed, and of results.
  var recordedCalls: Int {
    get async throws {
      try await queue.number(
        "SELECT (SELECT coalesce(sum(calls), 0) FROM analysis.attempt_error)::int"
          + " + (SELECT coalesce(sum(calls), 0) FROM analysis.result)::int")
    }
  }
}
