import PostgreSQL
import QueueTestSupport
import Testing

@testable import Support

@Suite("Partitions, limits and turns")
struct CapacityTests {
  @Test("A submit beyond the months that have partitions is refused, and takes nothing")
  func noPartition() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let answers = try await queue.submit([
        Ask("user", key: "far", at: try await queue.now(plus: 400 * 86_400)), Ask("user"),
      ])
      #expect(answers.map(\.reason) == ["no_partition", nil])
      #expect(try await queue.number("SELECT count(*) FROM analysis.idem") == 0)
      #expect(try await queue.usage("user").used == 1)
      try await queue.execute(
        "SELECT analysis.ensure_partitions(p, (p + 14)::smallint) FROM analysis.period_of(now(), 'UTC') p")
      #expect(
        try await queue.submit([Ask("user", key: "far", at: try await queue.now(plus: 400 * 86_400))])[0]
          .outcome == "created")
    }
  }

  @Test("Partitions are made once, by however many at the same time")
  func ensureTwice() async throws {
    try await withCheckedQueue(connections: 4) { queue in
      let sql =
        "SELECT analysis.ensure_partitions((p - 1)::smallint, (p + 6)::smallint) FROM analysis.period_of(now(), 'UTC') p"
      let made = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<4 { group.addTask { try await queue.number(sql) } }
        return try await group.reduce(0, +)
      }
      #expect(made == 3)
      #expect(try await queue.number(sql) == 0)
      let partitions = try await queue.numbers(
        """
        SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhparent
        WHERE c.relkind = 'p' AND c.relnamespace = 'analysis'::regnamespace GROUP BY c.relname
        """)
      #expect(partitions == [8, 8, 8, 8])
    }
  }

  @Test("Partitions keep what the table says: image bytes out of line and uncompressed, its checks")
  func partitionsAreAlike() async throws {
    try await withCheckedQueue { queue in
      let storage = try await queue.texts(
        """
        SELECT DISTINCT attstorage::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relname LIKE 'image%' AND c.relkind IN ('r', 'p') AND attname = 'bytes'
        """)
      #expect(storage == ["e"])
      let differing = try await queue.number(
        """
        SELECT count(DISTINCT n) FROM (
          SELECT count(*) AS n FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
          WHERE c.relname LIKE 'result%' AND k.contype = 'c' GROUP BY c.relname) x
        """)
      #expect(differing == 1)
    }
  }

  @Test("A user's waiting jobs are limited, over all lanes, and room comes back as jobs are claimed")
  func waitingLimit() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.addUser("other")
      try await queue.execute("UPDATE analysis.setting SET value = '10' WHERE name = 'max_waiting_per_user'")
      let first = try await queue.submit(Ask("user") * 6 + Ask("user", priority: 0) * 6)
      #expect(first.map(\.reason) == Array(repeating: nil, count: 10) + ["waiting_limit", "waiting_limit"])
      #expect(try await queue.submit([Ask("user"), Ask("other")]).map(\.reason) == ["waiting_limit", nil])
      let claimed = try await queue.claim(6, lanes: [5])
      _ = try await queue.tick([5: claimed.map(\.virtualTime).max() ?? 0])
      let later = try await queue.submit(Ask("user") * 8)
      #expect((4...6).contains(later.count { $0.outcome == "created" }))
      #expect(try await queue.usage("user").refused == 0)
    }
  }

  private func limited(_ limit: Int, _ body: @escaping @Sendable (QueueFixture) async throws -> Void)
    async throws
  {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.addUser("other")
      try await queue.execute(
        "UPDATE analysis.setting SET value = '\(limit)' WHERE name = 'max_waiting_per_user'")
      try await body(queue)
    }
  }

  @Test("A user with nothing waiting is never refused, though no worker has published how far it came")
  func unpublishedMarks() async throws {
    try await limited(5) { queue in
      for round in 0..<4 as Range<Int64> {
        let answers = try await queue.submit(Ask("user") * 5)
        #expect(answers.allSatisfy { $0.reason == nil })
        // Others wait behind and before, and nothing is said of them either.
        _ = try await queue.submit([Ask("other")])
        let claimed = try await queue.claim(6, lease: 100 + round * 10)
        _ = try await queue.complete(claimed)
      }
      #expect(try await queue.number("SELECT count(*) FROM analysis.lane_clock WHERE now_vt > 0") == 0)
    }
  }

  @Test("A user who cancelled all that waited may submit as many again; one who cancelled some, so many")
  func limitAfterCancelling() async throws {
    try await limited(5) { queue in
      for _ in 0..<3 {
        let jobs = try await queue.create(Ask("user") * 5)
        #expect(jobs.count == 5)
        #expect(try await queue.submit([Ask("user")])[0].reason == "waiting_limit")
        _ = try await queue.cancel(jobs)
      }
      let jobs = try await queue.create(Ask("user") * 5)
      // The newest ones go, so that the last place is taken by none that waits.
      _ = try await queue.cancel(Array(jobs[3...]))
      #expect(
        try await queue.submit(Ask("user") * 3).map(\.reason) == [nil, nil, "waiting_limit"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 5)
    }
  }

  @Test("Jobs submitted for later count as waiting until they are promoted and claimed, or cancelled")
  func limitOfScheduled() async throws {
    try await limited(5) { queue in
      let at = try await queue.now(plus: 3600)
      let later = try await queue.submit(Ask("user", at: at) * 4 + Ask("user") * 2)
      #expect(later.map(\.reason) == [nil, nil, nil, nil, nil, "waiting_limit"])
      #expect(try await queue.submit([Ask("user", at: at)])[0].reason == "waiting_limit")
      _ = try await queue.cancel([later[0].job ?? 0])
      #expect(try await queue.submit(Ask("user", at: at) * 2).map(\.reason) == [nil, "waiting_limit"])
      try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
      #expect(try await queue.promote() == 4)
      #expect(try await queue.submit([Ask("user")])[0].reason == "waiting_limit")
      _ = try await queue.complete(try await queue.claim())
      #expect(
        try await queue.submit(Ask("user") * 6).map(\.reason) == [nil, nil, nil, nil, nil, "waiting_limit"])
    }
  }

  @Test("A job that is tried again later is no new job that waits, however often it is promoted")
  func limitOfRetried() async throws {
    try await limited(3) { queue in
      _ = try await queue.create(Ask("user", at: try await queue.now(plus: 3600)) * 3)
      for round in 0..<3 as Range<Int64> {
        try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
        #expect(try await queue.promote() == 3)
        let claimed = try await queue.claim(lease: 100 + round * 10)
        _ = try await queue.fail(
          claimed.map(\.job), leases: [claimed[0].lease], delay: 60_000, consumes: false)
      }
      #expect(try await queue.numbers("SELECT DISTINCT later FROM analysis.fair_share").max() ?? 0 <= 3)
      _ = try await queue.applyRefunds()
      #expect(try await queue.numbers("SELECT DISTINCT later FROM analysis.fair_share") == [0])
    }
  }

  @Test(
    "Nothing new is taken when the queue or the disk is full by the gauges",
    arguments: ["queue_full", "storage_full"])
  func full(reason: String) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let (setting, gauge) =
        reason == "queue_full" ? ("max_waiting", "waiting") : ("max_database_bytes", "database_bytes")
      try await queue.execute("SELECT analysis.refresh_gauges()")
      #expect(
        try await queue.number("SELECT value FROM analysis.gauge WHERE name = 'database_bytes'") > 1_000_000)
      try await queue.execute(
        """
        UPDATE analysis.setting SET value = '5000' WHERE name = '\(setting)';
        UPDATE analysis.gauge SET value = 5000 WHERE name = '\(gauge)'
        """)
      #expect(try await queue.submit([Ask("user")])[0].reason == reason)
      try await queue.execute("UPDATE analysis.gauge SET value = 4999 WHERE name = '\(gauge)'")
      #expect(try await queue.submit([Ask("user")])[0].outcome == "created")
    }
  }

  @Test("Settings that two change at the same moment both hold for the next submit")
  func settingsAtOnce() async throws {
    try await withCheckedQueue { queue in
      try await withThrowingTaskGroup(of: Void.self) { (group) async throws in
        try await queue.pool.transaction { (open) async throws in
          _ = try await open.query(
            "UPDATE analysis.setting SET value = '1' WHERE name = 'max_waiting_per_user'")
          group.addTask {
            try await queue.execute("UPDATE analysis.setting SET value = '2' WHERE name = 'max_waiting'")
          }
          try await queue.untilSomebodyWaits()
        }
        try await group.waitForAll()
      }
      #expect(try await queue.text("SELECT max_waiting || ' ' || max_all FROM analysis.admission") == "1 2")
    }
  }

  @Test("While no worker measures, a submit goes by the last size or by vacuum, and looks at no file")
  func unmeasured() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      func submit(limit: Int) async throws -> String? {
        try await queue.execute(
          "UPDATE analysis.setting SET value = '\(limit)' WHERE name = 'max_database_bytes'")
        return try await queue.submit([Ask("user")])[0].reason
      }
      try await queue.execute("DELETE FROM analysis.gauge WHERE name = 'database_bytes'")
      let size = try await queue.number("SELECT pg_database_size(current_database())")
      let limit = size + 10_000_000
      // The tables of all databases of the server, which others fill, do not count.
      try await queue.execute("UPDATE pg_class SET relpages = 1000000 WHERE relisshared")
      #expect(try await submit(limit: 1) == "storage_full")
      #expect(try await submit(limit: limit) == nil)
      try await queue.execute(
        """
        CREATE TABLE public.large WITH (autovacuum_enabled = false) AS
        SELECT g, repeat('x', 1000) FROM generate_series(1, 24000) g;
        """)
      #expect(try await queue.number("SELECT pg_database_size(current_database())") > limit)
      #expect(try await submit(limit: limit) == nil)
      try await queue.execute("VACUUM public.large")
      #expect(try await submit(limit: limit) == "storage_full")
      // What was measured last holds where it is more, however long ago that was.
      try await queue.execute(
        "INSERT INTO analysis.gauge (name, value, at) VALUES ('database_bytes', \(10 * limit), '-infinity')")
      #expect(try await submit(limit: 10 * limit) == "storage_full")
      #expect(try await submit(limit: 10 * limit + 1) == nil)
    }
  }

  @Test("Each bad job of a call is refused for its own reason")
  func badArguments() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let past = try await queue.now(plus: -60)
      let answers = try await queue.submit([
        Ask("nobody"), Ask("user", kind: 3), Ask("user", priority: 3), Ask("user", image: ""),
        Ask("user", key: ""),
        Ask("user", key: String(repeating: "k", count: 201)), Ask("user", expires: past),
        Ask("user", at: past),
        Ask("user", at: .infinity), Ask(""),
      ])
      #expect(
        answers.map(\.reason) == [
          "unknown_user", "bad_argument", "bad_argument", "bad_argument", "bad_argument", "bad_argument",
          "expired", nil,
          "bad_argument", "unknown_user",
        ])
      #expect(try await queue.usage("user").used == 1)
    }
  }

  @Test("A user of another shard is told so")
  func wrongShard() async throws {
    try await withCheckedQueue { queue in
      try await queue.execute("UPDATE analysis.setting SET value = '64' WHERE name = 'shards'")
      let user = try await queue.texts(
        "SELECT 'u' || g FROM generate_series(1, 1000) g WHERE analysis.shard_of('u' || g) = 7 LIMIT 1")[0]
      #expect(try await queue.submit([Ask(user)])[0].reason == "wrong_shard")
      await #expect(throws: PostgreSQLError.self) {
        try await queue.number(
          "SELECT o_user_id FROM analysis.add_user(0::smallint, $1, 'premium', 'UTC', NULL, NULL)",
          [.text(user)])
      }
    }
  }

  @Test("A job is promoted when its time has come, and one past its expiry is claimed with a mark")
  func promotionAndExpiry() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let soon = try await queue.now(plus: 3600)
      let jobs = try await queue.create([
        Ask("user", at: soon), Ask("user", at: soon + 60), Ask("user", expires: soon),
      ])
      #expect(try await queue.promote() == 0)
      try await queue.execute(
        """
        UPDATE analysis.scheduled SET run_at = clock_timestamp() WHERE job_id = \(jobs[0]);
        UPDATE analysis.job SET expires_at = clock_timestamp() WHERE id = \(jobs[2])
        """)
      #expect(try await queue.promote() == 1)
      let claimed = try await queue.claim()
      #expect(
        Dictionary(uniqueKeysWithValues: claimed.map { ($0.job, $0.isExpired) }) == [
          jobs[0]: false, jobs[2]: true,
        ])
      let outcome = try await queue.fail(
        [jobs[2]], leases: [claimed[0].lease], delay: nil, consumes: false, failureClass: "expired")
      #expect(outcome == [jobs[2]: "dead"])
      #expect(try await queue.numbers("SELECT attempts FROM analysis.dead") == [0])
    }
  }

  @Test("A turn is given to one of many callers, and again when its time has passed")
  func turns() async throws {
    try await withCheckedQueue(connections: 8) { queue in
      func turns() async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for _ in 0..<8 {
            group.addTask {
              try await queue.pool.query("SELECT analysis.take_turn(0::smallint, 'sweep', 3600000)").single()
                .bool(0)
            }
          }
          return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
      }
      #expect(try await turns() == 1)
      #expect(try await turns() == 0)
      try await queue.execute("UPDATE analysis.maintenance SET next_at = '-infinity'")
      #expect(try await turns() == 1)
    }
  }

  @Test(
    "A back-end submits within its own transaction: committed or rolled back with it, and its image is unsanitized"
  )
  func backEnd() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let submit = "SELECT outcome, reason, job_id FROM analysis.submit_image('user', $1, $2, 'key')"
      try await queue.pool.withConnection { connection in
        try await connection.execute(script: "BEGIN")
        #expect(
          try await connection.query(submit, ["ear", .bytes([0xFF, 0xD8, 0xFF])]).single().string(0)
            == "created")
        try await connection.execute(script: "ROLLBACK")
      }
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 0)
      #expect(
        try await queue.pool.query(submit, ["ear", .bytes([0xFF, 0xD8, 0xFF])]).single().string(0)
          == "created")
      #expect(
        try await queue.pool.query(submit, ["ear", .bytes([0xFF, 0xD8, 0xFF])]).single().string(0)
          == "duplicate")
      #expect(
        try await queue.pool.query(submit, ["nose", .bytes([0xFF, 0xD8, 0xFF])]).single().string(1)
          == "bad_argument")
      #expect(try await queue.number("SELECT count(*) FROM analysis.job WHERE image_unsanitized") == 1)
    }
  }

  @Test("An image that no worker would take is refused before anything is charged, to the byte")
  func imageSize() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let submit = "SELECT outcome, reason FROM analysis.submit_image('user', 'ear', $1)"
      for size in [ImageSize.maximum + 1, 10_200_000] {
        let row = try await queue.pool.query(submit, [.bytes([UInt8](repeating: 1, count: size))]).single()
        #expect(try row.string(1) == "bad_argument")
      }
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 0)
      #expect(try await queue.number("SELECT coalesce(sum(used), 0) FROM analysis.usage") == 0)
      let largest = [0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: ImageSize.maximum - 2)
      #expect(try await queue.pool.query(submit, [.bytes(largest)]).single().string(0) == "created")
    }
  }

  @Test("The database and the programs mean the same by the size of an image")
  func sameSize() async throws {
    try await withCheckedQueue { queue async throws in
      #expect(try await queue.number("SELECT analysis.max_image_bytes(false)") == ImageSize.maximum)
      #expect(try await queue.number("SELECT analysis.max_image_bytes(true)") == ImageSize.encryptedMaximum)
      let sound = "SELECT analysis.is_soundly_encrypted"
      #expect(try await queue.texts("\(sound)(NULL, NULL, 10000000)::text") == ["true"])
      #expect(try await queue.texts("\(sound)(NULL, NULL, 10000001)::text") == ["false"])
      #expect(try await queue.texts("\(sound)(1, 72, 10000512)::text") == ["true"])
      let job =
        "SELECT analysis.is_sound('u', 1::smallint, 1::smallint, sha256('x'), $1, 1, 1, NULL, NULL, NULL)::text"
      #expect(try await queue.texts(job, [.int32(10_000_512)]) == ["true"])
      #expect(try await queue.texts(job, [.int32(10_000_513)]) == ["false"])
    }
  }

  @Test("A user reads their own results only")
  func results() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      try await queue.addUser("other")
      let job = try await queue.create([Ask("user")])[0]
      #expect(try await queue.complete(try await queue.claim()) == [job])
      func open(_ user: String, _ job: Int64) async throws -> String? {
        try await queue.pool.query("SELECT analysis.open_results($1, $2)", [.text(user), .array([job])])
          .single()
          .stringIfPresent(0)
      }
      let reading = try #require(try await open("user", job))
      let sql = "SELECT primary_band FROM analysis.results_of($1, $2)"
      #expect(try await queue.texts(sql, ["user", .text(reading)]) == ["red"])
      #expect(try await queue.texts(sql, ["other", .text(reading)]) == [])
      #expect(try await open("other", job) == nil)
      #expect(try await open("user", job + 1) == nil)
    }
  }
}
