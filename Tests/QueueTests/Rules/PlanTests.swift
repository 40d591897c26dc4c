import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("Plans of the hot functions")
struct PlanTests {
  /// Jobs straight into the tables, as many submits would.
  private func fill(_ queue: QueueFixture, on connection: some Queryable, _ count: Int, user: String = "1")
    async throws
  {
    try await connection.execute(
      script: """
        WITH ids AS (
          SELECT nextval('analysis.job_id') AS id, g, analysis.period_of(now(), 'UTC') AS period FROM generate_series(1, \(count)) g),
        jobs AS (
          INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
            max_attempts, image_unsanitized, image_mark)
          SELECT 0, period, 1, 5, id, \(user), 1, g, now(), 1, period, 3, false, '' FROM ids)
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id) SELECT 0, 5, 0, period, g, id FROM ids
        """, deadline: patience)
  }

  /// Images, jobs and analyses of 900 others, 20,000 of each.
  private func fillWithOthers(_ queue: QueueFixture, on connection: some Queryable) async throws {
    try await fill(queue, on: connection, 20_000, user: "1000 + g % 900")
    try await connection.execute(
      script: """
        INSERT INTO analysis.image (shard, period, unsanitized, user_id, created_at, used_at, byte_count, sha256, bytes)
        SELECT 0, analysis.period_of(now(), 'UTC'), false, 1000 + g % 900, now(), now(), 1, sha256(g::text::bytea), 'x'
        FROM generate_series(1, 20000) g;
        INSERT INTO analysis.result (
          shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls, condition_count, analysis_id, conditions)
        SELECT 0, j.period, 1, 1, j.id, j.user_id, now(), 1, 1, 0, 'x', '[]' FROM analysis.job j WHERE j.user_id >= 1000
        """, deadline: patience)
  }

  /// Expects a call to read a few rows alone of the months' images, jobs and analyses.
  private func expectFewReads(
    _ what: String, on connection: some Queryable, _ call: () async throws -> Void
  ) async throws {
    let tables = ["image_p%", "job_p%", "result_p%"]
    var before: [String: Reads] = [:]
    for table in tables { before[table] = try await read(table, on: connection) }
    try await call()
    for table in tables {
      let read = try await read(table, on: connection) - (try #require(before[table]))
      #expect(read.bySequence == 0 && read.byIndex <= 12, "\(what): \(read) of \(table)")
    }
  }

  /// Rows that the connection has read of a table and not told the server's statistics yet: by sequential
  /// scans, and by index.
  private func read(_ table: String, on connection: some Queryable) async throws -> Reads {
    let row = try await connection.query(
      """
      SELECT coalesce(sum(seq_tup_read), 0)::bigint, coalesce(sum(idx_tup_fetch), 0)::bigint FROM pg_stat_xact_user_tables
      WHERE schemaname = 'analysis' AND relname LIKE $1
      """, [.text(table)]
    ).single()
    return Reads(bySequence: try row.int(0), byIndex: try row.int(1))
  }

  /// The arguments of a submit after the images, for one that gives what it must; and with no images before them.
  private static let rest = "NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3::smallint, NULL, NULL)"
  private static let none = "NULL, \(PlanTests.rest)"

  private struct Reads: Sendable {
    let bySequence: Int
    let byIndex: Int

    static func - (left: Reads, right: Reads) -> Reads {
      Reads(bySequence: left.bySequence - right.bySequence, byIndex: left.byIndex - right.byIndex)
    }
  }

  @Test("Plans made on empty new tables stay bounded with 200,000 rows, and LIMIT n takes exactly n")
  func madeOnEmptyTables() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.pool.withConnection { connection in
        // The session's plans come from here: everything is called while the tables are empty.
        for lease in [1, 2, 3] as [Int64] {
          try await fill(queue, on: connection, 1)
          let claimed = try await queue.claim(1, lease: lease * 10, on: connection)
          _ = try await queue.complete(claimed.map(\.job), leases: [claimed[0].lease], on: connection)
        }
        try await fill(queue, on: connection, 200_000)
        // As an old snapshot keeps thousands of leases that are gone.
        try await connection.execute(
          script: """
            INSERT INTO analysis.lease (shard, lane, id, worker_id, deadline, job_ids, periods, tries, user_ids)
            SELECT 0, 5, 1000000 + g, 2, now() + interval '1 day', '{1}', '{24322}', '{0}', '{1}'
            FROM generate_series(1, 5000) g
            """)
        for count in [1, 3, 100, 991] as [Int32] {
          // Statistics are sent between transactions only: within one, differences are exact.
          try await connection.execute(script: "BEGIN")
          let before = (
            ready: try await read("ready", on: connection), jobs: try await read("job_p%", on: connection),
            results: try await read("result_p%", on: connection),
            leases: try await read("lease", on: connection)
          )
          let claimed = try await queue.claim(count, lease: Int64(count) * 100, on: connection)
          #expect(claimed.count == Int(count))
          let ready = try await read("ready", on: connection) - before.ready
          #expect(ready.bySequence == 0)
          // Found once and, where the DELETE goes by range and not by address, once more; before that one row of the
          // lane showed that there is something in it.
          #expect(ready.byIndex <= 2 * Int(count) + 1)
          let stored = try await queue.complete(
            claimed.map(\.job), leases: [claimed[0].lease], on: connection)
          #expect(stored.count == Int(count))
          let jobs = try await read("job_p%", on: connection) - before.jobs
          #expect(jobs.bySequence == 0)
          #expect(jobs.byIndex <= 2 * Int(count))
          let results = try await read("result_p%", on: connection) - before.results
          #expect(results.bySequence == 0)
          let leases = try await read("lease", on: connection) - before.leases
          #expect(leases.bySequence == 0)
          #expect(leases.byIndex <= 10)
          try await connection.execute(script: "ROLLBACK")
        }
      }
      // What was filled in by hand has no usage and no submit: the invariants are not for it.
      try await queue.execute("TRUNCATE analysis.ready, analysis.job, analysis.result, analysis.lease")
    }
  }

  @Test("A claim reads what it takes where 100,000 jobs have one virtual time and nothing is analysed")
  func oneVirtualTime() async throws {
    try await withCheckedQueue { queue in
      try await queue.pool.withConnection { connection in
        try await fill(queue, on: connection, 100_000)
        try await connection.execute(
          script: """
            TRUNCATE analysis.ready;
            INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
            SELECT 0, 5, 0, j.period, 0, j.id FROM analysis.job j
            """, deadline: patience)
        for lease in [10, 20] as [Int64] {
          try await connection.execute(script: "BEGIN")
          let blocks = """
            SELECT coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::bigint FROM pg_class c
            WHERE c.relname IN ('ready', 'ready_pkey')
            """
          let before = try await connection.query(blocks).single().int(0)
          #expect(try await queue.claim(100, lease: lease, on: connection).count == 100)
          let fetched = try await connection.query(blocks).single().int(0) - before
          // A few for each row; the entries of the same virtual time alone fill some hundred.
          #expect(fetched < 700, "\(fetched) blocks")
          try await connection.execute(script: "COMMIT")
        }
      }
      try await queue.execute("TRUNCATE analysis.ready, analysis.job, analysis.lease")
    }
  }

  @Test("Claims and looks read few entries where the table was analysed when few of its rows were left")
  func analysedNearlyEmpty() async throws {
    try await withCheckedQueue { queue in
      try await queue.pool.withConnection { connection in
        try await fill(queue, on: connection, 20_000)
        try await connection.execute(
          script: """
            ANALYZE analysis.ready; DELETE FROM analysis.ready WHERE vt > 3; ANALYZE analysis.ready;
            INSERT INTO analysis.lane_clock (shard, lane, staged_at, at, staged)
            VALUES (0, 5, '-infinity', '-infinity', 1)
            """, deadline: patience)
        let entries = "SELECT pg_stat_get_xact_tuples_returned('analysis.ready_pkey'::regclass)::bigint"
        for call in [
          "analysis.claim(0::smallint, sha256('1'), 10, '{5}', '{0}', '{1}', 1, 60000)",
          "analysis.work('{0}', '{5}', true, true)",
          "analysis.tick(0::smallint, '{5}', '{2}')", "analysis.sweep(0::smallint)",
        ] {
          try await connection.execute(script: "BEGIN")
          let before = try await connection.query(entries).single().int(0)
          _ = try await connection.query("SELECT * FROM \(call)")
          let read = try await connection.query(entries).single().int(0) - before
          #expect(read <= 10, "\(call) read \(read) entries")
          try await connection.execute(script: "ROLLBACK")
        }
      }
      try await queue.execute("TRUNCATE analysis.ready, analysis.job, analysis.lease")
    }
  }

  @Test(
    "A mass is cancelled at the same cost to its end, by a plan that was made when its first jobs had just ended"
  )
  func cancelledMass() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.pool.withConnection { connection in
        try await fill(queue, on: connection, 4000)
        let jobs = try await connection.query("SELECT id FROM analysis.job ORDER BY id").map {
          try $0.int64("id")
        }
        for first in stride(from: 0, to: jobs.count, by: 1000) {
          try await connection.execute(script: "BEGIN")
          let before = try await read("result_p%", on: connection)
          let answers = try await connection.query(
            "SELECT o_outcome FROM analysis.cancel(0::smallint, $1)",
            [.array(Array(jobs[first..<first + 1000]))])
          #expect(try answers.filter { try $0.string("o_outcome") == "cancelled" }.count == 1000)
          let results = try await read("result_p%", on: connection) - before
          #expect(results.bySequence == 0)
          #expect(results.byIndex <= 3000, "\(results.byIndex) rows read behind \(first) cancelled jobs")
          try await connection.execute(script: "COMMIT")
        }
      }
      try await queue.execute("TRUNCATE analysis.ready, analysis.job, analysis.result, analysis.refund")
    }
  }

  @Test(
    "A plan for images that was made in an empty month reaches each by its key, and its user",
    arguments: [false, true])
  func images(ofClaim: Bool) async throws {
    try await withCheckedQueue { queue in
      try await queue.pool.withConnection { connection in
        let month = try await queue.number("SELECT analysis.period_of(now(), 'UTC')::int")
        func ask(_ jobs: String) -> String {
          "SELECT o_image, o_user_sha256 FROM analysis."
            + (ofClaim
              ? "images_of_claim(0::smallint, sha256('1'), 1, 4, 32, 100000)"
              : "images_of_jobs(0::smallint, sha256('1'), \(month)::smallint, '{1}', '\(jobs)')")
        }
        #expect(try await connection.query(ask("{}")).count == 0)
        try await connection.execute(
          script: """
            INSERT INTO analysis.account (shard, user_ref, zone, key_salt)
            SELECT 0, 'u' || g, 'UTC', sha256('salt') FROM generate_series(1, 5000) g;
            INSERT INTO analysis.image (shard, period, user_id, sha256, bytes, byte_count, unsanitized, created_at, used_at, encrypted_by, wrapped_key)
            SELECT 0, \(month), a.user_id, sha256(n::text::bytea), decode(repeat('01', 41), 'hex'), 41, false, now(), now(), 5,
              decode(repeat('07', 72), 'hex')
            FROM analysis.account a CROSS JOIN generate_series(1, 2) n;
            INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
              max_attempts, image_unsanitized, image_mark)
            SELECT 0, \(month), 1, 5, i.id, i.user_id, i.id, 0, now(), 41, \(month), 3, false, substr(i.sha256, 1, 16)
            FROM analysis.image i;
            INSERT INTO analysis.lease (shard, lane, id, worker_id, deadline, job_ids, periods, tries, user_ids)
            SELECT 0, 5, 1, analysis.worker_number(sha256('1')), now() + interval '1 day', array_agg(j.id), array_agg(j.period), array_fill(0::smallint, ARRAY[64]),
              array_agg(j.user_id)
            FROM (SELECT k.id, k.period, k.user_id FROM analysis.job k ORDER BY k.id DESC LIMIT 64) j
            """)
        let jobs = try await queue.texts("SELECT job_ids[1:32]::text FROM analysis.lease")[0]
        try await connection.execute(script: "BEGIN")
        let tables = ["image_p%", "account", "job_p%", "lease"]
        var before: [Reads] = []
        for table in tables { before.append(try await read(table, on: connection)) }
        let rows = try await connection.query(ask(jobs))
        #expect(rows.count == 32)
        for row in rows { #expect(try row.bytes(1).count == 32) }
        for (table, earlier) in zip(tables, before) {
          let reads = try await read(table, on: connection) - earlier
          // Those of a claim are chosen by their sizes first.
          let most = ofClaim && table == "job_p%" ? 96 : 32
          #expect(reads.bySequence == 0 && reads.byIndex <= most, "\(table) \(reads)")
        }
        try await connection.execute(script: "ROLLBACK")
      }
      try await queue.execute("TRUNCATE analysis.job, analysis.image, analysis.lease")
    }
  }

  @Test("A claim, and what reads its images, sets up the month of its jobs alone")
  func monthOfJobs() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.pool.withConnection { connection in
        // An index of a month has a lock from when a statement sets up its plan for that month.
        func months(_ script: String) async throws -> [String] {
          try await connection.execute(script: "BEGIN")
          let result = try await connection.query(script)
          #expect(result.count == 1, "\(script)")
          let found = try await connection.query(
            """
            SELECT c.relname FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
            WHERE l.pid = pg_backend_pid() AND c.relname LIKE 'job_p%_pkey'
            """
          ).map { try $0.string(0) }
          try await connection.execute(script: "COMMIT")
          return found
        }
        var found: [[String]] = []
        var month = 0
        // Calls that make plans look at all months: the first job's, and those after the server drops its plans, as
        // it does when it is behind with what other databases of the server change.
        for lease in stride(from: 1, through: 91, by: 10)
        where found.isEmpty || found.joined().count > found.count {
          let job = try await queue.create([Ask("user", key: "visit-\(lease)")])[0]
          month = try await queue.number("SELECT period FROM analysis.job LIMIT 1")
          let worker = "0::smallint, sha256('1')"
          let leases = "\(month)::smallint, '{\(lease),\(lease + 1)}', '{\(job)}'"
          found = [
            try await months(
              "SELECT o_job FROM analysis.claim(\(worker), \(lease), '{4,5}', '{0,0}', '{9,9}', 9, 60000)"),
            try await months("SELECT o_image FROM analysis.images_of_claim(\(worker), \(lease), 2, 4, 1000)"),
            try await months("SELECT o_image FROM analysis.images_of_jobs(\(worker), \(leases))"),
          ]
        }
        #expect(found == Array(repeating: ["job_p\(month)_pkey"], count: 3))
      }
    }
  }

  @Test(
    "The claim's statement reaches its rows by address, never by the whole lane",
    arguments: [0, 200_000])
  func explained(rows: Int) async throws {
    try await withCheckedQueue { queue in
      try await queue.pool.withConnection { connection in
        if rows > 0 {
          try await fill(queue, on: connection, rows)
          try await connection.execute(script: "ANALYZE analysis.ready", deadline: patience)
        }
        // The function's own text, its variables turned into parameters.
        let source = try await queue.texts(
          "SELECT prosrc FROM pg_proc WHERE oid = 'analysis.claim'::regproc")[0]
        let start = try #require(source.firstRange(of: "WITH taken AS")?.lowerBound)
        let end = try #require(
          source.firstRange(of: "RETURNING d.job_id, d.period, d.tries, d.vt)")?.upperBound)
        let statement = source[start..<end]
          .replacing("p_shard", with: "$1").replacing("p_lanes[i]", with: "$2").replacing(
            "v_from[i]", with: "$3"
          )
          .replacing("v_take", with: "$4")
        try await connection.execute(
          script: """
            SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_nestloop = off;
            PREPARE taking(smallint, smallint, bigint, int) AS \(statement) SELECT count(*) FROM taken
            """)
        let plan = try await connection.query("EXPLAIN EXECUTE taking(0, 5, 0, 100)").map { try $0.string(0) }
        // From PostgreSQL 17 on, what another part of the plan computed is written so; before, as a parameter.
        let text = plan.joined(separator: "\n").replacing(/\(InitPlan [0-9]+\)\.col[0-9]+/, with: "$0")
        #expect(!text.contains("Seq Scan"))
        #expect(text.contains("LockRows"))
        #expect(text.contains("Tid Scan on ready d"), "\(text)")
        try await connection.execute(script: "RESET ALL; DEALLOCATE taking")
      }
      try await queue.execute("TRUNCATE analysis.ready, analysis.job")
    }
  }

  @Test("A submit reads only its own user's rows, however many others there are")
  func submitIsBounded() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.pool.withConnection { connection in
        for number in 0..<3 {
          _ = try await queue.submit([Ask("user", key: "warm-\(number)")], on: connection)
        }
        try await connection.execute(
          script: """
            INSERT INTO analysis.usage (shard, user_id, period)
            SELECT 0, 1000 + g, analysis.period_of(now(), 'UTC') FROM generate_series(1, 20000) g;
            INSERT INTO analysis.idem (shard, user_id, period, job_id, at, key_hash, content_hash)
            SELECT j.shard, 1000 + g, j.period, j.id, now(), sha256(g::text::bytea), sha256('') FROM generate_series(1, 20000) g,
              (SELECT * FROM analysis.job LIMIT 1) j;
            INSERT INTO analysis.fair_share (shard, lane, source, user_id, last_vt, step)
            SELECT 0, 5, 0, 1000 + g, 0, 1 FROM generate_series(1, 20000) g
            """)
        try await connection.execute(script: "BEGIN")
        let tables = ["usage", "idem", "fair_share", "job_p%", "image_p%", "refund"]
        var before: [String: Reads] = [:]
        for table in tables { before[table] = try await read(table, on: connection) }
        let answers = try await queue.submit(
          [Ask("user", key: "one"), Ask("user", key: "two")], on: connection)
        #expect(answers.map(\.outcome) == ["created", "created"])
        for table in tables {
          let read = try await read(table, on: connection) - (try #require(before[table]))
          #expect(read.bySequence == 0, "\(table)")
          #expect(read.byIndex <= 12, "\(table)")
        }
        try await connection.execute(script: "ROLLBACK")
      }
    }
  }

  @Test(
    "A submit that looks for its image or photo reads no others of a month that was never analysed",
    arguments: [
      (
        "one by its hash", "created",
        "submit(0::smallint, '{user}', '{1}', '{1}', ARRAY[sha256('a')], \(PlanTests.none)"
      ),
      (
        "two by their hash", "created",
        "submit(0::smallint, '{user,user}', '{1,1}', '{1,1}', ARRAY[sha256('a'), sha256('a')], \(PlanTests.none)"
      ),
      (
        "a photo again", "duplicate",
        "submit(0::smallint, '{user}', '{1}', '{1}', ARRAY[sha256('a')], ARRAY['a'::bytea], \(PlanTests.rest)"
      ),
      (
        "encrypted ones under another key", "created",
        """
        submit(0::smallint, '{user,user}', '{1,1}', '{1,1}', ARRAY[sha256('b'), sha256('c')],
          array_fill(repeat('x', 41)::bytea, '{2}'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3::smallint,
          array_fill((nextval('analysis.job_id') + 1000), '{2}'), array_fill(repeat('k', 72)::bytea, '{2}'))
        """
      ),
    ])
  func imageIsFoundByItsHash(what: String, outcome: String, call: String) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.submit([Ask("user", image: "a")])
      try await queue.pool.withConnection { connection in
        func submit() async throws -> [String] {
          try await connection.query(
            "SELECT s.o_outcome FROM set_config('analysis.photos_once', $1, true) c, analysis.\(call) s",
            [.text(outcome == "duplicate" ? "yes" : "no")]
          ).map { try $0.string(0) }
        }
        // The session's plans come from here, where there is one image.
        for _ in 0..<3 { _ = try await submit() }
        try await connection.execute(script: "BEGIN")
        try await fillWithOthers(queue, on: connection)
        for plans in ["made before", "made now"] {
          if plans == "made now" { try await connection.execute(script: "DISCARD PLANS") }
          try await expectFewReads("\(what), plans \(plans)", on: connection) {
            let outcomes = try await Set(submit())
            #expect(outcomes == [outcome])
          }
        }
        try await connection.execute(script: "ROLLBACK")
      }
    }
  }

  /// A user with two jobs and an app.
  private func addUser(to queue: QueueFixture) async throws {
    try await queue.addUser("user")
    _ = try await queue.submit([Ask("user", image: "a"), Ask("user", image: "b")])
    try await queue.execute("SELECT analysis.add_token(0::smallint, 'user', sha256('token'), 'phone', NULL)")
  }

  @Test(
    "What is asked of one user reads no others of a month that was never analysed",
    arguments: [
      "month_of(0::smallint, 1, analysis.period_of(now(), 'UTC'))",
      "history_of(0::smallint, 1, NULL, 20)",
      "endings_since(0::smallint, 1, 1, now() - interval '1 hour', pg_current_snapshot())",
      "billed_before(0::smallint, '{user,user}', '{1,2}', '{x,y}', ARRAY[sha256('a'), NULL])",
      "gateway_jobs(0::smallint, sha256('token'))",
    ])
  func userIsFoundByTheirNumber(call: String) async throws {
    try await withCheckedQueue { queue in
      try await addUser(to: queue)
      #expect(try await queue.number("SELECT user_id FROM analysis.account") == 1)
      try await queue.pool.withConnection { connection in
        // The session's plans come from here, where there are two jobs.
        for _ in 0..<6 { _ = try await connection.query("SELECT * FROM analysis.\(call)") }
        try await connection.execute(script: "BEGIN")
        try await fillWithOthers(queue, on: connection)
        for plans in ["made before", "made now"] {
          if plans == "made now" { try await connection.execute(script: "DISCARD PLANS") }
          try await expectFewReads("\(call), plans \(plans)", on: connection) {
            _ = try await connection.query("SELECT * FROM analysis.\(call)")
          }
        }
        try await connection.execute(script: "ROLLBACK")
      }
    }
  }

  /// The server prepares a function in SQL anew with each call, unless it is a part of the statement that calls it: one
  /// that looks something up or has settings never is.
  @Test(
    "What is called for one job, or by an app, calls no function that is planned anew",
    arguments: [
      "submit(0::smallint, '{user}', '{1}', '{1}', ARRAY[sha256('a')], \(PlanTests.none)",
      "submit(analysis.shard_of('user'), '{user}', '{1}', '{1}', ARRAY[sha256('b')], '{b}', \(PlanTests.rest)",
      "submit_image('user', 'throat', E'\\\\xffd8ff')",
      "submit_images('{user}', '{throat}', ARRAY[E'\\\\xffd8ff'::bytea])", "job_state('user', 1)",
      "open_results('user', '{1}')", "gateway_events(0::smallint, ARRAY[sha256('token')], '{NULL}', true)",
      "gateway_user(0::smallint, sha256('token'))", "gateway_states(0::smallint, sha256('token'), '{1}')",
      "gateway_jobs(0::smallint, sha256('token'))",
      "gateway_submit(0::smallint, sha256('token'), 'user', 1::smallint, sha256('c'), 'c', NULL, 'c', NULL, NULL)",
      "claim(0::smallint, sha256('1'), nextval('analysis.job_id'), '{5}', '{0}', '{1}', 1, 60000)",
      "finish_deliveries(0::smallint, sha256('1'), '{1}', '{failed}', '{NULL}', '{NULL}')",
    ])
  func plannedOnce(call: String) async throws {
    try await withCheckedQueue { queue in
      try await addUser(to: queue)
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "SET track_functions = 'all'; BEGIN")
        for _ in 0..<20 { _ = try await connection.query("SELECT * FROM analysis.\(call)") }
        // The first few calls of a session have plans of their own.
        let planned = try await connection.query(
          """
          SELECT f.funcname::text FROM pg_stat_xact_user_functions f JOIN pg_proc p ON p.oid = f.funcid
          JOIN pg_language l ON l.oid = p.prolang WHERE l.lanname = 'sql' AND f.calls >= 20
          """
        ).map { try $0.string(0) }
        #expect(planned.isEmpty, "\(call)")
        try await connection.execute(script: "ROLLBACK; RESET track_functions")
      }
    }
  }

  @Test("The report of usage compares no user with the periods of others, however many there are in a zone")
  func periodsByHash() async throws {
    try await withCheckedQueue { queue in
      try await queue.pool.withConnection { connection in
        try await connection.execute(
          script: """
            BEGIN; SET LOCAL enable_mergejoin = off;
            INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt, anchors, created_at)
            SELECT 0, g, 'u' || g, 'UTC', sha256(g::text::bytea),
              CASE WHEN g % 10 > 0 THEN ARRAY[(24000 + g % 24) * 32 + 2 + g % 25] END, '2026-01-01' FROM generate_series(1, 2000) g;
            ANALYZE analysis.account
            """)
        let month = try await connection.query("SELECT analysis.period_of(now(), 'UTC')").single().int16(0)
        for call in [
          "usage_of(\(month)::smallint, now(), NULL, false)",
          "billed_rows(\(month)::smallint, now(), NULL, NULL, NULL, false, false)",
        ] {
          let plan = try await connection.query(
            "EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM analysis.\(call)"
          )
          .map { try $0.string(0) }
          let compared = plan.compactMap { $0.firstMatch(of: /Removed by Join Filter: ([0-9]+)/)?.1 }
          #expect(compared.isEmpty, "\(plan.joined(separator: "\n"))")
          // A function with a plan of its own would have one for any month and any number of users.
          let apart = plan.filter { $0.contains("Function Scan on month_lines") }
          #expect(apart.isEmpty)
        }
        try await connection.execute(script: "ROLLBACK")
      }
    }
  }

  @Test("Putting images under another key reads those images only, however many others there are")
  func rewrapIsBounded() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let key = [UInt8](repeating: 7, count: 72)
      // A page is looked for and put under the key 9, as `analysisctl keys rotate` does it.
      func rewrap(_ count: Int32, on connection: some Queryable) async throws -> Int {
        try await connection.query(
          """
          SELECT analysis.rewrap_images(0::smallint, analysis.period_of(now(), 'UTC'), array_agg(i.o_image),
            array_agg(i.o_row_id), array_agg(i.o_wrapped_key), 9, array_agg(i.o_wrapped_key))
          FROM analysis.images_to_rewrap(0::smallint, analysis.period_of(now(), 'UTC'), 0, 9, $1) i
          """, [.int32(count)]
        ).single().int(0)
      }
      try await queue.pool.withConnection { connection in
        // The session's plans come from here, where there is nothing.
        for _ in 0..<3 { #expect(try await rewrap(3, on: connection) == 0) }
        _ = try await connection.query(
          """
          INSERT INTO analysis.image (
            shard, period, unsanitized, user_id, created_at, used_at, byte_count, sha256, bytes, encrypted_by, wrapped_key)
          SELECT 0, analysis.period_of(now(), 'UTC'), false, 1, now(), now(), 41, sha256(g::text::bytea),
                 repeat('x', 41)::bytea, 5, $1
          FROM generate_series(1, 20000) g
          """, [.bytes(key)])
        try await connection.execute(script: "BEGIN")
        let before = try await read("image_p%", on: connection)
        #expect(try await rewrap(100, on: connection) == 100)
        let read = try await read("image_p%", on: connection) - before
        #expect(read.bySequence == 0)
        // Each is found by its number; it is held and written by its address.
        #expect(read.byIndex <= 100)
        try await connection.execute(script: "ROLLBACK")
      }
    }
  }
}
