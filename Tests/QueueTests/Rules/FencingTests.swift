import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Fencing")
struct FencingTests {
  @Test("After a rescue nothing that the late worker says changes anything")
  func lateWorker() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 4)
      let claimed = try await queue.claim()
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [1, 4, 0])

      #expect(try await queue.complete(claimed) == [])
      let stale = Dictionary(uniqueKeysWithValues: jobs.map { ($0, "stale") })
      #expect(try await queue.fail(jobs, leases: [claimed[0].lease], delay: nil) == stale)
      #expect(try await queue.fail(jobs, leases: [claimed[0].lease], delay: 0) == stale)
      #expect(try await queue.release(jobs, leases: [claimed[0].lease]) == [])
      #expect(try await queue.heartbeat([claimed[0].lease]) == [])
      #expect(try await queue.states() == Dictionary(uniqueKeysWithValues: jobs.map { ($0, "waiting") }))
      #expect(try await queue.number("SELECT count(*) FROM analysis.result") == 0)

      // Also not while another worker has the jobs, under the number of that lease.
      let again = try await queue.claim(worker: 2, lease: 200)
      #expect(again.count == 4)
      #expect(try await queue.complete(claimed.map(\.job), worker: 1, leases: [again[0].lease]) == [])
      #expect(try await queue.complete(again, worker: 2) == Set(jobs))
    }
  }

  @Test("A claim whose answer was lost is given back by its leases' numbers, by its own worker alone")
  func disclaim() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 3 + [Ask("user", priority: 0)])
      #expect(try await queue.claim(lease: 100).count == 4)
      let disclaim = "SELECT analysis.disclaim(0::smallint, "
      // Another worker's numbers, and numbers that were never given.
      #expect(try await queue.number(disclaim + "sha256('2'), 100, 4)") == 0)
      #expect(try await queue.number(disclaim + "sha256('1'), 104, 4)") == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.lease") == 2)
      #expect(try await queue.number(disclaim + "sha256('1'), 100, 4)") == 4)
      #expect(try await queue.number(disclaim + "sha256('1'), 100, 4)") == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.lease") == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.attempt_error") == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready WHERE tries = 0") == 4)
      let again = try await queue.claim(lease: 200)
      #expect(try await queue.complete(again) == Set(jobs))
    }
  }

  @Test("Jobs of nobody, of another lease and of another worker are not stored; the rest of the call is")
  func foreignJobs() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create(Ask("user") * 6)
      let mine = try await queue.claim(2, lease: 100)
      let alsoMine = try await queue.claim(2, lease: 200)
      let foreign = try await queue.claim(2, worker: 2, lease: 300)
      let given = [mine[0].job, alsoMine[0].job, foreign[0].job, 987_654_321]
      let leases = [mine[0].lease, mine[0].lease, foreign[0].lease, foreign[0].lease]
      #expect(try await queue.complete(given, leases: leases) == [mine[0].job])
      let outcomes = try await queue.fail(
        [foreign[1].job, alsoMine[1].job], leases: [foreign[0].lease, mine[0].lease], delay: nil)
      #expect(outcomes == [foreign[1].job: "stale", alsoMine[1].job: "stale"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.result") == 1)
      #expect(try await queue.number("SELECT count(*) FROM analysis.dead") == 0)
    }
  }

  @Test(
    "What a worker says late of a lease that it has lost does not touch the job in a newer lease of its own, named in the same call",
    arguments: ["fail", "complete", "release"])
  func lateWord(_ call: String) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      let old = try await queue.claim(lease: 100)[0].lease
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [1, 1, 0])
      let other = try await queue.create([Ask("user")])[0]
      let new = try await queue.claim(lease: 200)
      #expect(Set(new.map(\.job)) == [job, other])
      // The late word of the old attempt beside a fresh one of the newer lease.
      let (jobs, leases) = ([job, other], [old, new[0].lease])
      switch call {
      case "fail":
        #expect(
          try await queue.fail(jobs, leases: leases, delay: nil) == [job: "stale", other: "dead"])
      case "complete": #expect(try await queue.complete(jobs, leases: leases) == [other])
      default: #expect(try await queue.release(jobs, leases: leases, delay: 60_000) == [other])
      }
      #expect(try await queue.states()[job] == "running")
      #expect(try await queue.heartbeat([new[0].lease]) == [new[0].lease])
      #expect(try await queue.complete([job], leases: [new[0].lease]) == [job])
    }
  }

  @Test(
    "A job that is named with its lost lease and with its present one is applied once, by the present one")
  func bothLeases() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      let old = try await queue.claim(lease: 100)[0].lease
      try await queue.expireLeases()
      _ = try await queue.rescue()
      let new = try await queue.claim(lease: 200)[0].lease
      // One of the two was cancelled, so that the call has to look again.
      _ = try await queue.cancel([jobs[1]])
      let given = [jobs[0], jobs[1], jobs[0], jobs[1]]
      #expect(try await queue.complete(given, leases: [old, old, new, new]) == [jobs[0]])
      #expect(try await queue.number("SELECT count(*) FROM analysis.lease") == 0)
    }
  }

  @Test("A lease goes when its last job has ended, and keeps the others until then")
  func partialCompletion() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create(Ask("user") * 5)
      let claimed = try await queue.claim()
      let lease = claimed[0].lease
      let jobs = claimed.map(\.job)
      #expect(
        try await queue.complete([jobs[1], jobs[1], jobs[3]], leases: [lease]) == [jobs[1], jobs[3]])
      #expect(
        try await queue.numbers("SELECT unnest(job_ids) FROM analysis.lease").map(Int64.init) == [
          jobs[0], jobs[2], jobs[4],
        ])
      #expect(try await queue.complete([jobs[1]], leases: [lease]) == [])
      _ = try await queue.fail([jobs[2]], leases: [lease], delay: 60_000)
      #expect(try await queue.release([jobs[4]], leases: [lease]) == [jobs[4]])
      #expect(try await queue.heartbeat([lease]) == [lease])
      #expect(try await queue.complete([jobs[0]], leases: [lease]) == [jobs[0]])
      #expect(try await queue.heartbeat([lease]) == [])
      #expect(try await queue.number("SELECT count(*) FROM analysis.lease") == 0)
    }
  }

  @Test("Month, user, kind and attempt of a result come from the database")
  func derived() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user", kind: 2)])[0]
      let first = try await queue.claim(lanes: [9])
      _ = try await queue.fail([job], leases: [first[0].lease], delay: 0)
      let second = try await queue.claim(lanes: [9])
      #expect(second[0].attempt == 2)
      #expect(try await queue.complete(second) == [job])
      let row = try await queue.pool.query(
        """
        SELECT r.kind, r.attempt, r.period = j.period AND r.user_id = j.user_id
        FROM analysis.result r JOIN analysis.job j ON j.id = r.job_id
        """
      ).single()
      #expect(try row.int(0) == 2)
      #expect(try row.int(1) == 2)
      #expect(try row.bool(2))
    }
  }

  @Test("One bad row fails the call and changes nothing", arguments: [1.5, -0.1, .nan, .infinity])
  func badRow(confidence: Double) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create(Ask("user") * 3)
      let claimed = try await queue.claim()
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.complete(
          claimed.map(\.job), leases: [claimed[0].lease], confidences: [0.5, confidence, 0.5])
      }
      #expect(error?.isDataError == true)
      #expect(try await queue.number("SELECT count(*) FROM analysis.result") == 0)
      #expect(try await queue.number("SELECT cardinality(job_ids) FROM analysis.lease") == 3)
      #expect(
        try await queue.complete([claimed[0].job, claimed[2].job], leases: [claimed[0].lease]).count == 2)
    }
  }

  @Test("Two workers never get the same job")
  func disjointClaims() async throws {
    try await withCheckedQueue(connections: 8) { queue in
      try await queue.addUser("user")
      _ = try await queue.create(Ask("user") * 500)
      let taken = try await withThrowingTaskGroup(of: [Int64].self) { group in
        for worker in 1...8 as ClosedRange<Int64> {
          group.addTask {
            var jobs: [Int64] = []
            for round in 0... as PartialRangeFrom<Int64> {
              let claimed = try await queue.claim(7, worker: worker, lease: worker * 1_000_000 + round * 10)
              if claimed.isEmpty { break }
              jobs += claimed.map(\.job)
            }
            return jobs
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      // Rows that another claim was just taking are skipped, so a last one may be left for the next round.
      let rest = try await queue.claim(500, lease: 9_000_000_000).map(\.job)
      #expect(taken.count + rest.count == 500)
      #expect(Set(taken + rest).count == 500)
    }
  }

  @Test("A heartbeat does not wait for a lease that is being ended, and counts it as held")
  func heartbeatNeverWaits() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user")] + [Ask("user")])
      let first = try await queue.claim(1, lease: 100)
      let second = try await queue.claim(1, lease: 200)
      let leases = [first[0].lease, second[0].lease]
      try await queue.pool.transaction { open in
        _ = try await queue.complete([first[0].job], leases: [first[0].lease], on: open)
        #expect(try await queue.heartbeat(leases) == Set(leases))
      }
      #expect(try await queue.heartbeat(leases) == [second[0].lease])
      #expect(try await queue.heartbeat(leases, worker: 2) == [])
    }
  }
}
