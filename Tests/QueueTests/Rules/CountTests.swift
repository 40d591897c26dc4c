import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("The kept counts")
struct CountTests {
  /// Has the counts of shards brought up to date, as if the last time were long ago; answers how many were counted.
  @discardableResult
  private func refresh(_ queue: QueueFixture, _ shards: String = "{0}") async throws -> Int {
    try await queue.execute("UPDATE analysis.shard_count SET counted_at = '-infinity'")
    return try await queue.number("SELECT analysis.refresh_counts('\(shards)')")
  }

  /// Rows of `ready` that no job belongs to, from a virtual time on; the server's counters have them at once.
  private func plant(_ queue: QueueFixture, _ count: Int, lane: Int = 5, shard: Int = 0) async throws {
    try await queue.execute(
      """
      INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
      SELECT \(shard), \(lane), 0, 24300, i, i FROM generate_series(1, \(count)) i;
      SELECT pg_stat_force_next_flush()
      """)
  }

  private func remove(_ queue: QueueFixture, _ count: Int, lane: Int = 5) async throws {
    try await queue.execute(
      """
      DELETE FROM analysis.ready r WHERE r.lane = \(lane) AND r.vt < (
        SELECT min(vt) + \(count) FROM analysis.ready WHERE lane = \(lane));
      SELECT pg_stat_force_next_flush()
      """)
  }

  /// `shard/lane: waiting`, with `~` where it is about.
  private func waiting(_ queue: QueueFixture) async throws -> [String] {
    try await queue.texts(
      """
      SELECT format('%s/%s: %s%s', shard, lane, CASE WHEN NOT is_exact THEN '~' END, waiting)
      FROM analysis.lane_count WHERE waiting > 0 ORDER BY shard, lane
      """)
  }

  @Test("are exact up to 10,000 in each lane and shard, and follow what changes")
  func exact() async throws {
    try await withQueue(shards: 2) { queue in
      try await plant(queue, 10_000)
      try await plant(queue, 7, lane: 9, shard: 1)
      #expect(try await refresh(queue, "{0,1}") == 2)
      #expect(try await waiting(queue) == ["0/5: 10000", "1/9: 7"])
      try await remove(queue, 4_000)
      try await remove(queue, 7, lane: 9)
      try await refresh(queue, "{0,1}")
      #expect(try await waiting(queue) == ["0/5: 6000"])
    }
  }

  @Test("have what runs, is scheduled, died and is to be refunded, and the job that waits longest")
  func rest() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      _ = try await queue.deadJob("ann", image: "dead")
      let jobs = try await queue.create(Ask("ann") * 5)
      let claimed = try await queue.claim(2, lease: 200)
      let soon = try await queue.now(plus: 3600).rounded()
      _ = try await queue.create([Ask("ann", at: soon)])
      let left = jobs.filter { job in !claimed.contains { $0.job == job } }
      try await queue.execute(
        "UPDATE analysis.job SET created_at = now() - interval '1 hour' WHERE id = \(left[1])")
      // A job that is tried again: since when it waits is not known.
      try await queue.execute("UPDATE analysis.ready SET tries = 1 WHERE job_id = \(left[0])")
      try await refresh(queue)
      let found = try await queue.texts(
        """
        SELECT format('%s %s %s %s', waiting, in_flight, scheduled, extract(epoch FROM next_run)::bigint)
        FROM analysis.lane_count WHERE lane = 5
        """)
      #expect(found == ["3 2 1 \(Int(soon))"])
      #expect(
        try await queue.number(
          "SELECT extract(epoch FROM now() - waiting_since)::int / 60 FROM analysis.lane_count WHERE lane = 5"
        ) == 60)
      #expect(
        try await queue.texts("SELECT dead || ' ' || refunds FROM analysis.shard_count") == ["1 1"])
    }
  }

  @Test("are about right above 10,000: counted wholly now and then, and moved on by the server's counters")
  func large() async throws {
    try await withQueue { queue in
      try await plant(queue, 30_000)
      try await plant(queue, 15_000, lane: 6)
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: ~30000", "0/6: ~15000"])
      // The next whole count is far away.
      try await queue.execute("UPDATE analysis.lane_count SET whole_ms = 1000000")
      try await remove(queue, 9_000)
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: ~24000", "0/6: ~12000"], "each has its part of the change")
      try await queue.execute("UPDATE analysis.lane_count SET whole_at = now() - interval '1 day'")
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: ~21000", "0/6: ~15000"])
      try await remove(queue, 20_000)
      try await refresh(queue)
      #expect(try await waiting(queue)[0] == "0/5: 1000", "exact again, whatever is not due")
    }
  }

  @Test("of a large lane are whole where that costs little, however late the server's counters come")
  func late() async throws {
    try await withQueue { queue in
      try await plant(queue, 30_000)
      try await refresh(queue)
      // The counters had nothing of the rows when the lane was counted.
      try await queue.execute(
        """
        UPDATE analysis.lane_count SET whole_inserted = whole_inserted - 30000, whole_left = whole_left - 30000,
          whole_ms = 40, whole_at = now() - interval '3 seconds'
        """)
      try await remove(queue, 12_000)
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: ~18000"])
      // A count of two seconds is due after a minute.
      try await queue.execute(
        """
        UPDATE analysis.lane_count SET whole = 20000, whole_ms = 2000, whole_at = now() - interval '61 seconds'
        """)
      try await refresh(queue)
      #expect(try await queue.number("SELECT whole::int FROM analysis.lane_count") == 18_000)
    }
  }

  @Test("of a large lane are never more than there is room for")
  func room() async throws {
    try await withQueue { queue in
      try await plant(queue, 30_000)
      try await refresh(queue)
      try await queue.execute(
        """
        UPDATE analysis.lane_count SET whole_inserted = whole_inserted - 30000, whole_left = whole_left - 30000,
          whole_ms = 1000000
        """)
      try await remove(queue, 12_000)
      try await refresh(queue)
      let about = try await queue.number("SELECT waiting::int FROM analysis.lane_count WHERE NOT is_exact")
      #expect(about < 40_000, "not 48,000, though the counters have the 30,000 only now")
    }
  }

  @Test("are of shards that there are")
  func shards() async throws {
    try await withQueue { (queue) async throws in
      #expect(try await refresh(queue, "{0,5,900}") == 1)
      #expect(try await queue.texts("SELECT shard::text FROM analysis.shard_count") == ["0"])
    }
  }

  @Test("of a large lane never go below what was counted, and begin anew with the server's counters")
  func statistics() async throws {
    try await withQueue { queue in
      try await plant(queue, 20_000)
      try await refresh(queue)
      try await queue.execute("UPDATE analysis.lane_count SET whole_ms = 1000000, whole = 12000")
      try await remove(queue, 8_000)
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: ~10001"])
      try await queue.execute("SELECT pg_stat_reset()")
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: ~12000"])
    }
  }

  @Test("count from the published mark, as claims do; what was committed late counts after the next sweep")
  func mark() async throws {
    try await withQueue { queue in
      try await plant(queue, 10)
      try await queue.execute(
        """
        INSERT INTO analysis.lane_clock (shard, lane, now_vt, scan_from, staged, staged_at, at)
        VALUES (0, 5, 8, 8, 8, now(), now())
        """)
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: 3"])
      #expect(try await queue.number("SELECT analysis.sweep(0::smallint)") == 1)
      try await refresh(queue)
      #expect(try await waiting(queue) == ["0/5: 10"])
    }
  }

  @Test("are counted once by whoever comes first: not before they are due, and not while another counts")
  func turns() async throws {
    try await withQueue(shards: 2) { queue in
      let refresh = "SELECT analysis.refresh_counts('{0}')"
      let twice = "SELECT 10 * analysis.refresh_counts('{0}') + analysis.refresh_counts('{0}')"
      #expect(try await queue.number(twice) == 10)
      try await queue.execute("UPDATE analysis.shard_count SET counted_at = now() - interval '3 seconds'")
      try await queue.pool.transaction { (other) async throws in
        #expect(try await other.query(refresh).single().int(0) == 1)
        #expect(try await queue.number(refresh) == 0)
        #expect(try await queue.number("SELECT analysis.refresh_counts('{0,1}')") == 1, "another shard")
      }
      // From before the server's clock was set back.
      try await queue.execute("UPDATE analysis.shard_count SET counted_at = now() + interval '1 hour'")
      #expect(try await queue.number(refresh) == 1)
    }
  }

  @Test("write nothing of a lane in which nothing changes")
  func unchanged() async throws {
    try await withQueue { queue in
      try await plant(queue, 5)
      try await plant(queue, 20_000, lane: 6)
      try await refresh(queue)
      let versions = "SELECT xmin::text FROM analysis.lane_count ORDER BY lane"
      try await queue.execute("UPDATE analysis.lane_count SET whole_ms = 1000000 WHERE lane = 6")
      let before = try await queue.texts(versions)
      try await refresh(queue)
      #expect(try await queue.texts(versions) == before)
      #expect(before.count == 2)
    }
  }

  @Test("come to one figure for who starts workers, which is 0 where nothing needs one")
  func backlog() async throws {
    try await withQueue { queue in
      try await withLogin("scaler", of: [], in: queue) { (scaler) async throws in
        let login = try await scaler.query("SELECT current_user::text").single().string(0)
        // What it needs, and no role with it.
        try await queue.execute(
          """
          GRANT USAGE ON SCHEMA analysis TO \(login);
          GRANT EXECUTE ON FUNCTION analysis.backlog() TO \(login);
          SELECT analysis.apply_rights()
          """)
        func backlog() async throws -> Int {
          try await scaler.query("SELECT analysis.backlog()::int").single().int(0)
        }
        #expect(try await backlog() == 0)
        try await queue.addUser("ann")
        _ = try await queue.create([Ask("ann", at: try await queue.now(plus: 3600))])
        #expect(try await backlog() == 0, "its time has not come, and nobody is needed for it")
        try await queue.execute("UPDATE analysis.scheduled SET run_at = now() - interval '1 second'")
        #expect(try await backlog() == 1, "no worker promotes it")
        try await plant(queue, 30_000, lane: 9)
        #expect(try await backlog() == 4_001, "counted here, up to a bound")
        for (scope, name, left) in [("type", "ear", 1), ("type", "throat", 4_000), ("all", "", 0)] {
          try await queue.execute("SELECT analysis.pause('\(scope)', '\(name)', NULL, NULL)")
          #expect(try await backlog() == left, "nobody may run those of \(scope) \(name)")
          try await queue.execute("SELECT analysis.resume('\(scope)', '\(name)')")
        }
        try await queue.execute("DELETE FROM analysis.ready; DELETE FROM analysis.scheduled")
        _ = try await queue.create(Ask("ann") * 3)
        _ = try await queue.claim(2, lease: 200)
        #expect(try await backlog() == 3, "one waits, and two run")
        try await queue.execute("DELETE FROM analysis.ready; DELETE FROM analysis.lease")
        try await queue.execute(
          """
          INSERT INTO analysis.webhook_event (shard, state, webhook_id, at, due_at)
          SELECT 0, 0, analysis.add_webhook(0::smallint, 'ann', NULL, 'https://r.example.org/',
            decode(repeat('07', 150), 'hex'), false, false), now(), now()
          """)
        #expect(try await backlog() == 1, "a webhook is to be sent something")
        #expect(try await queue.number("SELECT count(*) FROM analysis.surplus_rights()") == 0)
        await #expect(throws: PostgreSQLError.self) {
          try await scaler.query("SELECT * FROM analysis.status_of_queue(1)")
        }
      }
    }
  }
}
