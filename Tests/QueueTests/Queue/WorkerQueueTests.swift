import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("A worker's calls")
struct WorkerQueueTests {
  @Test("claim jobs with all that the upload needs, in leases by lane")
  func claim() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let normal = try await queue.submit(2)
      let urgent = try await queue.submit([queue.submission("clinic", 9, priority: .urgent)]).map(\.job)
      let lanes = [Lane(.throat, .urgent), Lane(.throat, .normal), Lane(.throat, .bulk)]
      let leases = try await queue.statements.claim(
        firstLease: 500, lanes: lanes.map { LaneClaim(lane: $0, from: 0, limit: 10) }, count: 10,
        leaseDuration: .seconds(60)
      ).run(on: queue.pool)
      #expect(leases.map(\.id) == [500, 501])
      #expect(leases.map(\.lane) == Array(lanes.prefix(2)))
      #expect(leases[0].jobs.map(\.id) == urgent.compactMap { $0 })
      #expect(leases[1].jobs.map(\.id) == normal)
      let job = try #require(leases[1].jobs.first)
      #expect(job.lease == 501)
      #expect(job.attempt == 1)
      #expect(job.maxAttempts == 10)
      #expect(job.imageBytes == 500)
      #expect(!job.isUnsanitized)
      #expect(!job.isExpired)
      #expect(job.kind == .throat)
    }
  }

  /// What one analysis says of being serious, and what is stored of it.
  struct Flags: Sendable {
    let name: String
    /// The conditions' confidences, flags and whether they are normal.
    let conditions: [(Double, Bool?, isNormal: Bool)]
    let serious: Bool?
    let endpoint: Bool?
  }

  static let flags = [
    Flags(name: "no condition", conditions: [], serious: nil, endpoint: nil),
    Flags(name: "no flag", conditions: [(0.9, nil, false)], serious: nil, endpoint: nil),
    Flags(
      name: "false alone", conditions: [(0.9, false, false), (0.5, nil, false)], serious: false,
      endpoint: false),
    Flags(name: "at the threshold", conditions: [(0.4, true, false)], serious: true, endpoint: true),
    Flags(name: "below it", conditions: [(0.3999999999999999, true, false)], serious: false, endpoint: true),
    Flags(
      name: "normal 98 %, otitis 1.3 %", conditions: [(0.98, false, true), (0.013, true, false)],
      serious: false,
      endpoint: true),
    Flags(name: "a normal condition", conditions: [(0.98, true, true)], serious: false, endpoint: true),
    Flags(
      name: "any of several", conditions: [(0.5, false, false), (0.2, true, false), (0.45, true, false)],
      serious: true, endpoint: true),
  ]

  @Test("keep the endpoint's flags, and ours by the setting consult_from")
  func flags() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      // Once by the default, once by a setting that nothing here reaches.
      for (setting, isReached) in [("0.4", true), ("0.95", false)] {
        _ = try await queue.pool.query(
          "UPDATE analysis.setting SET value = '\(setting)' WHERE name = 'consult_from'")
        let jobs = try await queue.submit(Self.flags.count)
        let results = try zip(try await queue.claimJobs(lease: isReached ? 1000 : 2000), Self.flags).map {
          job, flags in
          var result = try queue.completed(job)
          result.analysis.conditions = try flags.conditions.enumerated().map { number, condition in
            Condition(
              id: "c\(number)", name: "C", confidence: try #require(Confidence(condition.0)),
              isPotentiallySerious: condition.1, recommendsConsultation: condition.1,
              isNormal: condition.isNormal)
          }
          return result
        }
        let outcome = try await WorkerQueue(queue.statements).complete(results, on: queue.pool)
        #expect(outcome.stored == Set(jobs))
        for (job, flags) in zip(jobs, Self.flags) {
          let result = try #require(try await JobDirectory(queue.pool).show(job)?.result)
          let serious = isReached ? flags.serious : flags.serious.map { _ in false }
          #expect(result.isSerious == serious && result.advisesConsultation == serious, "\(flags.name)")
          #expect(result.endpointSaysSerious == flags.endpoint, "\(flags.name)")
          #expect(result.endpointAdvisesConsultation == flags.endpoint, "\(flags.name)")
        }
      }
    }
  }

  @Test("store results of several leases, each once")
  func complete() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(4)
      let claimed = try await queue.claimJobs(lease: 1, count: 2) + queue.claimJobs(lease: 9, count: 2)
      #expect(claimed.map(\.id) == jobs)
      let results = try claimed.map { try queue.completed($0) }
      let worker = WorkerQueue(queue.statements)
      let outcome = try await worker.complete(results, on: queue.pool)
      #expect(outcome.stored == Set(jobs))
      #expect(outcome.stale.isEmpty)
      let again = try await worker.complete(results, on: queue.pool)
      #expect(again.stored.isEmpty)
      #expect(again.stale == Set(jobs))
      #expect(try await queue.number("SELECT count(*) FROM analysis.lease") == 0)

      let detail = try #require(try await JobDirectory(queue.pool).show(jobs[0]))
      let result = try #require(detail.result)
      #expect(result.analysisID == "analysis-\(jobs[0])")
      #expect(result.answeredAt == 1_700_000_000.5)
      #expect(result.isSerious == true && result.endpointSaysSerious == true)
      #expect(result.advisesConsultation == nil && result.endpointAdvisesConsultation == nil)
      #expect(result.model == "stand-in")
      let stored = try await queue.pool.query(
        """
        SELECT primary_id, primary_band::int, secondary_id, secondary_normal, conditions -> 0 ->> 'band',
               conditions -> 0 -> 'symptoms' ->> 0, conditions -> 1 ? 'symptoms', secondary_confidence
          FROM analysis.result WHERE job_id = $1
        """, [.int64(jobs[0].value)]
      ).single()
      #expect(try stored.string(0) == "tonsillitis")
      #expect(try stored.int(1) == 4)
      #expect(try stored.string(2) == "normal")
      #expect(try stored.bool(3))
      #expect(try stored.string(4) == "4")
      #expect(try stored.string(5) == "fever")
      #expect(try !stored.bool(6))
      #expect(try stored.double(7) == 0.21)
    }
  }

  @Test(
    "split a call until only the bad rows fail, and fail those for good",
    arguments: [[0], [3], [2, 6], [0, 1, 7]])
  func splitting(bad: [Int]) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(8)
      let results = try await queue.claimJobs().enumerated().map { place, job in
        // PostgreSQL can store no NUL, neither in text nor in JSON.
        try queue.completed(job, name: bad.contains(place) ? "bad\0name" : "Tonsillitis")
      }
      let outcome = try await WorkerQueue(queue.statements).complete(results, on: queue.pool)
      let badJobs = Set(bad.map { jobs[$0] })
      #expect(outcome.stored == Set(jobs).subtracting(badJobs))
      #expect(Set(outcome.rejected.keys) == badJobs)
      #expect(outcome.stale.isEmpty)
      let detail = try #require(try await JobDirectory(queue.pool).show(jobs[bad[0]]))
      #expect(detail.summary.state == .dead)
      #expect(detail.death?.failureClass == "store")
      #expect(detail.death?.message == outcome.rejected[jobs[bad[0]]])
    }
  }

  @Test("record a failed attempt without the words that the database refuses, and the others whole")
  func refusedWords() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(8)
      let attempts = try await queue.claimJobs().enumerated().map { place, job in
        FailedAttempt(
          lease: job.lease, job: job.id, decision: place == 0 ? .dead : .retry(after: .zero, consumes: true),
          failureClass: .server, message: "The backend failed.",
          // Longer than the column takes.
          errorID: place == 0 || place == 5 ? String(repeating: "e", count: 201) : "e-1", status: 500,
          calls: 2)
      }
      let outcome = try await WorkerQueue(queue.statements).fail(attempts, on: queue.pool)
      #expect(outcome.unrecorded.isEmpty)
      #expect(outcome.ended[jobs[0]] == .dead)
      #expect(outcome.ended.count == 8 && outcome.ended.values.count { $0 == .retried } == 7)
      let whole = try #require(try await JobDirectory(queue.pool).show(jobs[1])?.attempts.first)
      #expect(whole.message == "The backend failed." && whole.errorID == "e-1")
      let plain = try #require(try await JobDirectory(queue.pool).show(jobs[5])?.attempts.first)
      #expect(plain.message?.hasPrefix("The failure could not be recorded as it came: ") == true)
      #expect(plain.failureClass == "server" && plain.calls == 2 && plain.errorID == nil)
    }
  }

  @Test("let the lease of a job run out of which nothing can be recorded, and record the others")
  func unrecordable() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(3)
      _ = try await queue.pool.query(
        "ALTER TABLE analysis.attempt_error ADD CONSTRAINT poison CHECK (job_id <> \(jobs[1].value))")
      let attempts = try await queue.claimJobs().map { job in
        FailedAttempt(
          lease: job.lease, job: job.id, decision: .retry(after: .zero, consumes: true),
          failureClass: .server,
          message: "The backend failed.", calls: 1)
      }
      let outcome = try await WorkerQueue(queue.statements).fail(attempts, on: queue.pool)
      #expect(outcome.ended == [jobs[0]: .retried, jobs[2]: .retried])
      #expect(Array(outcome.unrecorded.keys) == [jobs[1]])
      #expect(outcome.unrecorded[jobs[1]]?.contains("job_id of attempt_error") == true)
      let held = try await queue.pool.query("SELECT job_ids FROM analysis.lease").single().array(
        0, of: Int64.self)
      #expect(held == [jobs[1].value])
    }
  }

  @Test("count what consumes nothing into the latest line of its cause once a job has twenty such lines")
  func folding() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(1)
      for place in 1...30 {
        let job = try #require(try await queue.claimJobs().first)
        let attempt = FailedAttempt(
          lease: job.lease, job: job.id, decision: .retry(after: .zero, consumes: false),
          failureClass: place == 25 ? .permission : .serviceLimit, message: "Limit \(place).", calls: 1)
        _ = try await queue.statements.fail([attempt]).run(on: queue.pool)
      }
      let lines = try #require(try await JobDirectory(queue.pool).show(jobs[0])?.attempts)
      // Twenty lines and one of another cause, however the causes alternate.
      #expect(lines.map(\.calls) == Array(repeating: 1, count: 20) + [10])
      #expect(lines.map(\.message).suffix(2) == ["Limit 25.", "Limit 30."])
      #expect(lines.map(\.calls).reduce(0, +) == 30)
      let job = try #require(try await queue.claimJobs().first)
      #expect(job.attempt == 1)
      // What a line cannot count any more begins another: no call is left out.
      _ = try await queue.pool.query("UPDATE analysis.attempt_error SET calls = 32767 WHERE calls = 10")
      _ = try await queue.statements.fail([
        FailedAttempt(
          lease: job.lease, job: job.id, decision: .retry(after: .zero, consumes: false),
          failureClass: .serviceLimit, message: "Limit 31.", calls: 1)
      ]).run(on: queue.pool)
      let calls = try await queue.pool.query(
        "SELECT max(calls)::int, sum(calls)::int FROM analysis.attempt_error"
      ).single()
      #expect(try calls.int(0) == 32767 && calls.int(1) == 32767 + 21)
    }
  }

  @Test("end a job with its cause, though its last attempt is counted into an earlier line")
  func foldedDeath() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(1)
      for place in 1...21 {
        let job = try #require(try await queue.claimJobs().first)
        let outcome = try await queue.pool.query(
          """
          SELECT o_outcome FROM analysis.fail(0::smallint, \(QueueFixture.workerSecret), ARRAY[$1], ARRAY[$2], ARRAY[$3::bigint],
            '{false}', '{service_limit}', '{LIMIT}', '{No more.}', NULL, NULL, '{1}', '{false}', NULL)
          """, [.int64(job.lease), .int64(job.id.value), .int64(place == 21 ? nil : 0)])
        #expect(try outcome.single().string(0) == (place == 21 ? "dead" : "retried"))
      }
      let detail = try #require(try await JobDirectory(queue.pool).show(jobs[0]))
      #expect(detail.attempts.map(\.calls) == Array(repeating: 1, count: 19) + [2])
      let dead = try await queue.pool.query("SELECT class, calls FROM analysis.dead").single()
      #expect(try dead.string(0) == "service_limit" && dead.int(1) == 21)
      try await queue.expectInvariants()
    }
  }

  @Test("give back every job but the one that the database cannot take back")
  func refusedRelease() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(5)
      _ = try await queue.pool.query(
        "ALTER TABLE analysis.ready ADD CONSTRAINT poison CHECK (job_id <> \(jobs[3].value)) NOT VALID")
      let held = try await queue.claimJobs().map { HeldJob(lease: $0.lease, job: $0.id) }
      let outcome = try await WorkerQueue(queue.statements).release(held, on: queue.pool)
      #expect(outcome.back == Set(jobs).subtracting([jobs[3]]))
      #expect(Array(outcome.unrecorded.keys) == [jobs[3]])
    }
  }

  @Test("record failed attempts, with what becomes of each job")
  func fail() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(3)
      let claimed = try await queue.claimJobs()
      let decisions: [RetryDecision] = [
        .retry(after: .seconds(3600), consumes: true), .dead, .retry(after: .zero, consumes: false),
      ]
      var attempts = zip(claimed, decisions).map { job, decision in
        FailedAttempt(
          lease: job.lease, job: job.id, decision: decision, failureClass: .server, code: "SERVER_ERROR",
          message: "The backend failed\0.", errorID: "e-1", status: 500, calls: 2, maybeCounted: true,
          endpoint: "main")
      }
      attempts.append(attempts[0])
      attempts[3].lease = 4711
      attempts[3].job = jobs[0]
      let outcomes = try await queue.statements.fail(Array(attempts.prefix(3))).run(on: queue.pool)
      #expect(outcomes == [jobs[0]: .retried, jobs[1]: .dead, jobs[2]: .retried])
      #expect(try await queue.statements.fail([attempts[3]]).run(on: queue.pool) == [jobs[0]: .stale])

      let directory = JobDirectory(queue.pool)
      #expect(
        try await directory.states(jobs) == [jobs[0]: .scheduled, jobs[1]: .dead, jobs[2]: .waiting])
      let record = try #require(try await directory.show(jobs[0])?.attempts.first)
      #expect(record.failureClass == "server")
      #expect(record.code == "SERVER_ERROR")
      #expect(record.errorID == "e-1")
      #expect(record.status == 500)
      #expect(record.calls == 2)
      #expect(record.maybeCounted)
      #expect(record.consumed)
      #expect(record.endpoint == "main")
      #expect(
        try await queue.claimJobs(lease: 2).map(\.attempt) == [1], "what consumes nothing keeps its number")
    }
  }

  @Test("give back what was not tried, and notice a lost lease")
  func leases() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(3)
      let claimed = try await queue.claimJobs(lease: 40)
      let held = HeldJob(lease: 40, job: claimed[0].id)
      #expect(try await queue.statements.release([held]).run(on: queue.pool).ended == [jobs[0]])
      let beat = queue.statements.heartbeat([40, 41], leaseDuration: .seconds(60), inFlight: 2)
      #expect(try await beat.run(on: queue.pool) == [40])

      _ = try await queue.pool.query("UPDATE analysis.lease SET deadline = now() - interval '1 second'")
      let rescued = try await queue.statements.rescue(grace: .zero).run(on: queue.pool)
      #expect(rescued == RescueOutcome(leases: 1, requeued: 2, dead: 0))
      #expect(try await beat.run(on: queue.pool).isEmpty)
      #expect(try await queue.claimJobs(lease: 50).count == 3)
    }
  }

  @Test("publish marks, promote, apply refunds and take turns")
  func maintenance() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic", plan: "free")
      let lane = Lane(.throat, .normal)
      let marks = try await queue.statements.tick([(lane: lane, furthest: 5000)]).run(on: queue.pool)
      #expect(Array(marks.keys) == [lane])

      let jobs = try await queue.submit(2)
      let claimed = try await queue.claimJobs()
      let later = FailedAttempt(
        lease: claimed[0].lease, job: claimed[0].id, decision: .retry(after: .seconds(3600), consumes: true),
        failureClass: .server, message: "Failed.")
      _ = try await queue.statements.fail([later]).run(on: queue.pool)
      #expect(try await queue.statements.promote().run(on: queue.pool) == 0)
      _ = try await queue.pool.query("UPDATE analysis.scheduled SET run_at = now() - interval '1 second'")
      #expect(try await queue.statements.promote().run(on: queue.pool) == 1)

      #expect(
        try await JobDirectory(queue.pool).change(jobs, .cancel) == [
          jobs[0]: .cancelled, jobs[1]: .cancelled,
        ])
      #expect(try await queue.statements.applyRefunds().run(on: queue.pool) == 2)
      #expect(try await queue.number("SELECT used FROM analysis.usage") == 0)

      let turn = queue.statements.takeTurn("sweep", every: .seconds(3600))
      #expect(try await turn.run(on: queue.pool))
      #expect(try await !turn.run(on: queue.pool))
      try await WorkerStatements.refreshGauges().run(on: queue.pool)
      try await WorkerStatements.ensurePartitions().run(on: queue.pool)
    }
  }

  @Test("can go out together in one write")
  func pipeline() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(4)
      let first = try await queue.claimJobs(lease: 1, count: 2)
      let complete = queue.statements.complete(try first.map { try queue.completed($0) })
      let claim = queue.statements.claim(
        firstLease: 2, lanes: [LaneClaim(lane: Lane(.throat, .normal), from: 0, limit: 2)], count: 2,
        leaseDuration: .seconds(60))
      let results = try await queue.pool.pipeline([complete.sql, claim.sql])
      #expect(try complete.decode(results[0]).ended == Set(jobs.prefix(2)))
      #expect(try claim.decode(results[1]).flatMap(\.jobs).map(\.id) == Array(jobs.suffix(2)))
    }
  }
}
