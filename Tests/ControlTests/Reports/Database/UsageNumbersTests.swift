import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Numbers of the usage report")
struct UsageNumbersTests {
  @Test("what is used is what is analysed and what is open, counted where the open jobs are")
  func usedIsAnalysedAndOpen() async throws {
    try await withQueue { queue in
      try await queue.execute(Self.work)
      // The month of the jobs, not of the clock, which may have gone on to the next.
      let label = try await queue.number("SELECT max(period)::int FROM analysis.job")
      let month = try #require(Period(label: Int16(label)))
      let open = try await queue.number(
        """
        SELECT (SELECT count(*) FROM analysis.ready)::int + (SELECT count(*) FROM analysis.scheduled)::int
          + coalesce((SELECT sum(cardinality(job_ids)) FROM analysis.lease), 0)::int
        """)
      let collected = Collected()
      _ = try await Reporter(queue.pool).run(
        ReportRequest(.summary, month: month, format: .csv), to: .stream { collected.add($0) })
      let rows = try await Python.csvRows(collected.bytes, encoding: "utf-8").dropFirst().map {
        ($0[0], Int($0[1]))
      }
      let totals = Dictionary(uniqueKeysWithValues: rows)
      #expect(open == 4)
      #expect(totals["open"] == open)
      #expect(totals["analysed"] == 2)
      #expect(totals["used"] == 6)
      #expect(totals["cancelled"] == 1)
      #expect(totals["failed"] == 1)
      #expect(totals["refunded"] == 2)
      #expect(totals["calls"] == 4)
    }
  }

  @Test("what is analysed is the same counted and by the units, wherever jobs are")
  func countedAndByUnits() async throws {
    try await withQueue { queue in
      try await queue.execute(Self.work)
      // One is cancelled while a worker has it.
      try await queue.execute("SELECT analysis.cancel(0::smallint, b.job_ids) FROM analysis.lease b")
      try await queue.expectInvariants()
      let cancelled = try await queue.number(
        """
        SELECT sum(c.cancelled)::int FROM analysis.usage u
        CROSS JOIN LATERAL analysis.usage_of(u.period, now(), NULL, true) c
        """)
      #expect(cancelled == 2)
      let different = """
        SELECT count(*)::int FROM analysis.usage u CROSS JOIN LATERAL (
          SELECT * FROM analysis.usage_of(u.period, now(), NULL, true)
          EXCEPT SELECT * FROM analysis.usage_of(u.period, now(), NULL, false)) d
        """
      #expect(try await queue.number(different) == 0)
      // It can find a difference.
      try await queue.execute("UPDATE analysis.usage SET used = used + 1")
      #expect(try await queue.number(different) == 1)
    }
  }

  @Test("analyses are counted of one user, for a statement, and where very many jobs wait")
  func whereCounted() async throws {
    try await withQueue { queue in
      try await queue.execute(Self.work)
      // A counter that is wrong shows which of the two is asked.
      try await queue.execute("UPDATE analysis.usage SET used = used + 1")
      func analysed(_ user: String = "NULL") async throws -> [Int] {
        let lines = "(m.period, NULL, now(), NULL, \(user), true) l WHERE l.for_period IS NOT NULL"
        let month = "(SELECT max(j.period) AS period FROM analysis.job j) m"
        return [
          try await queue.number("SELECT sum(l.analysed)::int FROM \(month), analysis.usage_lines\(lines)"),
          try await queue.number("SELECT sum(l.analysed)::int FROM \(month), analysis.billed_lines\(lines)"),
          try await queue.number(
            "SELECT l.analysed::int FROM \(month), analysis.summary_report(m.period, now()) l"),
        ]
      }
      #expect(try await analysed() == [3, 3, 3])
      #expect(try await analysed("'worked'") == [2, 2, 3])
      try await queue.execute(
        """
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
        SELECT 0, 5, 0, j.period, g, -g
        FROM generate_series(1, 100001) g, (SELECT max(period) AS period FROM analysis.job) j
        """)
      #expect(try await analysed() == [2, 2, 2])
      try await queue.execute("DELETE FROM analysis.ready WHERE job_id < 0")
      #expect(try await analysed() == [3, 3, 3])
      try await queue.execute(
        "SELECT analysis.close_usage(max(period), now() + interval '70 days') FROM analysis.job")
      #expect(try await queue.number("SELECT sum(analysed)::int FROM analysis.statement_line") == 2)
    }
  }

  @Test("the plan and the limit are those in force at the month's end, or now while it runs")
  func planInForce() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      // Bob: free, premium from 10 September, free again from 10 November.
      let september = try await plans("2020-09", at: "2020-09-05T00:00:00Z", queue)
      #expect(september["bob"] == "free 5")
      #expect(try await plans("2020-09", at: "2020-12-01T00:00:00Z", queue)["bob"] == "premium ")
      #expect(try await plans("2020-11", at: "2020-11-05T00:00:00Z", queue)["bob"] == "premium ")
      #expect(try await plans("2020-11", at: "2020-11-20T00:00:00Z", queue)["bob"] == "free 2")
      // The free plan's limit went from 5 to 2 on 20 October.
      #expect(try await plans("2020-10", at: "2020-10-19T00:00:00Z", queue)["ana"] == "free 5")
      #expect(try await plans("2020-10", at: "2020-10-20T00:00:00Z", queue)["ana"] == "free 2")
    }
  }

  @Test("a user has a row from the month in which the account was made, by the user's own zone")
  func usersOfTheMonth() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      #expect(try await plans("2020-06", at: "2020-12-01T00:00:00Z", queue).isEmpty)
      let october = try await plans("2020-10", at: "2020-12-01T00:00:00Z", queue)
      #expect(Set(october.keys) == ["'=1+1", "ana", "bob", "zoë, \"Z\""])
      try await queue.execute(
        """
        UPDATE analysis.account SET zone = 'Asia/Jakarta' WHERE user_ref LIKE 'zo%';
        UPDATE analysis.account SET zone = 'America/New_York' WHERE user_ref = 'later';
        """)
      let moved = try await plans("2020-10", at: "2020-12-01T00:00:00Z", queue)
      #expect(Set(moved.keys) == ["'=1+1", "ana", "bob", "later"])
    }
  }

  private func plans(
    _ month: String, at moment: String, _ queue: QueueFixture
  ) async throws -> [String: String] {
    // A draft, since a closed month does not change with the moment of asking.
    try await queue.execute(
      "UPDATE analysis.setting SET value = '99 years' WHERE name = 'statement_grace'")
    let text = try await queue.report(.usage, .csv, month: month, at: moment)
    let rows = try await Python.csvRows(Array(text.utf8), encoding: "utf-8").dropFirst()
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], "\($0[3]) \($0[5])") })
  }

  /// Eight jobs of one user this month: two analysed (one after a failed call), one dead, one cancelled, one in a
  /// lease, one to be tried again later, two waiting.
  static let work = """
    DO $$
    DECLARE
      v_month smallint := analysis.period_of(now(), 'UTC');
      v_jobs bigint[];
    BEGIN
      PERFORM analysis.ensure_partitions(v_month, (v_month + 1)::smallint);
      PERFORM analysis.add_user(0::smallint, 'worked', 'premium', 'UTC', NULL, NULL);
      SELECT array_agg(s.job_id) INTO v_jobs
      FROM generate_series(1, 8) i
      CROSS JOIN LATERAL analysis.submit_image('worked', 'throat', decode('ffd8ff' || md5(i::text), 'hex')) s;
      PERFORM analysis.cancel(0::smallint, v_jobs[8:8]);
      PERFORM analysis.claim(0::smallint, sha256('1'), 100, ARRAY[5]::smallint[], ARRAY[0]::bigint[], ARRAY[5], 5, 60000);
      PERFORM analysis.fail(0::smallint, sha256('1'), ARRAY[100, 100, 100]::bigint[], ARRAY[v_jobs[1], v_jobs[2], v_jobs[3]],
        ARRAY[NULL, 60000, 0]::bigint[], ARRAY[true, true, true], ARRAY['permanent', 'server', 'server'],
        ARRAY[NULL, NULL, NULL]::text[], ARRAY['no', 'no', 'no'], ARRAY[NULL, NULL, NULL]::text[],
        ARRAY[400, 500, 500]::smallint[], ARRAY[1, 0, 1]::smallint[], ARRAY[false, false, false],
        ARRAY['main', 'main', 'main']);
      PERFORM analysis.claim(0::smallint, sha256('1'), 200, ARRAY[5]::smallint[], ARRAY[0]::bigint[], ARRAY[1], 1, 60000);
      PERFORM analysis.complete(0::smallint, sha256('1'), array_agg(j.lease), array_agg(j.id),
        array_agg('a' || j.id), array_agg(NULL::timestamptz), array_agg('[]'::text), array_agg(0::smallint),
        array_agg(NULL::text), array_agg(NULL::text), array_agg(NULL::float8), array_agg(NULL::smallint),
        array_agg(NULL::boolean), array_agg(NULL::text), array_agg(NULL::text), array_agg(NULL::float8),
        array_agg(NULL::smallint), array_agg(NULL::boolean), NULL, NULL, NULL, NULL,
        array_agg(1::smallint), array_agg(10), array_agg(NULL::text), array_agg('main'::text), '1.0')
      FROM (
        SELECT b.id AS lease, unnest(b.job_ids[1:1]) AS id FROM analysis.lease b WHERE b.id = 100
        UNION ALL SELECT b.id, unnest(b.job_ids) FROM analysis.lease b WHERE b.id = 200) j;
    END $$;
    """
}
