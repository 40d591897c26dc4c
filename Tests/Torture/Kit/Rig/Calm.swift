import Control
import Foundation
import PostgreSQL
import Queue
import Support
import TestSupport

/// Measures, when the faults have ended and the queue is empty, what would be lost in the noise before.
struct Calm {
  let rig: Rig
  let fleet: WorkerFleet
  let history: History

  private static let mass = 3000
  private static let ofEach = 60
  private static let cancellerName = "torture-cancel"

  func run() async throws -> CalmChecks.Facts {
    var facts = CalmChecks.Facts()
    try await stopAutovacuum()
    let probe = WaitingProbe(rig: rig, history: history, pace: Pace(backlog: .max))
    // With no worker about, nothing that is submitted is ever served.
    for round in 1...6 { try await probe.turn(100_000 + round, isLater: round.isMultiple(of: 3)) }
    (facts.cancelled, facts.rowsRead) = try await cancelMass()
    (facts.order, facts.ofEach) = (try await shares(), Self.ofEach)
    return facts
  }

  // MARK: Parts

  /// Stops autovacuum, and waits until none runs: while it analyses a table, the snapshot that it holds keeps the index entries
  /// of removed rows, which every scan then reads again, whatever the queue does.
  private func stopAutovacuum() async throws {
    try await rig.cluster.set(["autovacuum": "off"])
    let patience = ContinuousClock.now + .seconds(60)
    while try await rig.owner.query(
      "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum %'",
      deadline: .seconds(10)
    ).single().int64(0) > 0 {
      guard ContinuousClock.now < patience else {
        throw TestSupportError("autovacuum does not end")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Has many jobs come to run while everything is paused, cancels them, and counts what a worker reads to come to
  /// a few others.
  private func cancelMass() async throws -> (cancelled: Int, rowsRead: Int) {
    let pauses = PauseDirectory(rig.owner)
    _ = try await pauses.pause(.everything, reason: "the torture's calm", until: nil)
    let load = MassLoad(rig: rig, history: history, number: 800_000)
    try await load.submit(Self.mass, runningIn: .seconds(600))
    let jobs = history.latestJobs(Self.mass)
    // However long that took, all of them are due now, and none was before.
    _ = try await rig.owner.query(
      "UPDATE analysis.scheduled SET run_at = now() WHERE job_id = ANY ($1)", [.array(jobs.map(\.value))],
      deadline: .seconds(60))
    let promoter = try await fleet.start("calm-paused", told: [.drains])
    let patience = ContinuousClock.now + .seconds(60)
    while try await areDue(), ContinuousClock.now < patience { try await Task.sleep(for: .milliseconds(100)) }
    promoter.stop()
    await fleet.ended(promoter)
    // Over a connection of its own: a server process hands in what it has read up to a second later, or when it ends.
    let canceller = ConnectionPool(
      ConnectionConfiguration(
        rig.cluster.conninfo(database: Rig.database), applicationName: Self.cancellerName),
      on: rig.loop, size: 1)
    for start in stride(from: 0, to: jobs.count, by: 200) {
      _ = try await JobDirectory(canceller).change(Array(jobs[start...].prefix(200)), .cancel)
    }
    await canceller.close()
    _ = try await pauses.resume(.everything)
    let before = try await rowsRead()
    let few = MassLoad(rig: rig, history: history, number: 800_001)
    try await few.submit(Priority.allCases.map { few.submission(of: rig.users[0].reference, $0, 0) })
    try await drain("calm-drain")
    return (jobs.count, try await rowsRead() - before)
  }

  private func areDue() async throws -> Bool {
    try await rig.owner.query(
      "SELECT EXISTS (SELECT FROM analysis.scheduled WHERE run_at < now() + interval '1 minute')",
      deadline: .seconds(10)
    ).single().bool(0)
  }

  /// How many rows of the hot table were read so far, and entries of its index. A session
  /// reports its reads when it disconnects.
  private func rowsRead() async throws -> Int {
    let patience = ContinuousClock.now + .seconds(30)
    while try await rig.owner.query(
      "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 OR application_name = $2",
      [.text(Rig.workerRole), .text(Self.cancellerName)],
      deadline: .seconds(10)
    ).single().int64(0) > 0 {
      guard ContinuousClock.now < patience else {
        throw TestSupportError("a program that ended is connected still")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    return Int(
      try await rig.owner.query(
        """
        SELECT (coalesce(sum(t.seq_tup_read), 0) + coalesce(
          (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i WHERE i.schemaname = 'analysis' AND i.relname = 'ready'), 0))::bigint
        FROM pg_stat_user_tables t WHERE t.schemaname = 'analysis' AND t.relname = 'ready'
        """, deadline: .seconds(10)
      ).single().int64(0))
  }

  /// Lets one worker begin when jobs of all priorities wait, and gives the order in which it did them.
  private func shares() async throws -> [Priority] {
    let load = MassLoad(rig: rig, history: history, number: 800_002)
    // Of one user: in one shard all of them wait for the same claims.
    let outcomes = try await load.submit(
      Priority.allCases.flatMap { priority in
        (0..<Self.ofEach).map { load.submission(of: Self.user, priority, $0) }
      })
    let jobs = outcomes.compactMap { if case .created(let job) = $0 { job } else { nil } }
    try await drain("calm-shares")
    return try await rig.owner.query(
      """
      SELECT analysis.priority_of(j.lane) FROM analysis.job j
      JOIN analysis.result r ON r.shard = j.shard AND r.period = j.period AND r.job_id = j.id
      WHERE j.id = ANY ($1) ORDER BY r.finished_at, j.id
      """, [.array(jobs.map(\.value))], deadline: .seconds(60)
    ).compactMap { row in
      let slot = Int16(try row.int32(0))
      return Priority.allCases.first { $0.slot == slot }
    }
  }

  /// Nobody else's, so that what they have waiting is these jobs alone.
  static let user = "probe-shares"

  /// With a small window, so that it claims often.
  private func drain(_ label: String) async throws {
    let worker = try await fleet.start(
      label, options: ["--drain", "--drain-horizon", "2s"], window: 4, told: [.drains])
    await fleet.ended(worker)
  }
}
