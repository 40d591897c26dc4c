import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Undoing a cancellation")
struct UncancelTests {
  @Test("A cancelled job waits again, for a unit, under its key, and its history stays")
  func again() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user", key: "visit")])[0]
      let lease = try await queue.claim()[0].lease
      _ = try await queue.fail([job], leases: [lease], delay: 60_000)
      #expect(try await queue.cancel([job]) == [job: "cancelled"])
      #expect(try await queue.usage("user").used == 0)
      #expect(try await queue.uncancel([job, job, 4711]) == [job: "requeued", 4711: "unknown"])
      #expect(try await queue.states() == [job: "waiting"])
      #expect(try await queue.usage("user").used == 1)
      try await queue.expectInvariants()
      #expect(try await queue.uncancel([job]) == [job: "not_cancelled"])
      #expect(try await queue.submit([Ask("user", key: "visit")])[0].job == job)
      let claimed = try await queue.claim()
      #expect(claimed.map(\.attempt) == [1])
      _ = try await queue.complete(claimed)
      #expect(try await queue.states() == [job: "succeeded"])
      #expect(try await queue.uncancel([job]) == [job: "not_cancelled"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.attempt_error") == 1)
      #expect(try await queue.entries().map(\.action) == ["cancel", "uncancel"])
    }
  }

  @Test("It can be cancelled and undone over and over, and counts once")
  func repeated() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 3)
      for _ in 1...3 {
        #expect(try await queue.cancel(jobs).values.allSatisfy { $0 == "cancelled" })
        #expect(try await queue.uncancel(jobs).values.allSatisfy { $0 == "requeued" })
      }
      _ = try await queue.applyRefunds()
      #expect(try await queue.usage("user").used == 3)
      #expect(try await queue.claim().count == 3)
    }
  }

  @Test("What was scheduled or had an expiry runs at once")
  func later() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([
        Ask("user", at: try await queue.now(plus: 3600), expires: try await queue.now(plus: 7200))
      ])[0]
      _ = try await queue.cancel([job])
      #expect(try await queue.uncancel([job]) == [job: "requeued"])
      #expect(try await queue.claim().map(\.job) == [job])
      #expect(try await queue.number("SELECT count(expires_at) FROM analysis.job") == 0)
    }
  }

  @Test("A job that its worker still holds is busy; a result that comes late is not stored")
  func held() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      let lease = try await queue.claim()[0].lease
      _ = try await queue.cancel([job])
      #expect(try await queue.uncancel([job]) == [job: "busy"])
      #expect(try await queue.complete([job], leases: [lease]) == [])
      #expect(try await queue.uncancel([job]) == [job: "requeued"])
      #expect(try await queue.complete([job], leases: [lease]) == [])
      let later = try await queue.claim(lease: 200)
      #expect(later.map(\.job) == [job])
      #expect(try await queue.complete([job], leases: [lease]) == [])
      #expect(try await queue.complete(later) == [job])
    }
  }

  @Test("Without a unit left it stays cancelled; the lower numbers come first")
  func quota() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user", plan: "free")
      let jobs = try await queue.create(Ask("user") * 5)
      _ = try await queue.cancel(Array(jobs[..<3]))
      _ = try await queue.create(Ask("user") * 2)
      #expect(
        try await queue.uncancel(Array(jobs[..<3])) == [
          jobs[0]: "requeued", jobs[1]: "quota", jobs[2]: "quota",
        ])
      #expect(try await queue.usage("user").used == 5)
    }
  }

  @Test("It is refused by name: a day later, without its image, and of an erased person")
  func refused() async throws {
    try await withCheckedQueue { queue in
      for user in ["user", "gone"] { try await queue.addUser(user) }
      let jobs = try await queue.create([Ask("user"), Ask("user", image: "other"), Ask("gone")])
      _ = try await queue.cancel(jobs)
      try await queue.execute(
        """
        UPDATE analysis.result SET finished_at = finished_at - interval '1 day' WHERE job_id = \(jobs[0]);
        DELETE FROM analysis.image i USING analysis.job j WHERE j.id = \(jobs[1]) AND i.id = j.image_id
        """)
      try await queue.erase("gone")
      #expect(
        try await queue.uncancel(jobs) == [jobs[0]: "too_late", jobs[1]: "image_gone", jobs[2]: "erased"])
      #expect(try await queue.states().values.allSatisfy { $0 == "cancelled" })
    }
  }

  @Test("The image of a cancelled job is kept for a day, however short the setting is")
  func image() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.execute("UPDATE analysis.setting SET value = '1 hour' WHERE name = 'keep_images'")
      let jobs = try await queue.create([Ask("user", image: "cancelled"), Ask("user", image: "analysed")])
      _ = try await queue.cancel([jobs[0]])
      _ = try await queue.complete(try await queue.claim())
      try await queue.setEnds(try await queue.now(plus: -23 * 3600))
      #expect(try await queue.purge().words == ["images 1"])
      #expect(try await queue.uncancel([jobs[0]]) == [jobs[0]: "requeued"])
      _ = try await queue.cancel([jobs[0]])
      try await queue.setEnds(try await queue.now(plus: -25 * 3600))
      #expect(try await queue.purge().words == ["images 1"])
      #expect(try await queue.uncancel([jobs[0]]) == [jobs[0]: "too_late"])
    }
  }

  @Test("Of two who undo the same cancellation at once one does it")
  func race() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 20)
      _ = try await queue.cancel(jobs)
      let outcomes = try await withThrowingTaskGroup(of: [Int64: String].self) { group in
        for _ in 0..<4 { group.addTask { try await queue.uncancel(jobs) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for job in jobs {
        #expect(outcomes.count { $0[job] == "requeued" } == 1, "\(outcomes.map { $0[job] ?? "-" })")
      }
      #expect(try await queue.usage("user").used == 20)
      #expect(try await queue.claim().count == 20)
    }
  }

  @Test("A cancellation that is still open in somebody's transaction is not undone")
  func open() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      try await queue.pool.transaction { open in
        _ = try await queue.cancel([job], on: open)
        #expect(try await queue.uncancel([job]) == [job: "not_cancelled"])
      }
      #expect(try await queue.uncancel([job]) == [job: "requeued"])
    }
  }

  @Test("While somebody's transaction holds the user's month it is busy")
  func heldMonth() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      _ = try await queue.cancel([job])
      try await queue.pool.transaction { (open) async throws in
        _ = try await queue.submit([Ask("user", image: "other")], on: open)
        #expect(try await queue.uncancel([job, 4711]) == [job: "busy", 4711: "unknown"])
      }
      try await queue.pool.transaction { (open) async throws in
        #expect(try await queue.uncancel([job], on: open) == [job: "requeued"])
        #expect(try await queue.uncancel([job]) == [job: "busy"])
      }
      #expect(try await queue.uncancel([job]) == [job: "not_cancelled"])
      #expect(try await queue.usage("user").used == 2)
    }
  }

  @Test(
    "Somebody's open submit holds up that user's jobs alone, retried or uncancelled",
    arguments: [true, false])
  func openSubmit(isRetry: Bool) async throws {
    try await withCheckedQueue { (queue) async throws in
      let users = ["a", "b", "c"]
      for user in users { try await queue.addUser(user) }
      let jobs = try await queue.create(users.map { Ask($0) })
      if isRetry {
        for (job, lease) in try await queue.claim(3).map({ ($0.job, $0.lease) }) {
          _ = try await queue.fail([job], leases: [lease], delay: nil)
        }
      } else {
        _ = try await queue.cancel(jobs)
      }
      func again() async throws -> [Int64: String] {
        isRetry ? try await queue.retryDead(jobs) : try await queue.uncancel(jobs)
      }
      try await queue.pool.transaction { (open) async throws in
        _ = try await queue.submit([Ask("b", image: "open")], on: open)
        #expect(try await again() == [jobs[0]: "requeued", jobs[1]: "busy", jobs[2]: "requeued"])
      }
      let done = isRetry ? "not_dead" : "not_cancelled"
      #expect(try await again() == [jobs[0]: done, jobs[1]: "requeued", jobs[2]: done])
    }
  }

  @Test("However many jobs of a user are queued again, the user's place is taken once")
  func place() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 100)
      _ = try await queue.cancel(jobs)
      let written = try await queue.pool.transaction { transaction in
        _ = try await queue.uncancel(jobs, on: transaction)
        return try await transaction.query(
          "SELECT pg_stat_get_xact_tuples_updated('analysis.fair_share'::regclass)::int"
        ).single().int(0)
      }
      // Once more for the places that the cancellation gave up.
      #expect(written == 2)
    }
  }

  @Test("The directory tells what became of each")
  func directory() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      _ = try await queue.cancel([jobs[0]])
      let outcomes = try await JobDirectory(queue.pool).change(
        [JobID(jobs[0]), JobID(jobs[1]), JobID(99)], .uncancel)
      let month = try #require(
        Period(try await queue.text("SELECT analysis.period_text(max(period)) FROM analysis.job")))
      #expect(
        outcomes == [
          JobID(jobs[0]): .requeued(month), JobID(jobs[1]): .untouched(.notCancelled),
          JobID(99): .untouched(.unknown),
        ])
    }
  }
}
