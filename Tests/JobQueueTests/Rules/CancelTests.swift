import PostgreSQL
import Testing

@Suite("Cancelling")
struct CancelTests {
  @Test("A waiting and a scheduled job are taken out and their units given back; twice is the same as once")
  func waiting() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
      let jobs = try await queue.create([
        Ask("user"), Ask("user", at: try await queue.now(plus: 3600)), Ask("user"),
      ])
      #expect(
        try await queue.cancel([jobs[0], jobs[1], 4711]) == [
          jobs[0]: "cancelled", jobs[1]: "cancelled", 4711: "unknown",
        ])
      #expect(try await queue.cancel([jobs[0], jobs[1]]) == [jobs[0]: "cancelled", jobs[1]: "cancelled"])
      #expect(try await queue.states() == [jobs[0]: "cancelled", jobs[1]: "cancelled", jobs[2]: "waiting"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 1)
      #expect(try await queue.number("SELECT count(*) FROM analysis.scheduled") == 0)
      #expect(try await queue.usage("user").used == 1)
      #expect(try await queue.claim().map(\.job) == [jobs[2]])
    }
  }

  @Test("A running job that is cancelled is not stored when it completes, and not tried again when it fails")
  func running() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
      let jobs = try await queue.create(Ask("user") * 5)
      let claimed = try await queue.claim()
      let batch = claimed[0].batch
      #expect(try await queue.cancel(Array(jobs[..<4])).values.allSatisfy { $0 == "cancelled" })
      #expect(try await queue.complete([jobs[0], jobs[4]], batches: [batch]) == [jobs[4]])
      #expect(try await queue.fail([jobs[1]], batches: [batch], delay: 0) == [jobs[1]: "stale"])
      #expect(try await queue.handBack([jobs[2]], batches: [batch]) == [])
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [1, 0, 0])
      #expect(try await queue.number("SELECT count(*) FROM analysis.batch") == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 0)
      #expect(try await queue.usage("user").used == 1)
    }
  }

  @Test(
    "Of one completion the cancelled jobs are left out, those named twice stored once, and the others stored")
  func mixedCompletion() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
      let jobs = try await queue.create(Ask("user") * 6)
      let claimed = try await queue.claim()
      _ = try await queue.cancel([jobs[1], jobs[4]])
      let given = [jobs[5], jobs[1], jobs[0], jobs[0], jobs[4], jobs[3], jobs[5]]
      #expect(
        try await queue.complete(given, batches: [claimed[0].batch]) == [jobs[0], jobs[3], jobs[5]])
      #expect(try await queue.number("SELECT count(*) FROM analysis.result WHERE outcome = 1") == 3)
      #expect(try await queue.number("SELECT count(*) FROM analysis.result WHERE outcome = 2") == 2)
      #expect(
        try await queue.numbers("SELECT unnest(job_ids) FROM analysis.batch").map(Int64.init) == [jobs[2]])
    }
  }

  @Test("A job that waits again after a failure is closed, and whoever meets it drops it")
  func waitingAgain() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
      let jobs = try await queue.create(Ask("user") * 4)
      let claimed = try await queue.claim(3)
      _ = try await queue.tick([5: 50_000])
      _ = try await queue.fail([jobs[0], jobs[1]], batches: [claimed[0].batch], delay: 0)
      _ = try await queue.fail([jobs[2]], batches: [claimed[0].batch], delay: 60_000)
      _ = try await queue.cancel([jobs[0], jobs[1], jobs[2]])
      #expect(try await queue.number("SELECT count(*) FROM analysis.scheduled") == 0)
      // The claim that meets two closed jobs first goes on to the next that is not.
      let rest = try await queue.create([Ask("user")])
      let next = try await queue.claim(2, batch: 500, from: 50_000)
      #expect(next.map(\.job) == rest)
      #expect(try await queue.claim(batch: 600).map(\.job) == [jobs[3]])
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 0)
    }
  }

  @Test("A dead and a finished job stay what they are")
  func ended() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
      let jobs = try await queue.create(Ask("user") * 2)
      let claimed = try await queue.claim()
      _ = try await queue.complete([jobs[0]], batches: [claimed[0].batch])
      _ = try await queue.fail([jobs[1]], batches: [claimed[0].batch], delay: nil)
      #expect(try await queue.cancel(jobs) == [jobs[0]: "finished", jobs[1]: "dead"])
      #expect(try await queue.usage("user").used == 1)
      #expect(try await queue.number("SELECT count(*) FROM analysis.refund") == 1)
    }
  }

  @Test("Cancel against complete: each job ends in exactly one of the two, and the units are right")
  func race() async throws {
    try await RuleQueue.run(clients: 4) { queue in
      try await queue.add("user")
      let jobs = try await queue.create(Ask("user") * 400)
      let claimed = try await queue.claim(400)
      #expect(claimed.count == 400)
      let batch = claimed[0].batch

      let (stored, cancelled) = try await withThrowingTaskGroup(of: (Set<Int64>, Set<Int64>).self) { group in
        for slice in stride(from: 0, to: 400, by: 40) {
          // The two go through the jobs in opposite orders, so that they meet.
          let mine = Array(jobs[slice..<(slice + 40)])
          group.addTask { (try await queue.complete(mine, batches: [batch]), []) }
          group.addTask {
            let outcomes = try await queue.cancel(mine.reversed())
            return ([], Set(outcomes.filter { $0.value == "cancelled" }.keys))
          }
        }
        return try await group.reduce(into: (Set<Int64>(), Set<Int64>())) {
          $0.0.formUnion($1.0)
          $0.1.formUnion($1.1)
        }
      }
      #expect(stored.isDisjoint(with: cancelled))
      #expect(stored.union(cancelled) == Set(jobs))
      #expect(try await queue.usage("user").used == stored.count)
      while try await queue.settleRefunds() > 0 {}
      #expect(try await queue.usage("user") == RuleQueue.Usage(used: stored.count, refunded: cancelled.count))
    }
  }

  @Test(
    "While a cancellation is open, a completion stores the other jobs and answers which are busy; a failure waits for nobody"
  )
  func open() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
      let jobs = try await queue.create(Ask("user") * 6)
      let batch = try await queue.claim()[0].batch
      let busy = [jobs[1], jobs[3]]
      try await queue.pool.withConnection { open in
        try await open.execute(script: "BEGIN")
        _ = try await queue.cancel(busy, on: open)
        // Named twice beside, and one that had ended before.
        _ = try await queue.cancel([jobs[4]])
        let given = [jobs[3], jobs[0], jobs[1], jobs[0], jobs[4]]
        #expect(try await queue.complete(given, batches: [batch]) == [jobs[0]])
        #expect(try await queue.complete(busy, batches: [batch], knownBusy: true) == [])
        #expect(
          try await queue.fail([jobs[1], jobs[2]], batches: [batch], delay: 0) == [
            jobs[1]: "busy", jobs[2]: "retried",
          ])
        #expect(try await queue.handBack([jobs[3], jobs[5]], batches: [batch]) == [jobs[5]])
        #expect(try await queue.heartbeat([batch]) == [batch])
        #expect(
          try await queue.numbers("SELECT unnest(job_ids) FROM analysis.batch").map(Int64.init) == busy)
        try await open.execute(script: "ROLLBACK")
      }
      #expect(try await queue.complete(busy, batches: [batch], knownBusy: true) == Set(busy))
      #expect(try await queue.number("SELECT count(*) FROM analysis.batch") == 0)
    }
  }

  @Test("A cancellation that is rolled back leaves the running job to its completion, which waited for it")
  func rolledBack() async throws {
    try await RuleQueue.run { queue in
      try await queue.add("user")
      let job = try await queue.create([Ask("user")])[0]
      let claimed = try await queue.claim()
      let stored = try await withThrowingTaskGroup(of: Set<Int64>.self) { group in
        try await queue.pool.withConnection { connection in
          try await connection.execute(script: "BEGIN")
          #expect(try await queue.cancel([job], on: connection) == [job: "cancelled"])
          group.addTask { try await queue.complete(claimed) }
          try await queue.untilSomebodyWaits()
          try await connection.execute(script: "ROLLBACK")
        }
        return try await group.next()
      }
      #expect(stored == [job])
    }
  }
}
