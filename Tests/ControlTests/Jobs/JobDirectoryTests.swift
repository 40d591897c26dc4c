import PostgreSQL
import QueueTestSupport
import Synchronization
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The directory of jobs")
struct JobDirectoryTests {
  /// Six jobs of two users: one analysed, one dead, one cancelled, one running, one scheduled, one waiting.
  private func six(_ queue: QueueFixture) async throws -> [JobID] {
    try await queue.addUser("a", plan: "free")
    try await queue.addUser("b")
    var jobs = try await queue.submit(4, user: "a")
    let claimed = try await queue.claimJobs(count: 3)
    _ = try await queue.statements.complete([try queue.completed(claimed[0])]).run(on: queue.pool)
    let failed = FailedAttempt(
      lease: claimed[1].lease, job: claimed[1].id, decision: .dead, failureClass: .permanent,
      code: "INVALID_IMAGE_FORMAT", message: "The image was refused.", calls: 1)
    _ = try await queue.statements.fail([failed]).run(on: queue.pool)
    _ = try await JobDirectory(queue.pool).change([claimed[2].id], .cancel)
    _ = try await queue.claimJobs(lease: 2000, count: 1)
    let now = Double(try await queue.number("SELECT extract(epoch FROM now())::int"))
    let later = try await queue.submit([
      queue.submission("b", 1, kind: .ear, runAt: now + 5), queue.submission("b", 2, kind: .ear),
    ])
    jobs += later.compactMap(\.job)
    return jobs
  }

  @Test("knows each job's state")
  func states() async throws {
    try await withQueue { queue async throws in
      let jobs = try await six(queue)
      let directory = JobDirectory(queue.pool)
      let states = try await directory.states(jobs + [JobID(1_000_000)])
      #expect(
        jobs.map { states[$0] } == [.succeeded, .dead, .cancelled, .running, .scheduled, .waiting])
      #expect(states.count == 6)
      #expect(try await directory.show(JobID(1_000_000)) == nil)
    }
  }

  @Test("lists jobs by user, state, kind and month, the latest first")
  func filters() async throws {
    try await withQueue { queue async throws in
      let jobs = try await six(queue)
      let directory = JobDirectory(queue.pool)
      func listed(_ filter: JobFilter) async throws -> [JobID] {
        try await directory.list(filter).jobs.map(\.id)
      }
      #expect(try await listed(JobFilter()).sorted() == jobs.sorted())
      #expect(try await listed(JobFilter(user: "a")) == jobs.prefix(4).sorted().reversed())
      #expect(try await listed(JobFilter(kind: .ear)).sorted() == jobs.suffix(2).sorted())
      for (place, state) in [JobState.succeeded, .dead, .cancelled, .running, .scheduled, .waiting]
        .enumerated()
      {
        #expect(try await listed(JobFilter(state: state)) == [jobs[place]], "\(state)")
      }
      #expect(try await listed(JobFilter(user: "b", state: .dead)).isEmpty)
      #expect(try await listed(JobFilter(user: "nobody")).isEmpty)
      #expect(try await listed(JobFilter(month: Period("2001-01"))).isEmpty)
    }
  }

  @Test("lists page by page, each job once", arguments: [1, 2, 3, 7, 100])
  func pages(size: Int) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(7)
      let directory = JobDirectory(queue.pool)
      var seen: [JobID] = []
      var cursor: JobCursor?
      var pages = 0
      repeat {
        let page = try await directory.list(JobFilter(user: "clinic"), after: cursor, limit: size)
        seen += page.jobs.map(\.id)
        cursor = page.next
        pages += 1
      } while cursor != nil && pages < 20
      #expect(seen == jobs.sorted().reversed())
    }
  }

  @Test("tells why a job is dead, and retries it for a unit of the present month")
  func retry() async throws {
    try await withQueue { queue async throws in
      let jobs = try await six(queue)
      let directory = JobDirectory(queue.pool)
      let dead = try #require(try await directory.show(jobs[1]))
      #expect(dead.death?.failureClass == "permanent")
      #expect(dead.death?.code == "INVALID_IMAGE_FORMAT")
      #expect(dead.death?.message == "The image was refused.")
      #expect(dead.attempts.count == 1)
      let outcomes = try await directory.change([jobs[0], jobs[1], JobID(1_000_000)], .retry)
      #expect(outcomes[jobs[0]] == .untouched(.notDead))
      #expect(outcomes[JobID(1_000_000)] == .untouched(.notDead))
      #expect(outcomes[jobs[1]] == .requeued(dead.summary.period))
      let again = try #require(try await directory.show(jobs[1]))
      #expect(again.summary.state == .waiting)
      #expect(again.attempts.count == 1, "the history stays")
    }
  }

  @Test("retries what a list found, as far as the quota goes, the lowest numbers first")
  func retryListed() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("basic", plan: "free")
      let jobs = try await queue.submit(5, user: "basic")
      let failures = try await queue.claimJobs().map {
        FailedAttempt(
          lease: $0.lease, job: $0.id, decision: .dead, failureClass: .permanent, message: "Refused.")
      }
      _ = try await queue.statements.fail(failures).run(on: queue.pool)
      let others = try await queue.submit((1...3).map { queue.submission("basic", 10 + $0) })
      #expect(others.allSatisfy { $0.job != nil }, "the units of dead jobs were given back")
      let directory = JobDirectory(queue.pool)
      let dead = try await directory.list(JobFilter(user: "basic", state: .dead)).jobs.map(\.id)
      let outcomes = try await directory.change(dead, .retry)
      #expect(outcomes.values.filter { $0 == .quota }.count == 3)
      #expect(Set(outcomes.filter { $0.value != .quota }.keys) == Set(jobs.sorted().prefix(2)))
    }
  }

  @Test("lists what is rare in several shards without a gap, though pages are cut short")
  func shards() async throws {
    try await withQueue { queue async throws in
      _ = try await queue.pool.query("UPDATE analysis.setting SET value = '3' WHERE name = 'shards'")
      for user in 0..<12 { try await queue.addUser("user-\(user)") }
      var rare: [JobID] = []
      for user in 0..<12 {
        rare += try await queue.submit([queue.submission("user-\(user)", 1, kind: .ear)]).compactMap(\.job)
        // Of one shard there are many more jobs than of the others.
        let count = [3000, 40, 700][Int(try await ShardDirectory(queue.pool).shard(of: "user-\(user)"))]
        _ = try await queue.pool.query(
          """
          INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
            max_attempts, image_unsanitized, image_mark)
          SELECT j.shard, j.period, 1, 5, nextval('analysis.job_id'), j.user_id, j.image_id, j.vt, j.created_at, 1, j.period, 3, false,
            j.image_mark
          FROM (SELECT * FROM analysis.job WHERE id = $1) j, generate_series(1, $2)
          """, [.int64(rare[rare.count - 1].value), .int32(Int32(count))])
      }
      let directory = JobDirectory(queue.pool)
      var seen: [JobID] = []
      var cursor: JobCursor?
      var cutShort = 0
      repeat {
        let page = try await directory.list(JobFilter(kind: .ear), after: cursor, limit: 2)
        seen += page.jobs.map(\.id)
        if page.isCutShort { cutShort += 1 }
        #expect(page.jobs.count <= 2 && (cursor == nil || page.next == nil || page.next! < cursor!))
        cursor = page.next
      } while cursor != nil && seen.count <= 12
      #expect(seen == rare.sorted().reversed())
      #expect(cutShort > 0)
      // A page of all is never cut short.
      let all = try await directory.list(limit: 10_000)
      #expect(
        all.jobs.count == 10_000 && !all.isCutShort
          && all.next == all.jobs.last.map { JobCursor(period: $0.period, job: $0.id) })
    }
  }

  @Test("cancels what is not finished, and says what is")
  func cancel() async throws {
    try await withQueue { queue async throws in
      let jobs = try await six(queue)
      let outcomes = try await JobDirectory(queue.pool).change(jobs + [JobID(1_000_000)], .cancel)
      #expect(
        jobs.map { outcomes[$0] } == [
          .untouched(.finished), .untouched(.dead), .cancelled, .cancelled, .cancelled, .cancelled,
        ])
      #expect(outcomes[JobID(1_000_000)] == .untouched(.unknown))
    }
  }

  @Test("waits until jobs are finished, and tells each as it ends")
  func wait() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let jobs = try await queue.submit(3)
      let claimed = try await queue.claimJobs()
      _ = try await queue.statements.complete([try queue.completed(claimed[0])]).run(on: queue.pool)
      let directory = JobDirectory(queue.pool)
      let seen = Mutex<[JobID]>([])
      // The others end only when the first has been seen to.
      let states = try await directory.wait(for: jobs) { job, _ in
        if seen.withLock({
          $0.append(job); return $0.count
        }) == 1 {
          Task { _ = try await directory.change(Array(jobs.suffix(2)), .cancel) }
        }
      }
      #expect(states == [jobs[0]: .succeeded, jobs[1]: .cancelled, jobs[2]: .cancelled])
      #expect(seen.withLock { $0.first } == jobs[0])
      let error = await #expect(throws: JobQueueError.self) {
        try await directory.wait(for: [JobID(1_000_000)])
      }
      #expect(error?.code == .notFound)
    }
  }

  @Test("pauses longer and longer between two looks, and shorter again when something happened")
  func schedule() {
    var schedule = JobDirectory.WaitSchedule()
    #expect(schedule.next() == .milliseconds(50))
    #expect(schedule.next() == .milliseconds(75))
    for _ in 0..<20 { _ = schedule.next() }
    #expect(schedule.next() == .seconds(1))
    schedule.reset()
    #expect(schedule.next() == .milliseconds(50))
  }
}
