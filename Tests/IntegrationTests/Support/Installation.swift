import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

/// The product as it is installed: a database with jobs, an endpoint that logs its calls, and its programs; at the end
/// every job has exactly one end, and every call is accounted for.
struct Installation {
  let queue: QueueFixture
  let endpoint: RunningEndpoint
  let user = "clinic-1"
  /// The submitted jobs.
  let jobs: [JobID]

  /// How many calls a worker has in flight, and as many jobs more it holds.
  static let concurrency = 4

  /// Makes a database with jobs of one user and runs the body.
  static func with(
    jobs: Int, maxAttempts: Int = 10, endpoint arguments: [String] = ["--delay", "20ms"],
    _ body: (Installation) async throws -> Void
  ) async throws {
    try await withQueue { queue in
      try await with(queue, jobs: jobs, maxAttempts: maxAttempts, endpoint: arguments, body)
    }
  }

  /// The same in a database that is there.
  static func with(
    _ queue: QueueFixture, jobs: Int, maxAttempts: Int = 10, endpoint arguments: [String],
    _ body: (Installation) async throws -> Void
  ) async throws {
    let picture = try await drawnPicture()
    try await RunningEndpoint.with(arguments) { endpoint in
      try await queue.addUser("clinic-1")
      let jobs = try await queue.submit(jobs, user: "clinic-1", maxAttempts: maxAttempts, image: picture)
      try await body(Installation(queue: queue, endpoint: endpoint, jobs: jobs))
    }
  }

  /// The same with programs that reach the database through a pooler in transaction mode only; the test itself
  /// looks past it.
  static func pooled(
    jobs: Int, settings: [String: String] = [:], _ body: (Installation, Pooler) async throws -> Void
  ) async throws {
    try await withQueue { direct in
      try await withPooler(before: direct.database.name, settings: settings) { pooler in
        let queue = direct.reached(by: pooler.conninfo(database: direct.database.name))
        try await with(queue, jobs: jobs, endpoint: ["--delay", "20ms"]) { try await body($0, pooler) }
      }
    }
  }

  // MARK: What is submitted

  /// Submits more jobs of the same user and picture.
  func submitFurther(_ count: Int) async throws -> [JobID] {
    try await queue.submit(count, user: user, image: drawnPicture())
  }

  /// What submits the good sample pictures under a key of the run, paid for already or not.
  func submission(_ further: [String] = [], key: String = "run-1") async throws -> [String] {
    let folder = try await drawnPictures.folder()
    let good = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { $0.hasPrefix("throat-") || $0.hasPrefix("ear-") }
    return ["submit", "--user", user, "--type", "throat", "--key", key, "--again", "--json"] + further
      + good.map { folder.appending(path: $0).path }
  }

  /// Runs `analysisctl` to its end.
  func control(_ arguments: [String]) async throws -> Executable.Ended {
    try await Executable("analysisctl", arguments, environment: queue.environment).ended()
  }

  // MARK: The workers

  /// Starts a worker that holds few jobs.
  ///
  /// - Parameters:
  ///   - concurrency: How many calls it may have in flight, and how many jobs more it holds.
  ///   - lease: Short for one that is to be lost, so that its jobs come back soon; nil for the default,
  ///     which a worker keeps on a busy machine too.
  ///   - failpoints: Where it fails.
  func worker(
    _ further: [String] = [], concurrency: Int = concurrency, leaseDuration: String? = nil,
    failpoints: String? = nil, script: String? = nil
  ) throws -> Executable {
    var options = [
      "--endpoint", endpoint.url, "--concurrency", "\(concurrency)", "--prefetch", "\(concurrency)",
    ]
    if let leaseDuration { options += ["--lease", leaseDuration] }
    var environment = queue.environment
    environment["ANALYSIS_FAILPOINTS"] = failpoints
    return try Executable("analysis-worker", options + further, environment: environment, script: script)
  }

  /// Runs a worker that nothing strikes until the queue is empty.
  ///
  /// - Parameter concurrency: More for many jobs.
  func drain(
    concurrency: Int = concurrency, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let heir = try worker(["--drain", "--drain-horizon", "60s"], concurrency: concurrency)
    let ended = await heir.ended()
    #expect(ended.code == 0, "\(ended.messages)", sourceLocation: location)
  }

  /// Stops a worker in order; it must have lived until then.
  func stop(_ worker: Executable, _ location: SourceLocation = #_sourceLocation) async {
    #expect(!worker.hasEnded, "\(worker.messagesSoFar)", sourceLocation: location)
    worker.send(SIGTERM)
    let ended = await worker.ended()
    #expect(ended.code == 0, "\(ended.messages)", sourceLocation: location)
  }

  // MARK: What is there

  /// Whether so many jobs have a result or are dead.
  func hasEnded(jobs count: Int) async throws -> Bool {
    try await queue.count("result") + queue.count("dead") == count
  }

  /// Jobs in somebody's hands.
  var held: Int {
    get async throws {
      try await queue.number(
        "SELECT coalesce(sum(cardinality(job_ids)), 0)::int FROM analysis.lease")
    }
  }

  /// A result as it is stored.
  struct Row: Equatable {
    let job: JobID
    let text: String
  }

  /// Every result, each with all that is stored of it.
  var rows: [Row] {
    get async throws {
      try await queue.pool.query("SELECT job_id, r::text FROM analysis.result r ORDER BY 1").map {
        Row(job: JobID(try $0.int64(0)), text: try $0.string(1))
      }
    }
  }

  /// The counts in the line that a worker logs when it has stopped.
  func lastWords(of ended: Executable.Ended) throws -> [String: Int] {
    let line = ended.messages.split(separator: "\n").last { $0.contains("The worker has stopped") }
    let text = Data(try #require(line, "\(ended.messages)").utf8)
    let fields = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
    return fields.compactMapValues { $0 as? Int }
  }

  /// Lets the leases of a worker that has died run out at once instead of when their time is over.
  func expireLeases(of dead: Executable.Ended) async throws {
    let line = dead.messages.split(separator: "\n").first { $0.contains("The worker runs") }
    let text = Data(try #require(line, "\(dead.messages)").utf8)
    let fields = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
    let id = try #require(fields["worker"] as? Int)
    _ = try await queue.pool.query(
      "UPDATE analysis.lease SET deadline = '-infinity' WHERE worker_id = \(id)")
  }

  /// Jobs in a worker's hands.
  func held(by worker: Executable) async throws -> Int {
    try await queue.number(
      """
      SELECT coalesce(sum(cardinality(b.job_ids)), 0)::int
      FROM analysis.lease b JOIN analysis.worker w ON w.shard = b.shard AND w.id = b.worker_id
      WHERE w.pid = \(worker.processID)
      """)
  }

  /// How often the endpoint was called for each job.
  var calls: [JobID: Int] {
    get throws {
      var calls: [JobID: Int] = [:]
      for call in try endpoint.calls {
        let key = try #require(call["key"] as? String)
        let number = try #require(key.split(separator: "-").last)
        let job = try #require(JobID(String(number)))
        calls[job, default: 0] += 1
      }
      return calls
    }
  }

  // MARK: What must hold at the end

  /// Every job has one result, but for those that are dead; the unit of each result is counted, those of the
  /// dead given back; and the endpoint was called for a job no more often than its attempts say.
  ///
  /// - Parameters:
  ///   - later: Jobs that were submitted besides.
  ///   - crashes: How often the server lost claims: each may have cost a job a call more.
  func expectEachEnded(
    dead: [JobID] = [], also later: [JobID] = [], unrecorded: Int = 0, crashes: Int = 0,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let done = Set(try await ids("SELECT job_id FROM analysis.result WHERE outcome = 1"))
    #expect(done == Set(jobs + later).subtracting(dead), sourceLocation: location)
    #expect(try await ids("SELECT job_id FROM analysis.dead ORDER BY 1") == dead, sourceLocation: location)
    #expect(try await queue.units == done.count, sourceLocation: location)
    try await queue.expectSound(location)
    try await expectCallsRecorded(crashes, location)
  }

  /// No job has paid an attempt for what befell its worker.
  func expectNoAttemptConsumed(_ location: SourceLocation = #_sourceLocation) async throws {
    #expect(try await queue.count("attempt_error WHERE consumed") == 0, sourceLocation: location)
    #expect(try await queue.count("result WHERE attempt <> 1") == 0, sourceLocation: location)
  }

  private func expectCallsRecorded(_ crashes: Int, _ location: SourceLocation) async throws {
    let rows = try await queue.pool.query(
      """
      SELECT id, sum(calls)::int FROM (
        SELECT job_id AS id, calls FROM analysis.result
        UNION ALL SELECT job_id, calls FROM analysis.attempt_error) recorded GROUP BY id
      """
    ).map { (JobID(try $0.int64(0)), try $0.int(1)) }
    let recorded = Dictionary(uniqueKeysWithValues: rows)
    let missing = try calls.filter { job, count in count > recorded[job, default: 0] + crashes }
    #expect(missing.isEmpty, "calls that no attempt records", sourceLocation: location)
  }

  private func ids(_ sql: String) async throws -> [JobID] {
    try await queue.pool.query(sql).map { JobID(try $0.int64(0)) }
  }
}
