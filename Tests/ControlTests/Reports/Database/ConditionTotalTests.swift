import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control

@Suite("Totals of conditions")
struct ConditionTotalTests {
  /// A result each of none to five conditions, their bands 1 to 4 in turn; every third is normal, and every seventh does
  /// not say.
  private static let results = """
    \(makingMonths(24249...24249))
    INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt, created_at)
    VALUES (0, 1, 'p1', 'UTC', decode(repeat('00', 32), 'hex'), '2020-01-01Z');
    INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at, analysis_id,
      condition_count, conditions, primary_id, primary_name, primary_confidence, primary_band, primary_normal,
      secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal)
    SELECT 0, 24249, n, 1, 1 + n % 2, 1, 1, 1, '2020-10-05Z', 'a', l.count, l.list, l.list->0->>'id', l.list->0->>'name',
      (l.list->0->>'confidence')::float8, (l.list->0->>'band')::int,
      CASE WHEN l.count > 0 THEN coalesce((l.list->0->>'normal')::boolean, false) END, l.list->1->>'id',
      l.list->1->>'name', (l.list->1->>'confidence')::float8, (l.list->1->>'band')::int,
      CASE WHEN l.count > 1 THEN coalesce((l.list->1->>'normal')::boolean, false) END
    FROM generate_series(0, 59) n
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS count, coalesce(jsonb_agg(jsonb_build_object('id', 'c' || i, 'name', 'C' || i,
        'confidence', 0.5, 'band', 1 + (n + i) % 4,
        'normal', CASE WHEN (n + i) % 7 > 0 THEN (n + i) % 3 = 0 END) ORDER BY i), '[]') AS list
      FROM generate_series(1, n % 6) i) l;
    """

  @Test("All conditions of an analysis count in the totals, those behind the second too")
  func allConditions() async throws {
    try await withQueue { (queue) async throws in
      try await queue.pool.execute(script: Self.results)
      let totals = try await queue.text(
        "SELECT concat_ws(' ', normal, green, yellow, orange, red) FROM analysis.finding_counts(24249::smallint)"
      )
      #expect(
        try await queue.text(
          """
          SELECT concat_ws(' ', sum(total) FILTER (WHERE normal), sum(green) FILTER (WHERE NOT normal),
            sum(yellow) FILTER (WHERE NOT normal), sum(orange) FILTER (WHERE NOT normal),
            sum(red) FILTER (WHERE NOT normal)) FROM analysis.condition_counts(24249::smallint, NULL)
          """) == totals)
      #expect(
        try await queue.text(
          """
          SELECT concat_ws(' ', throat, ear, without_condition, normal + green + yellow + orange + red)
          FROM analysis.finding_counts(24249::smallint)
          """) == "30 30 10 150")
    }
  }
}
