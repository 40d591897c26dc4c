import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("Batches and references")
struct BatchTests {
  private static let counts = """
    SELECT array_to_string(ARRAY[o_jobs, o_succeeded, o_dead, o_cancelled], ' ')
    FROM analysis.batch_counts(0::smallint, ARRAY[$1::bigint])
    """

  private func submit(
    _ queue: QueueFixture, _ users: [String], in batch: Int64?, references: [String?]? = nil
  ) async throws -> [Answer] {
    let rows = try await queue.pool.query(
      """
      SELECT s.o_outcome, s.o_reason, s.o_job, s.o_period, s.o_limit, s.o_used
      FROM analysis.submit_in_batch($1, 0::smallint, ($3, array_fill(1::smallint, ARRAY[$4]),
          array_fill(1::smallint, ARRAY[$4]), (SELECT array_agg(sha256(i::text::bytea)) FROM generate_series(1, $4) i),
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, $2, NULL),
        (SELECT array_agg(i::text::bytea) FROM generate_series(1, $4) i), 3::smallint, false) s ORDER BY s.o_index
      """,
      [
        .int64(batch), references.map { .array($0) } ?? .nullArray(of: String.self), .array(users),
        .int32(Int32(users.count)),
      ])
    return try rows.map {
      Answer(
        outcome: try $0.string(0), reason: try $0.stringIfPresent(1), job: try $0.int64IfPresent(2),
        period: try $0.int16IfPresent(3), limit: try $0.int32IfPresent(4).map(Int.init),
        used: try $0.int32IfPresent(5).map(Int.init))
    }
  }

  private func batch(_ queue: QueueFixture, _ name: String = "ward 3") async throws -> Int64 {
    try await queue.pool.query("SELECT analysis.open_batch($1)", [.text(name)]).single().int64(0)
  }

  @Test("are labels beside the jobs: a submit without them writes none, and answers the same")
  func beside() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      _ = try await queue.create([Ask("u", image: "plain")])
      #expect(try await submit(queue, ["u"], in: nil).map(\.outcome) == ["created"])
      #expect(try await queue.count("job_label") == 0)
      let answers = try await submit(
        queue, ["u", "nobody", "u"], in: try await batch(queue), references: ["visit-1", nil, nil])
      #expect(answers.map(\.outcome) == ["created", "refused", "created"])
      #expect(
        try await queue.texts("SELECT coalesce(reference, '-') FROM analysis.job_label ORDER BY job_id")
          == ["visit-1", "-"])
      #expect(try await queue.count("batch_refusal") == 1)
    }
  }

  @Test("count what is refused under a key once, until it is taken, and wait for no other submit")
  func refused() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u", plan: "free")
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        let batch = try await login.query("SELECT analysis.open_batch('run')").single().int64(0)
        let refused = "SELECT o_refused FROM analysis.list_batches(\(batch), NULL, 1, 100)"
        let adding = """
          SELECT outcome, argument FROM analysis.submit_images(
            '{u,nobody,u,u}', '{throat,throat,throat,throat}',
            ARRAY[E'\\\\xffd8ff', E'\\\\xffd8ff', 'no image', E'\\\\xffd8ff']::bytea[], '{a,b,c,d}',
            p_batch => \(batch), p_references => ARRAY['visit-1', NULL, NULL, E'turned\\nround'])
          """
        for _ in 0..<2 {
          let rows = try await login.query(adding)
          let causes = try rows.map { try $0.stringIfPresent("argument") ?? "" }
          #expect(causes == ["", "p_users", "p_images", "p_references"])
          #expect(try await login.query(refused).single().int(0) == 3)
        }
        // Somebody's open transaction has counted a refusal, and an image is taken beside it all the same.
        let second = ConnectionPool(login.configuration, on: queue.loop, size: 1)
        try await second.transaction { (open) async throws in
          _ = try await open.query("SELECT analysis.add_refusals(\(batch), '{u}', '{e}')")
          try await queue.addUser("nobody")
          let beside = """
            SELECT string_agg(outcome, ' ') FROM analysis.submit_images(
              '{nobody,stranger}', '{throat,throat}', ARRAY[E'\\\\xffd8ff', E'\\\\xffd8ff']::bytea[], '{b,f}',
              p_batch => \(batch))
            """
          #expect(try await login.query(beside).single().string(0) == "created refused")
        }
        await second.close()
        // What was refused under `b` is taken now; `e` and `f` came beside it.
        #expect(try await login.query(refused).single().int(0) == 4)
      }
    }
  }

  @Test("count what was done, died and was cancelled, and follow a retry and an undone cancellation")
  func counted() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      let batch = try await batch(queue)
      let jobs = try await submit(queue, ["u", "u", "u", "u"], in: batch).compactMap(\.job)
      #expect(try await queue.text(Self.counts, [.int64(batch)]) == "4 0 0 0")
      let claimed = try await queue.claim(2)
      _ = try await queue.complete([claimed[0]])
      _ = try await queue.fail([claimed[1].job], leases: [claimed[1].lease], delay: nil)
      _ = try await queue.cancel([jobs[3]])
      #expect(try await queue.text(Self.counts, [.int64(batch)]) == "4 1 1 1")
      let causes = try await queue.pool.query(
        "SELECT o_count, o_job FROM analysis.batch_causes(0::smallint, $1, 10)", [.int64(batch)]
      ).single()
      #expect(try causes.int(0) == 1 && causes.int64(1) == claimed[1].job)

      // As if it had died, and the other been cancelled, last month.
      let ended = "(\(claimed[1].job), \(jobs[3]))"
      try await queue.execute(
        """
        SELECT analysis.ensure_partitions((analysis.period_of(now(), 'UTC') - 1)::smallint, analysis.period_of(now(), 'UTC'));
        UPDATE analysis.job SET period = period - 1 WHERE id IN \(ended);
        UPDATE analysis.dead SET period = period - 1;
        UPDATE analysis.result SET period = period - 1 WHERE job_id IN \(ended);
        UPDATE analysis.job_label SET period = period - 1 WHERE job_id IN \(ended);
        UPDATE analysis.attempt_error SET period = period - 1;
        UPDATE analysis.refund SET period = period - 1 WHERE job_id IN \(ended);
        UPDATE analysis.usage SET used = used - 2;
        INSERT INTO analysis.usage (shard, user_id, period, used) SELECT shard, user_id, period - 1, 2 FROM analysis.usage
        """)
      #expect(try await queue.retryDead([claimed[1].job]) == [claimed[1].job: "requeued"])
      #expect(try await queue.text(Self.counts, [.int64(batch)]) == "4 1 0 1")
      let undone = try await queue.text(
        "SELECT o_outcome FROM analysis.uncancel(0::smallint, $1)", [.array([jobs[3]])])
      #expect(undone == "requeued")
      #expect(try await queue.text(Self.counts, [.int64(batch)]) == "4 1 0 0")
      #expect(try await queue.number("SELECT count(DISTINCT period) FROM analysis.job_label") == 1)
    }
  }

  @Test("count the same whether their jobs' numbers are alone, mixed with others' or far apart")
  func mixed() async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["u", "v"] { try await queue.addUser(user) }
      let batches = try await [batch(queue), batch(queue), batch(queue), batch(queue), batch(queue)]
      // 1 is alone; 2 and 3 alternate, of both users; 4 has the first and the last job of all.
      for batch in [4, 1, 1, 1, 2, 3, 2, 3, 2, 3, 4] {
        _ = try await submit(queue, [batch == 3 ? "v" : "u"], in: batches[batch - 1])
      }
      // Few of the fifth are of the one user.
      _ = try await submit(queue, Array(repeating: "u", count: 9) + ["v"], in: batches[4])
      let claimed = try await queue.claim(21)
      let (done, died) = (claimed.filter { $0.job % 3 != 0 }, claimed.filter { $0.job % 3 == 0 })
      _ = try await queue.complete(done)
      _ = try await queue.fail(died.map(\.job), leases: died.map(\.lease), delay: nil)
      let list = batches.map(String.init).joined(separator: ",")
      let counted = """
        SELECT array_to_string(ARRAY[o_batch, o_jobs, o_succeeded, o_dead, o_cancelled, o_lately], ' ')
        FROM analysis.batch_counts(0::smallint, ARRAY[\(list)]::bigint[]) ORDER BY o_batch
        """
      func expected(of users: String) -> String {
        """
        SELECT array_to_string(ARRAY[l.batch_id, count(*), count(r.job_id), count(d.job_id), 0, count(*)], ' ')
        FROM analysis.job_label l
        JOIN analysis.account a ON a.user_id = l.user_id AND a.user_ref IN (\(users))
        LEFT JOIN analysis.result r ON r.job_id = l.job_id
        LEFT JOIN analysis.dead d ON d.job_id = l.job_id
        GROUP BY l.batch_id ORDER BY l.batch_id
        """
      }
      #expect(try await queue.texts(counted) == queue.texts(expected(of: "'u', 'v'")))
      try await queue.execute(
        "SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'v', 'north')")
      try await withLogin(of: ["operator"], in: queue) { (login) async throws in
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute("SELECT analysis.grant_clinics('\(name)', '{north}')")
        let seen = try await login.query(counted).map { try $0.string(0) }
        #expect(seen.count == 2)
        #expect(try await queue.texts(expected(of: "'v'")) == seen)
      }
    }
  }

  @Test(
    "are listed for a login of clinics as far as it looks: with any job of its users, wherever that stands")
  func restricted() async throws {
    try await withQueue { (queue) async throws in
      let users = ["a", "b", "c", "d", "e"]
      for user in users { try await queue.addUser(user) }
      try await queue.execute(
        "SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'c', 'north')")
      var batches: [Int64] = []
      for members in [["a"], ["c"], users, ["a", "b", "d"], ["c", "d", "e"], []] {
        batches.append(try await batch(queue))
        if !members.isEmpty { _ = try await submit(queue, members, in: batches[batches.count - 1]) }
      }
      try await withLogin(of: ["operator"], in: queue) { (login) async throws in
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute("SELECT analysis.grant_clinics('\(name)', '{north}')")
        func list(before: Int64? = nil, of batch: Int64? = nil, limit: Int32 = 10, looks: Int32 = 10_000)
          async throws -> [String]
        {
          try await login.query(
            "SELECT o_batch, o_created_at IS NULL FROM analysis.list_batches($1, $2, $3, $4)",
            [.int64(batch), .int64(before), .int32(limit), .int32(looks)]
          ).map { "\(try $0.int64(0))\(try $0.bool(1) ? " and on" : "")" }
        }
        let seen = [batches[4], batches[2], batches[1]].map(String.init)
        #expect(try await list() == seen)
        #expect(try await list(limit: 2) == Array(seen.prefix(2)))
        #expect(try await list(before: batches[2]) == [seen[2]])
        #expect(try await list(of: batches[2]) == [seen[1]])
        // One alone is looked for to the end.
        #expect(try await list(of: batches[2], looks: 1) == [seen[1]])
        #expect(try await list(of: batches[3]) == [])
        // A batch counts for 100 looks at least, and one that is not seen for its labels too.
        #expect(try await list(looks: 1) == ["\(batches[5]) and on"])
        #expect(try await list(before: batches[5], looks: 101) == [seen[0], "\(batches[3]) and on"])
        #expect(
          try await list(before: batches[3], looks: 300) == Array(seen.suffix(2)) + ["\(batches[0]) and on"])
        // Who sees no user at all sees none, and who is restricted no more all of them.
        try await queue.execute("SELECT analysis.revoke_clinics('\(name)', '{north}')")
        #expect(try await list() == [])
        try await queue.execute("SELECT analysis.lift_clinics('\(name)')")
        #expect(try await list(looks: 1).count == 6)
      }
    }
  }

  @Test("are the same for the same login and key, and another login adds nothing")
  func own() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      try await withLogin("one", of: ["submitter"], in: queue) { (one) async throws in
        try await withLogin("two", of: ["submitter"], in: queue) { (two) async throws in
          func open(_ login: ConnectionPool, _ key: String) async throws -> Int64 {
            try await login.query("SELECT analysis.open_batch('x', $1)", [.text(key)]).single().int64(0)
          }
          let batch = try await open(one, "run")
          #expect(try await open(one, "run") == batch)
          #expect(try await open(one, "other") != batch)
          #expect(try await open(two, "run") != batch)
          let adding = """
            SELECT * FROM analysis.submit_images('{u}', '{throat}', ARRAY[E'\\\\xffd8ff'::bytea], p_batch => \(batch))
            """
          #expect(try await one.query(adding).single().string("outcome") == "created")
          let error = await #expect(throws: PostgreSQLError.self) { _ = try await two.query(adding) }
          #expect(error?.sqlState == "22023")
          #expect(try await two.query(Self.counts, [.int64(batch)]).count == 0)
          #expect(try await one.query(Self.counts, [.int64(batch)]).count == 1)
        }
      }
    }
  }

  @Test("are one also where two sessions of a login make their first at the same time")
  func atOnce() async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute("ALTER FUNCTION analysis.open_batch SET lock_timeout = '300s'")
      try await queue.pool.withConnection { (first) async throws in
        try await first.execute(script: "BEGIN")
        let batch = try await first.query(Self.open).single().int64(0)
        async let second = queue.pool.query(Self.open).single().int64(0)
        try await queue.untilSomebodyWaits()
        try await first.execute(script: "COMMIT")
        #expect(try await second == batch)
      }
      #expect(try await queue.number(Self.open) == queue.number("SELECT id::int FROM analysis.batch"))
    }
  }

  private static let open = "SELECT analysis.open_batch('ward', 'key')"

  @Test(
    "and wait for nobody under another key, nor for a first that is undone", arguments: LockHolder.allCases)
  func undone(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute("ALTER FUNCTION analysis.open_batch SET lock_timeout = '300s'")
      try await queue.pool.withConnection { (first) async throws in
        try await first.execute(script: "BEGIN")
        let batch = try await first.query(Self.open).single().int64(0)
        async let second = queue.pool.query(Self.open).single().int64(0)
        try await queue.untilSomebodyWaits()
        try await holder.stays(first, in: queue) { () async throws in
          #expect(try await queue.number("SELECT analysis.open_batch('ward', 'other')") != Int(batch))
        }
        try await first.execute(script: "ROLLBACK")
        #expect(try await second != batch)
      }
      #expect(try await queue.count("batch") == 2)
    }
  }

  @Test("lose what tells of a person who is erased, and the name once all are")
  func erased() async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["u", "v"] { try await queue.addUser(user) }
      let batch = try await batch(queue)
      _ = try await submit(queue, ["u", "v"], in: batch, references: ["visit-u", "visit-v"])
      _ = try await submit(queue, ["u"], in: nil, references: ["visit-u"])
      try await queue.erase("u")
      #expect(
        try await queue.texts("SELECT reference FROM analysis.job_label WHERE reference IS NOT NULL") == [
          "visit-v"
        ])
      #expect(try await queue.text("SELECT name FROM analysis.batch") == "ward 3")
      try await queue.erase("v")
      #expect(try await queue.number("SELECT count(reference) FROM analysis.job_label") == 0)
      #expect(try await queue.number("SELECT count(name) FROM analysis.batch") == 0)
      #expect(try await queue.text(Self.counts, [.int64(batch)]) == "2 0 0 2")
    }
  }

  @Test("go with their jobs when these have been kept long enough, by row and as a month")
  func purged() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u")
      let batch = try await batch(queue)
      let jobs = try await submit(queue, ["u", "u"], in: batch).compactMap(\.job)
      try await queue.execute(
        "SELECT analysis.remove_jobs(shard, period, ARRAY[id]) FROM analysis.job WHERE id = \(jobs[0])")
      #expect(try await queue.numbers("SELECT job_id FROM analysis.job_label") == [Int(jobs[1])])
      try await queue.execute(
        """
        SELECT analysis.add_refusals(\(batch), '{u}', '{k}'), analysis.open_batch('empty');
        UPDATE analysis.batch SET created_at = created_at - interval '31 days';
        SELECT analysis.open_batch('new'), analysis.prepare_months();
        """)
      #expect(try await queue.texts("SELECT name FROM analysis.batch ORDER BY id") == ["ward 3", "new"])
      try await queue.execute(
        "SELECT analysis.purge_labels(analysis.period_of(now(), 'UTC')); SELECT analysis.prepare_months()")
      #expect(try await queue.count("job_label") == 0)
      #expect(try await queue.texts("SELECT name FROM analysis.batch") == ["new"])
      #expect(try await queue.count("batch_refusal") == 0)
    }
  }

  @Test("take their first job after days, and stay while an open submit uses them")
  func held() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      let batch = try await batch(queue)
      try await queue.execute(
        "UPDATE analysis.batch SET created_at = now() - interval '25 hours'; SELECT analysis.prepare_months()"
      )
      #expect(try await submit(queue, ["u"], in: batch).map(\.outcome) == ["created"])
      let old = try await self.batch(queue)
      try await queue.execute("UPDATE analysis.batch SET created_at = now() - interval '40 days'")
      try await queue.pool.transaction { (open) async throws in
        _ = try await open.query("SELECT analysis.require_own_batch($1)", [.int64(old)])
        try await queue.execute("SELECT analysis.prepare_months()")
        _ = try await open.query(
          """
          SELECT analysis.submit_images('{u}', '{throat}', ARRAY[E'\\\\xffd8ff']::bytea[], p_batch => $1)
          """, [.int64(old)])
      }
      try await queue.execute("SELECT analysis.prepare_months()")
      #expect(try await queue.count("batch") == 2)
    }
  }

  @Test(
    "have the number of their jobs' user, whoever is added or erased while the submit waits",
    arguments: [false, true])
  func labelled(isAddedAgain: Bool) async throws {
    try await withCheckedQueue { (queue) async throws in
      let sql = """
        SELECT o_outcome FROM analysis.submit_in_batch(NULL, 0::smallint, ('{u}', '{1}', '{1}', ARRAY[sha256('i')],
          NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{visit}', NULL), ARRAY['i'::bytea], 3::smallint, false)
        """
      if isAddedAgain { try await queue.addUser("u") }
      try await queue.execute("ALTER FUNCTION analysis.submit SET lock_timeout = '300s'")
      try await withThrowingTaskGroup(of: Void.self) { (group) async throws in
        // The submit has begun, and has not looked the user up.
        try await queue.pool.transaction { (open) async throws in
          if isAddedAgain { try await queue.erase("u", on: open) }
          _ = try await open.query(
            """
            INSERT INTO analysis.account (shard, user_ref, zone, key_salt) VALUES (0, 'u', 'UTC', decode(repeat('07', 32), 'hex'))
            """)
          _ = try await open.query(
            "INSERT INTO analysis.account_plan SELECT 0, user_id, '-infinity', 2 FROM analysis.account WHERE user_ref = 'u'"
          )
          _ = try await open.query("LOCK TABLE analysis.admission IN ACCESS EXCLUSIVE MODE")
          group.addTask {
            let outcome = try await queue.text(sql)
            #expect(outcome == "created")
          }
          try await queue.untilSomebodyWaits()
        }
        try await group.waitForAll()
      }
      #expect(
        try await queue.text(
          "SELECT l.reference FROM analysis.job j JOIN analysis.job_label l ON l.job_id = j.id AND l.user_id = j.user_id"
        )
          == "visit")
    }
  }

  @Test("come out with a person's export")
  func exported() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      let batch = try await batch(queue)
      _ = try await submit(queue, ["u"], in: batch, references: ["visit-1"])
      let opened = try await queue.pool.query("SELECT * FROM analysis.open_export(0::smallint, 'u')").single()
      let job = try await queue.text(
        """
        SELECT (o_job -> 'reference')::text || (o_job ->> 'batch') || (o_job ->> 'batch_name')
        FROM analysis.export_jobs(0::smallint, $1, $2)
        """,
        [.int64(try opened.int64("o_user_id")), .text(try opened.string("o_export"))])
      #expect(job == "\"visit-1\"B\(batch)ward 3")
    }
  }

  @Test("jobs are found by their reference, page by page, the latest first")
  func found() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      let jobs = try await submit(
        queue, ["u", "u", "u"], in: nil, references: ["visit-1", "visit-2", "visit-1"]
      ).compactMap(\.job)
      let find = """
        SELECT o_job, o_state FROM analysis.find_jobs(
          0::smallint, jsonb_build_object('reference', 'visit-1', 'state', $1), $2, $3, 10, $4)
        """
      func page(_ state: String?, after: Int64?, looks: Int32) async throws -> [String] {
        let month = try await queue.number("SELECT analysis.period_of(now(), 'UTC')")
        return try await queue.pool.query(
          find, [.text(state), .int16(after == nil ? nil : Int16(month)), .int64(after), .int32(looks)]
        ).map { "\(try $0.int64(0)) \(try $0.stringIfPresent(1) ?? "-")" }
      }
      #expect(try await page(nil, after: nil, looks: 100) == ["\(jobs[2]) waiting", "\(jobs[0]) waiting"])
      #expect(try await page(nil, after: nil, looks: 1) == ["\(jobs[2]) waiting", "\(jobs[2]) -"])
      #expect(try await page(nil, after: jobs[2], looks: 100) == ["\(jobs[0]) waiting"])
      #expect(try await page("dead", after: nil, looks: 100) == [])
    }
  }

  @Test(
    "a picture is paid for by a job of this month that lives or has an analysis, of the same type and another key"
  )
  func paid() async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["u", "v"] { try await queue.addUser(user) }
      _ = try await queue.create([
        Ask("u", image: "done", key: "k"), Ask("u", image: "cancelled"), Ask("u", image: "open"),
      ])
      _ = try await queue.complete(try await queue.claim(1))
      let cancelled = try await queue.text(
        "SELECT id::text FROM analysis.job WHERE image_mark = substr(sha256('cancelled'), 1, 16)")
      _ = try await queue.cancel([try #require(Int64(cancelled))])
      let dead = try await queue.deadJob("v", image: "dead")
      #expect(dead > 0)
      func paid(_ user: String, _ image: String?, kind: Int = 1, key: String = "new") async throws -> Bool {
        let hash = image.map { "ARRAY[sha256('\($0)')]" } ?? "NULL"
        return try await queue.number(
          "SELECT count(*) FROM analysis.billed_before(0::smallint, '{\(user)}', '{\(kind)}', '{\(key)}', \(hash))"
        ) == 1
      }
      #expect(try await paid("u", "done"))
      #expect(try await paid("u", "open"))
      #expect(try await paid("u", nil))
      #expect(try await !paid("u", "done", key: "k"), "it would be answered as a duplicate")
      #expect(try await !paid("u", "done", kind: 2))
      #expect(try await !paid("u", "cancelled"))
      #expect(try await !paid("u", "another"))
      #expect(try await !paid("v", "dead"))
      #expect(try await !paid("v", nil))
      #expect(try await !paid("nobody", "done"))
      // What another back-end has submitted is none of its business.
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        let asked = """
          SELECT * FROM analysis.billed_before(0::smallint, '{u,u}', '{1,1}', NULL, ARRAY[sha256('done'), NULL])
          """
        #expect(try await login.query(asked).count == 0)
        _ = try await login.query("SELECT analysis.submit_image('u', 'throat', E'\\\\xffd8ff')")
        #expect(try await login.query(asked).map { try $0.int(0) } == [2])
      }
    }
  }
}
