import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Jobs that failed, by their causes")
struct FailureGroupTests {
  /// A dead job of a cause.
  private func kill(
    _ queue: QueueFixture, _ user: String, _ image: String, _ failureClass: String, _ code: String?,
    _ status: Int16?, _ message: String, minutesAgo: Int
  ) async throws -> JobID {
    let job = try await queue.deadJob(user, image: image)
    _ = try await queue.pool.query(
      """
      UPDATE analysis.dead SET class = $2, code = $3, status = $4, message = $5,
        failed_at = '2026-11-20 12:00Z'::timestamptz - $6 * interval '1 minute'
      WHERE job_id = $1
      """,
      [
        .int64(job), .text(failureClass), .text(code), .int16(status), .text(message),
        .int32(Int32(minutesAgo)),
      ])
    return JobID(job)
  }

  /// Four dead jobs of three causes, the first two alike but for a number in their messages.
  private func fill(_ queue: QueueFixture) async throws -> [JobID] {
    for user in ["ann", "bob"] { try await queue.addUser(user) }
    return [
      try await kill(
        queue, "ann", "a", "server", "SERVER_ERROR", 500, "It failed after 12 s.", minutesAgo: 9),
      try await kill(queue, "bob", "b", "server", "SERVER_ERROR", 500, "It failed after 7 s.", minutesAgo: 1),
      try await kill(queue, "ann", "c", "server", "SERVER_ERROR", 502, "It failed after 7 s.", minutesAgo: 5),
      try await kill(queue, "ann", "d", "not_sent", nil, nil, "Connection refused.", minutesAgo: 3),
    ]
  }

  @Test("are grouped by class, status, code and what the message begins with, those that died last first")
  func groups() async throws {
    try await withQueue { queue in
      let jobs = try await fill(queue)
      let groups = try await JobDirectory(queue.pool).failureGroups()
      #expect(groups.isAllDead && groups.isAllRetrying && groups.retrying.isEmpty)
      #expect(
        groups.dead.map(\.cause.description) == [
          "server 500 SERVER_ERROR", "not_sent", "server 502 SERVER_ERROR",
        ])
      #expect(groups.dead.map(\.count) == [2, 1, 1])
      let first = try #require(groups.dead.first)
      #expect(first.job == jobs[1] && first.message == "It failed after 7 s." && first.state == .dead)
      #expect(first.cause.messageStart == "It failed after " && first.lastAt - first.firstAt == 480)
    }
  }

  @Test("a death keeps the HTTP status of the last failure")
  func status() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = try await queue.submit(1, user: "ann")[0]
      let claimed = try await queue.claim(1)
      _ = try await queue.pool.query(
        """
        SELECT * FROM analysis.fail(0::smallint, sha256('1'), $1, $2, '{NULL}', '{true}', '{server}', '{X}', '{no}', NULL,
          '{503}', '{1}', '{false}', NULL)
        """, [.array([claimed[0].lease]), .array([job.value])])
      let directory = JobDirectory(queue.pool)
      #expect(try await directory.show(job)?.death?.status == 503)
      #expect(try await directory.failed().jobs.first?.cause.description == "server 503 X")
    }
  }

  @Test("those that are to be tried again have the cause of their last attempt")
  func retrying() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let jobs = try await queue.submit(2, user: "ann")
      let claimed = try await queue.claim(2)
      _ = try await queue.fail(jobs.map(\.value), leases: claimed.map(\.lease), delay: 3_600_000)
      let groups = try await JobDirectory(queue.pool).failureGroups()
      #expect(groups.dead.isEmpty && groups.retrying.map(\.count) == [2])
      #expect(groups.retrying.first?.state == .scheduled && groups.retrying.first?.job == jobs.max())
    }
  }

  @Test("are listed and retried by a cause, or by a part of one")
  func byCause() async throws {
    try await withQueue { queue in
      let jobs = try await fill(queue)
      let directory = JobDirectory(queue.pool)
      func found(_ cause: FailureCause?) async throws -> [JobID] {
        try await directory.jobs(JobFilter(cause: cause), for: .retry, limit: 100).jobs
      }
      #expect(try await found(FailureCause("server")) == jobs.prefix(3).sorted())
      #expect(try await found(FailureCause("server 502")) == [jobs[2]])
      #expect(try await found(FailureCause("server SERVER_ERROR")) == jobs.prefix(3).sorted())
      #expect(try await found(FailureCause("store")) == [])
      // All parts, of a job that has no status and no code.
      let cause = try #require(try await directory.cause(of: jobs[3]))
      #expect(cause.status == 0 && cause.code == "" && cause.messageStart == "Connection refused.")
      #expect(try await found(cause) == [jobs[3]])
      let outcomes = try await directory.change(try await found(directory.cause(of: jobs[0])), .retry)
      #expect(Set(outcomes.keys) == [jobs[0], jobs[1]] && outcomes.values.allSatisfy(\.isDone))
      #expect(try await directory.failed().jobs.count == 2)
      #expect(try await directory.cause(of: jobs[0]) == nil, "it is not dead any more")
    }
  }

  @Test("dead jobs are found by batch and reference too")
  func byLabel() async throws {
    try await withQueue { queue in
      let jobs = try await fill(queue)
      try await queue.execute(
        """
        INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id, reference)
        SELECT d.shard, d.period, d.job_id, d.user_id, 17, 'visit-' || d.job_id FROM analysis.dead d
        WHERE d.job_id IN (\(jobs[0]), \(jobs[3]))
        """)
      let directory = JobDirectory(queue.pool)
      let batch = try await directory.failed(JobFilter(batch: BatchID(17)))
      #expect(batch.jobs.map(\.summary.id) == [jobs[3], jobs[0]])
      let visit = try await directory.failed(JobFilter(reference: "visit-\(jobs[0])"))
      #expect(visit.jobs.map(\.summary.id) == [jobs[0]])
      #expect(try await directory.failed(JobFilter(reference: "nothing")).jobs.isEmpty)
    }
  }

  @Test("a login that sees one clinic groups, lists and asks for the causes of its own alone")
  func clinics() async throws {
    try await withQueue { queue in
      let jobs = try await fill(queue)
      try await queue.execute(
        """
        INSERT INTO analysis.clinic (name) VALUES ('north');
        UPDATE analysis.account SET clinic_id = (SELECT id FROM analysis.clinic) WHERE user_ref = 'bob';
        """)
      try await withLogin(of: ["operator"], in: queue) { (login) async throws in
        let directory = JobDirectory(login)
        #expect(try await directory.failureGroups().dead.count == 3)
        try await queue.execute("SELECT analysis.grant_clinics('analysis_operator', '{north}')")
        #expect(try await directory.failureGroups().dead.map(\.job) == [jobs[1]])
        #expect(
          try await directory.failed(JobFilter(cause: FailureCause("server"))).jobs.map(\.summary.id) == [
            jobs[1]
          ])
        #expect(try await directory.cause(of: jobs[0]) == nil)
        #expect(try await directory.cause(of: jobs[1]) != nil)
      }
    }
  }

  @Test(
    "a cause is read as it is shown",
    arguments: ["server", "server 500", "server SERVER_ERROR", "server 500 SERVER_ERROR", "image too large"])
  func reading(text: String) throws {
    #expect(try #require(FailureCause(text)).description == text)
  }

  @Test("what begins with no class is no cause", arguments: ["", "500", "everything", "SERVER 500"])
  func refused(text: String) {
    #expect(FailureCause(text) == nil)
  }
}
