import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Failed jobs, and who has a running one")
struct FailedJobTests {
  /// Dead jobs of some users, in the order in which they died, each a minute after the one before.
  private func kill(_ queue: QueueFixture, _ users: [String]) async throws -> [Int64] {
    var jobs: [Int64] = []
    for (index, user) in users.enumerated() {
      jobs.append(try await queue.deadJob(user, image: "photo \(index)"))
      try await queue.execute(
        "UPDATE analysis.dead SET failed_at = now() - interval '\(users.count - index) minutes' WHERE job_id = \(jobs[index])"
      )
    }
    return jobs
  }

  @Test("are listed by the time of their end, the last first, page by page, with cause and worker")
  func pages() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let jobs = try await kill(queue, ["ann", "bob", "ann", "ann"])
      // The one with the lowest number died last.
      try await queue.execute("UPDATE analysis.dead SET failed_at = now() WHERE job_id = \(jobs[0])")
      let directory = JobDirectory(queue.pool)
      let first = try await directory.failed(limit: 2)
      #expect(first.jobs.map(\.summary.id.value) == [jobs[0], jobs[3]])
      let failure = try #require(first.jobs.first)
      #expect(failure.summary.user == "ann" && failure.summary.state == .dead)
      #expect(!failure.failureClass.isEmpty && !failure.message.isEmpty && failure.worker != nil)
      let second = try await directory.failed(after: first.next, limit: 2)
      #expect(second.jobs.map(\.summary.id.value) == [jobs[2], jobs[1]] && second.next == nil)
      #expect(
        try await directory.failed(JobFilter(user: "bob")).jobs.map(\.summary.id.value) == [jobs[1]])
      #expect(try await directory.failed(JobFilter(kind: .ear)).jobs.isEmpty)
      #expect(try await directory.failed(JobFilter(user: "nobody")).jobs.isEmpty)
    }
  }

  @Test("a search that finds few among many stops, and goes on where it stopped")
  func cutShort() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = try await kill(queue, ["ann"])[0]
      try await queue.execute(
        """
        INSERT INTO analysis.dead (
          shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, message)
        SELECT d.shard, d.period, 2, 1, 1000000 + i, d.user_id, now(), 1, 'server', 'x'
        FROM analysis.dead d, generate_series(1, 2600) i
        """)
      let directory = JobDirectory(queue.pool)
      let throats = JobFilter(kind: .throat)
      let first = try await directory.failed(throats, limit: 5)
      #expect(first.isCutShort && first.jobs.isEmpty)
      let second = try await directory.failed(throats, after: first.next, limit: 5)
      #expect(second.jobs.map(\.summary.id.value) == [job] && !second.isCutShort)
    }
  }

  @Test("an attempt names its worker, by its number when nothing is known of it any more")
  func attempted() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = JobID(try await kill(queue, ["ann"])[0])
      let directory = JobDirectory(queue.pool)
      let number = try #require(try await directory.show(job)?.attempts.first).worker
      try await queue.execute(
        """
        INSERT INTO analysis.worker (shard, id, host, pid, version, started_at, heartbeat_at, in_flight)
        VALUES (0, \(number), 'w1', 42, '1', now(), now(), 0)
        """)
      let known = try #require(try await directory.show(job))
      #expect(known.attempts[0].workerText == "w1 42")
      try await queue.execute("DELETE FROM analysis.worker")
      let gone = try #require(try await directory.show(job))
      #expect(gone.attempts[0].workerText == "number \(number)")
    }
  }

  @Test("a running job names its worker and the endpoint of its type, to who sees its user's clinic")
  func holder() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic")
      let job = try await queue.submit(1)[0]
      let directory = JobDirectory(queue.pool)
      #expect(try await directory.show(job)?.holder == nil, "it waits")
      _ = try await queue.claimJobs()
      let before = try #require(try await directory.show(job)?.holder)
      #expect(before.name == nil && before.endpoints.isEmpty, "it has given no sign of life")
      _ = try await queue.statements.heartbeat([1000], leaseDuration: .seconds(60), inFlight: 1).run(
        on: queue.pool)
      try await queue.execute(
        """
        UPDATE analysis.worker SET report = '{"endpoints": [
          {"name": "https://ears.example.org", "kinds": ["ear"]},
          {"name": "https://throats.example.org", "kinds": ["throat"]}]}'
        """)
      let holder = try #require(try await directory.show(job)?.holder)
      #expect(holder.name == "test 1" && holder.version == "1.0" && holder.worker == before.worker)
      #expect(holder.endpoints == ["https://throats.example.org"])
      try await queue.execute("UPDATE analysis.worker SET report = '{\"endpoints\": 5}'")
      #expect(try await directory.show(job)?.holder?.endpoints == [])
      try await queue.execute("INSERT INTO analysis.clinic (name) VALUES ('north')")
      try await withLogin(of: ["operator"], in: queue) { (login) async throws in
        #expect(try await JobDirectory(login).show(job)?.holder?.name == "test 1")
        try await queue.execute("SELECT analysis.grant_clinics('analysis_operator', '{north}')")
        let rows = try await login.query("SELECT * FROM analysis.job_holder(0::smallint, \(job))")
        #expect(rows.count == 0)
      }
    }
  }
}
