import PostgreSQL
import QueueTestSupport
import Testing

@Suite("A lease belongs to the login and to the secret with which its jobs were claimed")
struct WorkerSecretTests {
  /// Who tries it.
  enum Attacker: String, CaseIterable, Sendable {
    case otherLogin, otherLoginWithTheSecret, sameLoginWithoutTheSecret

    var secret: String { self == .otherLoginWithTheSecret ? WorkerSecretTests.secret : "sha256('another')" }
    var isOtherLogin: Bool { self != .sameLoginWithoutTheSecret }
  }

  fileprivate static let secret = "sha256('1')"

  /// What a worker says of a lease: completing, failing twice, releasing, disclaiming, its sign of life, reading its image.
  private static func calls(_ secret: String, job: Int64, period: Int16) -> [String] {
    let leased = "0::smallint, \(secret), '{100}'::bigint[], '{\(job)}'::bigint[]"
    let failed = "'{true}', '{server}', NULL, '{no}', NULL, NULL, '{1}'::smallint[], '{false}', NULL"
    return [
      """
      SELECT analysis.complete(\(leased), '{a}', ARRAY[NULL::timestamptz], '{"[]"}', '{0}', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL, '{-1}', '{-1}', '{false}', '{false}', '{1}', '{1}', NULL, NULL, 'test')
      """,
      "SELECT * FROM analysis.fail(\(leased), '{0}', \(failed))",
      "SELECT * FROM analysis.fail(\(leased), ARRAY[NULL::bigint], \(failed))",
      "SELECT analysis.release(\(leased), 0)",
      "SELECT analysis.disclaim(0::smallint, \(secret), 100, 4)",
      "SELECT analysis.heartbeat(0::smallint, \(secret), '{100}', 1, 'host', 1, 'test', 0)",
      "SELECT o_image FROM analysis.images_of_jobs(0::smallint, \(secret), \(period)::smallint, '{100}', '{\(job)}')",
    ]
  }

  /// A queue with one job in the lease 100 of a worker's login, and a second login of that role.
  private func with(
    _ body: (_ queue: QueueFixture, _ own: ConnectionPool, _ other: ConnectionPool, _ job: Claimed)
      async throws
      -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user")])
      try await withLogin("one", of: ["worker"], in: queue) { (own) async throws in
        try await withLogin("two", of: ["worker"], in: queue) { (other) async throws in
          let job = try await queue.claim(1, lanes: [5], on: own)[0]
          try await body(queue, own, other, job)
        }
      }
      try await queue.expectInvariants()
    }
  }

  @Test("nothing comes of what anybody else says of it, as if it were lost", arguments: Attacker.allCases)
  func refused(_ attacker: Attacker) async throws {
    try await with { (queue, own, other, job) async throws in
      let state = "SELECT md5(string_agg(l::text, '')) FROM analysis.lease l"
      let before = try await queue.text(state)
      for call in Self.calls(attacker.secret, job: job.job, period: job.period) {
        do {
          let said = try await (attacker.isOtherLogin ? other : own).query("SELECT c::text FROM (\(call)) c")
            .map { try $0.string(0) }
          let isNothing = said.allSatisfy {
            ["(\"({},{})\")", "({})", "(0)"].contains($0) || $0.contains("stale")
          }
          #expect(isNothing, "\(call): \(said)")
        } catch let error as PostgreSQLError {
          // Only where a lease is known are its images told to be gone.
          #expect(error.sqlState == "40001" && call.contains("images_of_jobs"), "\(call): \(error)")
        }
      }
      #expect(try await queue.text(state) == before)
      #expect(try await queue.complete([job.job], leases: [job.lease], on: own) == [job.job])
    }
  }

  @Test("nobody else's call holds it, so that its worker can push it on")
  func unheld() async throws {
    try await with { (queue, own, other, job) async throws in
      for call in Self.calls("sha256('another')", job: job.job, period: job.period).dropLast() {
        try await other.withConnection { connection in
          try await connection.execute(script: "BEGIN; \(call)")
          let free = try await queue.number(
            "SELECT count(*) FROM (SELECT 1 FROM analysis.lease FOR UPDATE SKIP LOCKED) l")
          try await connection.execute(script: "ROLLBACK")
          #expect(free == 1, "\(call)")
        }
      }
      #expect(try await queue.heartbeat([100], on: own) == [100])
    }
  }

  @Test("the images of its jobs are read by nobody else, whatever leases of their own they name beside it")
  func images() async throws {
    try await with { (queue, _, other, job) async throws in
      _ = try await queue.create([Ask("user", image: "second")])
      let its = try await queue.claim(1, worker: 2, lease: 200, lanes: [5], on: other)[0]
      let own = try await queue.number("SELECT image_id FROM analysis.job WHERE id = \(its.job)")
      func read(_ leases: String, _ jobs: String) async throws -> [Int] {
        try await other.query(
          """
          SELECT o_image FROM analysis.images_of_jobs(
            0::smallint, sha256('2'), \(job.period)::smallint, '\(leases)', '\(jobs)')
          """
        ).map { try $0.int(0) }
      }
      let error = await #expect(throws: PostgreSQLError.self) {
        try await read("{200,200,100}", "{\(its.job),\(job.job)}")
      }
      #expect(error?.sqlState == "40001")
      #expect(try await read("{200,200,100}", "{\(its.job)}") == [own])
    }
  }

  @Test("a number of a lease that is taken is refused, and the jobs stay")
  func taken() async throws {
    try await with { (queue, _, other, _) async throws in
      _ = try await queue.create([Ask("user", image: "second")])
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.claim(1, worker: 2, lanes: [5], on: other)
      }
      #expect(error?.sqlState == "23505")
      #expect(try await queue.count("ready") == 1)
    }
  }

  @Test("what another login says of a worker does not reach the worker's row")
  func row() async throws {
    try await with { (queue, own, other, _) async throws in
      let life =
        "SELECT count(*) FROM analysis.heartbeat(0::smallint, \(Self.secret), '{}', 60000, 'host', 1, 'test', 0)"
      _ = try await own.query(life)
      let row = "SELECT w::text FROM analysis.worker w WHERE w.id = (SELECT worker_id FROM analysis.lease)"
      let before = try await queue.text(row)
      _ = try await other.query("SELECT analysis.retire(0::smallint, \(Self.secret))")
      _ = try await other.query("SELECT analysis.record_report(0::smallint, \(Self.secret), '{\"a\": 1}')")
      _ = try await other.query(life)
      #expect(try await queue.text(row) == before)
      #expect(try await queue.count("worker") == 2)
    }
  }

  @Test("a worker whose row is gone, as after a promotion, goes on with the same secret")
  func forgotten() async throws {
    try await with { (queue, own, _, job) async throws in
      _ = try await queue.heartbeat([100], on: own)
      try await queue.execute("DELETE FROM analysis.worker")
      #expect(try await queue.heartbeat([100], on: own) == [100])
      #expect(
        try await queue.number(
          "SELECT count(*) FROM analysis.worker JOIN analysis.lease ON worker_id = worker.id") == 1)
      #expect(try await queue.complete([job.job], leases: [job.lease], on: own) == [job.job])
    }
  }

  @Test("no login rescues a lease that runs, or one that its worker could not push on since the server began")
  func rescue() async throws {
    try await with { (queue, _, other, job) async throws in
      let rescue = "SELECT o_leases FROM analysis.rescue(0::smallint, 100000, 0)"
      #expect(try await other.query(rescue).single().int(0) == 0)
      // The server began to write on its timeline just now, and the lease has run out meanwhile.
      try await queue.execute(
        """
        INSERT INTO analysis.gauge (name, value, at) VALUES ('timeline', analysis.timeline(), clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, at = EXCLUDED.at;
        UPDATE analysis.lease SET deadline = '-infinity'
        """)
      #expect(try await other.query(rescue).single().int(0) == 0)
      #expect(try await queue.rescue() == [1, 1, 0])
      #expect(try await queue.states() == [job.job: "waiting"])
    }
  }
}
