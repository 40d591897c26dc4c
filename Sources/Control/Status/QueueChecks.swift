import PostgreSQL
import Support

/// Whether jobs come to an end.
struct QueueChecks: DatabaseCheck {
  let group = "queue"
  let needsSchema = true

  /// How long after its end a lease may be found: rescue looks every few seconds.
  private static let patience = 30.0

  /// Jobs that died by one cause.
  struct Deaths: Sendable, Equatable {
    let cause: String
    let code: String?
    let count: Int
    /// One of them, to be looked at.
    let example: Int64
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("overdue", [.double(Self.patience)]).single()
    let overdue = Self.overdue(
      leases: try row.int(0), jobs: try row.int(1), seconds: try row.doubleIfPresent(2))
    let deaths = try await database.rows("deaths").map { row in
      Deaths(
        cause: try row.string(0), code: try row.stringIfPresent(1), count: try row.int(2),
        example: try row.int64(3))
    }
    return [overdue] + Self.judge(deaths)
  }

  static func overdue(leases: Int, jobs: Int, seconds: Double?) -> Finding {
    guard leases > 0 else { return .ok("queue.leases", "no lease is overdue") }
    return .wrong(
      "queue.leases",
      "\(leases) leases with \(jobs) jobs ran out up to \(Moment.age(seconds)) ago and nobody has taken them back",
      "Any worker that runs does it within seconds: start one, or see in its log what keeps it from doing so."
    )
  }

  static func judge(_ deaths: [Deaths]) -> [Finding] {
    guard !deaths.isEmpty else { return [.ok("queue.dead", "no job died in the last day")] }
    return deaths.map { deaths in
      let cause = [deaths.cause, deaths.code].compactMap { $0 }.joined(separator: " ")
      return .warning(
        "queue.dead", "\(deaths.count) jobs died in the last day: \(cause)",
        "Look at one: analysisctl jobs show \(deaths.example). When the cause has gone: analysisctl jobs retry."
      )
    }
  }
}

/// Whether the counters that bills stand on agree with the jobs, and every job is somewhere.
struct ReconcileCheck: DatabaseCheck {
  let group = "counters"
  let needsSchema = true

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let differences = try await Reconciliation.run(database.pool)
    let lost = try await Reconciliation.lostJobs(database.pool, limit: 1)
    return [
      differences.isEmpty
        ? .ok("counters", "the counters of every month agree with the jobs")
        : .wrong(
          "counters", "\(differences.count) counters of users' months do not agree with the jobs",
          "analysisctl reconcile lists them. Do not write bills before they are understood."),
      lost.count == 0
        ? .ok("counters.lost", "every job has ended, waits, is scheduled or runs")
        : .wrong(
          "counters.lost", "\(lost.count) jobs are in no table of the queue: no worker finds them",
          "analysisctl reconcile names them, and what to do."),
    ]
  }
}
