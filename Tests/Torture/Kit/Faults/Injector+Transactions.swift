import PostgreSQL
import Support
import TestSupport

/// Transactions that somebody leaves open for a while, each with the rights of a role and no more.
extension Injector {
  func leaveOpen(_ transaction: OpenTransaction, _ event: FaultEvent) async throws {
    let time = event.lasting(RunSettings.leaseDuration * 0.3, RunSettings.leaseDuration * 3)
    let commits = event.choice.isMultiple(of: 2)
    switch transaction {
    case .submit: try await leaveSubmitOpen(event, commits, time)
    case .cancel:
      let jobs = history.latestJobs(400)
      guard !jobs.isEmpty else { throw Missed("nothing was submitted yet") }
      let start = Int((event.choice >> 8) % UInt64(jobs.count))
      try await change("cancel", Array(jobs[start...].prefix(40)), commits, time)
    case .retry:
      let dead = try await rig.owner.query(
        "SELECT job_id FROM analysis.dead ORDER BY job_id LIMIT 40", deadline: .seconds(5)
      ).map { JobID(try $0.int64(0)) }
      guard !dead.isEmpty else { throw Missed("no job is dead") }
      try await change("retry_dead", dead, commits, time)
    case .report:
      try await open(Rig.reporterRole, commits, time) { transaction in
        // What would be checked at the commit is done at once, and what it locks stays locked.
        _ = try await transaction.query("SET CONSTRAINTS ALL IMMEDIATE")
        _ = try await transaction.query(
          "SELECT analysis.audit_read('report', $1, '{}'::jsonb)", [.text("report:analyses:\(month.period)")])
        _ = try await transaction.query("SELECT count(*) FROM analysis.usage")
      }
    case .worker:
      try await open(Rig.workerRole, commits, time) { transaction in
        for table in ["ready", "lease", "scheduled", "dead", "refund", "worker", "gauge", "pause"] {
          _ = try await transaction.query("LOCK TABLE analysis.\(table) IN ACCESS SHARE MODE")
        }
        for shard in 0..<rig.settings.shards {
          _ = try await transaction.query(
            "SELECT analysis.take_turn($1, t, 1000) FROM unnest(ARRAY['sweep', 'gauges']) t",
            [.int16(Int16(shard))])
        }
      }
    case .erasure:
      let person = try await rig.erased.newPerson(in: rig)
      do {
        try await open(Rig.privacyRole, commits, time) { transaction in
          _ = try await transaction.query(
            "SELECT o_user FROM analysis.erase_user($1, $2, NULL, true)",
            [.int16(person.shard), .text(person.reference)])
        }
      } catch {
        // The erasure is carried through in any case, below.
        rig.tally.note("an open erasure was cut off: \(error)")
      }
      try await rig.erased.erase(person, in: rig)
    }
  }

  private func leaveSubmitOpen(_ event: FaultEvent, _ commits: Bool, _ time: Duration) async throws {
    let picture = rig.pictures[Int(event.choice % UInt64(rig.pictures.count))]
    let first = Int((event.choice >> 16) % UInt64(rig.users.count))
    let asks = (0..<3).map { place in
      (user: rig.users[(first + place) % rig.users.count].reference, tag: "open-\(event.number)-\(place)")
    }
    var outcomes = asks.map { _ in SubmitRecord.Outcome.unknown }
    defer {
      history.add(
        zip(asks, outcomes).map { ask, outcome in
          SubmitRecord(tag: ask.tag, user: ask.user, key: ask.tag, outcome: outcome)
        })
    }
    var answers: [SubmitRecord.Outcome] = []
    do {
      try await open(Rig.backendRole, commits, time) { transaction in
        answers = []
        for ask in asks {
          answers.append(
            try SubmitRecord.Outcome(
              try await transaction.query(
                "SELECT outcome, reason, job_id FROM analysis.submit_image($1, 'ear', $2, $3)",
                [.text(ask.user), .bytes(picture.original), .text(ask.tag)]
              ).single()))
        }
      }
      outcomes = commits ? answers : asks.map { _ in .refused("rolled back") }
    } catch let error as PostgreSQLError where error.sqlState != nil && !error.isConnectionLoss {
      outcomes = asks.map { _ in .refused("refused by the server") }
      throw error
    }
  }

  /// Cancels or retries jobs as an operator.
  private func change(_ function: String, _ jobs: [JobID], _ commits: Bool, _ time: Duration) async throws {
    let shards = try await rig.owner.query(
      "SELECT shard, array_agg(id ORDER BY id)::text FROM analysis.job WHERE id = ANY ($1) GROUP BY shard ORDER BY shard",
      [.array(jobs.map(\.value))], deadline: .seconds(10)
    ).map { (try $0.int16(0), try $0.string(1)) }
    try await open(Rig.operatorRole, commits, time) { transaction in
      for (shard, jobs) in shards {
        _ = try await transaction.query(
          "SELECT count(*) FROM analysis.\(function)($1, '\(jobs)'::bigint[])", [.int16(shard)])
      }
    }
  }

  private struct ChangedMind: Error {}

  /// Does something in a transaction of a role's, and leaves it open for a time.
  private func open(
    _ role: String, _ commits: Bool, _ time: Duration, _ body: (Transaction) async throws -> Void
  ) async throws {
    let pool = ConnectionPool(
      ConnectionConfiguration(
        rig.conninfo(0, role: role), applicationName: "torture-open", connectTimeout: .seconds(3)),
      on: rig.loop, size: 1)
    let outcome: Result<Void, any Error>
    do {
      try await pool.transaction(deadline: .seconds(20)) { transaction in
        try await body(transaction)
        await sleep(time)
        if !commits { throw ChangedMind() }
      }
      outcome = .success(())
    } catch is ChangedMind {
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    await pool.close()
    try outcome.get()
  }
}
