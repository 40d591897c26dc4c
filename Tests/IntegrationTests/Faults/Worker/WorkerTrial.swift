import AnalysisCore
import Foundation
import JobQueue
import PostgreSQL
import TestSupport
import Testing

/// Jobs in a database of the test's own, an endpoint that logs its calls, and worker processes that are
/// struck; at its end every job has exactly one end, and every call is accounted for.
struct WorkerTrial {
  let installation: Installation
  let endpoint: RunningEndpoint
  let user = "clinic-1"
  /// The submitted jobs.
  let jobs: [JobID]

  /// How many calls a worker of these trials has in flight, and as many jobs more it holds.
  static let concurrency = 4

  /// Submits jobs of one user and runs the body.
  static func with(
    jobs: Int, maxAttempts: Int = 10, endpoint arguments: [String] = ["--delay", "20ms"],
    _ body: (WorkerTrial) async throws -> Void
  ) async throws {
    let picture = try await drawnPicture()
    try await Installation.with { installation in
      try await RunningEndpoint.with(arguments) { endpoint in
        try await installation.addUser("clinic-1")
        let submitted =
          jobs == 0
          ? []
          : try await installation.submit(jobs, user: "clinic-1", maxAttempts: maxAttempts, image: picture)
        try #require(submitted.count == jobs)
        try await body(WorkerTrial(installation: installation, endpoint: endpoint, jobs: submitted))
      }
    }
  }

  /// Submits more jobs of the same user and picture.
  func submitFurther(_ count: Int) async throws -> [JobID] {
    try await installation.submit(count, user: user, image: drawnPicture())
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
    var environment = installation.environment
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

  // MARK: What is there

  /// Results that are stored.
  var results: Int {
    get async throws {
      try await installation.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1")
    }
  }

  /// Whether so many jobs have a result or are dead.
  func hasEnded(jobs count: Int) async throws -> Bool {
    try await installation.number(
      "SELECT ((SELECT count(*) FROM analysis.result) + (SELECT count(*) FROM analysis.dead))::int") == count
  }

  /// Jobs in somebody's hands.
  var held: Int {
    get async throws {
      try await installation.number(
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
      try await installation.pool.query("SELECT job_id, r::text FROM analysis.result r ORDER BY 1").map {
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
    _ = try await installation.pool.query(
      "UPDATE analysis.lease SET deadline = '-infinity' WHERE worker_id = \(id)")
  }

  /// Jobs in a worker's hands.
  func held(by worker: Executable) async throws -> Int {
    try await installation.number(
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
  /// - Parameter later: Jobs that were submitted besides.
  func expectEachEnded(
    dead: [JobID] = [], also later: [JobID] = [], unrecorded: Int = 0,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let done = Set(try await ids("SELECT job_id FROM analysis.result WHERE outcome = 1"))
    #expect(done == Set(jobs + later).subtracting(dead), sourceLocation: location)
    #expect(try await ids("SELECT job_id FROM analysis.dead ORDER BY 1") == dead, sourceLocation: location)
    let units = try await installation.number(
      """
      SELECT (SELECT coalesce(sum(used), 0) FROM analysis.usage)::int
        - (SELECT count(*) FROM analysis.refund)::int
      """)
    #expect(units == done.count, sourceLocation: location)
    try await installation.expectInvariants(location)
    try await expectCallsRecorded(location)
  }

  /// No job has paid an attempt for what befell its worker.
  func expectNoAttemptConsumed(_ location: SourceLocation = #_sourceLocation) async throws {
    #expect(
      try await installation.number("SELECT count(*)::int FROM analysis.attempt_error WHERE consumed") == 0,
      sourceLocation: location)
    #expect(
      try await installation.number("SELECT count(*)::int FROM analysis.result WHERE attempt <> 1") == 0,
      sourceLocation: location)
  }

  private func expectCallsRecorded(_ location: SourceLocation) async throws {
    let recorded = try await installation.pool.query(
      """
      SELECT id, sum(calls)::int FROM (
        SELECT job_id AS id, calls FROM analysis.result
        UNION ALL SELECT job_id, calls FROM analysis.attempt_error) told GROUP BY id
      """
    ).map { (JobID(try $0.int64(0)), try $0.int(1)) }
    let told = Dictionary(uniqueKeysWithValues: recorded)
    let untold = try calls.filter { job, count in count > told[job] ?? 0 }
    #expect(untold.isEmpty, "calls that no attempt tells of", sourceLocation: location)
  }

  private func ids(_ sql: String) async throws -> [JobID] {
    try await installation.pool.query(sql).map { JobID(try $0.int64(0)) }
  }
}
