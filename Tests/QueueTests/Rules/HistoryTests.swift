import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue

@Suite("The kept history")
struct HistoryTests {
  /// Ends a step of ten seconds: what is there becomes ten seconds older, and the next is written.
  private func step(_ queue: QueueFixture) async throws {
    try await queue.execute(
      """
      UPDATE analysis.queue_history SET at = at - interval '1000 days';
      UPDATE analysis.queue_history SET at = at + interval '1000 days' - interval '10 seconds';
      UPDATE analysis.worker SET started_at = started_at - interval '10 seconds',
        reported_at = reported_at - interval '10 seconds';
      UPDATE analysis.queue_history SET counted = (
        SELECT jsonb_object_agg(c.key, jsonb_set(c.value, '{0}', to_jsonb((c.value ->> 0)::numeric - 10)))
        FROM jsonb_each(counted) c) WHERE counted IS NOT NULL;
      UPDATE analysis.shard_count SET counted_at = '-infinity';
      SELECT analysis.refresh_counts('{0}')
      """)
  }

  /// What a worker says now; it began so many seconds ago, and says something every ten, however long the statements of a
  /// test take.
  private func report(
    _ queue: QueueFixture, worker: Int, _ counters: String, began seconds: Int = 10
  ) async throws {
    try await queue.execute(
      """
      INSERT INTO analysis.worker (
        shard, id, host, pid, version, started_at, heartbeat_at, in_flight, reported_at, report)
      VALUES (0, \(worker), 'w', 1, '1', now() - interval '\(seconds) seconds', now(), 0, now(),
        '{"counters": \(counters)}')
      ON CONFLICT (shard, id) DO UPDATE SET reported_at = worker.reported_at + interval '10 seconds',
        report = EXCLUDED.report
      """)
  }

  /// `done dead retried rate` of the last step.
  private func last(_ queue: QueueFixture) async throws -> String {
    try await queue.text(
      """
      SELECT format('%s %s %s %s', done, dead, retried, round(rate::numeric))
      FROM analysis.queue_history WHERE step = 10 ORDER BY at DESC LIMIT 1
      """)
  }

  @Test("has what the workers' counters moved on by in a step, and at which rate")
  func done() async throws {
    try await withQueue { queue in
      try await step(queue)
      try await report(queue, worker: 1, #"{"jobs_completed": 100, "jobs_dead": 2, "jobs_retried": 3}"#)
      try await report(queue, worker: 2, #"{"jobs_completed": 40}"#, began: 20)
      try await step(queue)
      #expect(try await last(queue) == "140 2 3 12")
      try await report(queue, worker: 1, #"{"jobs_completed": 150, "jobs_dead": 2, "jobs_retried": 4}"#)
      // The other is lost: it says nothing more.
      try await step(queue)
      #expect(try await last(queue) == "50 0 1 5")
      try await step(queue)
      #expect(try await last(queue) == "0 0 0 0")
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.queue_history WHERE counted IS NOT NULL")
          == 1, "only the newest row has what the next one counts on from")
    }
  }

  @Test("does not take what a worker had done long before for done now, nor what is no number")
  func foreign() async throws {
    try await withQueue { queue in
      try await report(queue, worker: 1, #"{"jobs_completed": 5000000}"#, began: 86_400)
      try await report(
        queue, worker: 2, #"{"jobs_completed": "many", "jobs_dead": -7, "jobs_retried": 1e300}"#)
      try await report(queue, worker: 3, "[]")
      try await step(queue)
      #expect(try await last(queue) == "0 0 1000000000000 0")
      try await report(queue, worker: 1, #"{"jobs_completed": 5000020}"#)
      try await step(queue)
      #expect(try await last(queue) == "20 0 0 2")
      // A counter that begins anew is no negative work.
      try await report(queue, worker: 1, #"{"jobs_completed": 3}"#)
      try await step(queue)
      #expect(try await last(queue) == "0 0 0 0")
    }
  }

  @Test("notes what a worker reported before it ended long ago, and does not take it for done now")
  func past() async throws {
    try await withQueue { queue in
      try await step(queue)
      try await report(queue, worker: 1, #"{"jobs_completed": 1000}"#, began: 20)
      try await report(queue, worker: 2, #"{"jobs_completed": 70}"#)
      try await queue.execute(
        """
        UPDATE analysis.worker SET started_at = started_at - interval '2 hours',
          reported_at = reported_at - interval '2 hours' WHERE id = 1
        """)
      try await step(queue)
      #expect(try await last(queue) == "70 0 0 7")
      #expect(
        try await queue.text(
          "SELECT counted -> '1' ->> 1 FROM analysis.queue_history WHERE counted IS NOT NULL") == "1000")
    }
  }

  @Test("answers how much was done a second over ten seconds, a minute and five minutes")
  func rates() async throws {
    try await withQueue { queue in
      let rates = """
        SELECT concat_ws(' ', coalesce(round(o_10_seconds)::text, '-'), coalesce(round(o_1_minute)::text, '-'),
          coalesce(round(o_5_minutes)::text, '-')) FROM analysis.done_rates()
        """
      #expect(try await queue.text(rates) == "- - -")
      try await queue.execute(
        """
        INSERT INTO analysis.queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
        SELECT 10, now() - i * interval '10 seconds', 0, 0, 0, CASE WHEN i < 6 THEN 600 ELSE 300 END, 0, 0, 70 - i
        FROM generate_series(0, 29) i
        """)
      #expect(try await queue.text(rates) == "70 60 36")
      // In two steps: two rows may not be of one time in between.
      for shift in ["- interval '10 days'", "+ interval '10 days' - interval '2 minutes'"] {
        try await queue.execute("UPDATE analysis.queue_history SET at = at \(shift)")
      }
      #expect(try await queue.text(rates) == "- - 40", "of the three minutes of which something was kept")
    }
  }

  @Test("sums up no part of a minute after a gap")
  func gap() async throws {
    try await withQueue { queue in
      try await queue.execute(
        """
        INSERT INTO analysis.queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
        SELECT 10, timestamptz '2026-01-05 11:59:00Z' + i * interval '10 seconds', 0, 0, 0, 10, 0, 0, 1
        FROM generate_series(-1, 6) i;
        SELECT analysis.keep_history('2026-01-05 12:09:40Z')
        """)
      #expect(
        try await queue.texts(
          """
          SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI ') || done FROM analysis.queue_history WHERE step = 60
          """) == ["12:00 60"], "the steps of the minute before are no longer whole in the ten minutes")
    }
  }

  @Test("has each minute that is over, and is kept for an hour and for two days")
  func minutes() async throws {
    try await withQueue { queue in
      try await queue.execute(
        """
        INSERT INTO analysis.queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
        SELECT 10, m.at - i * interval '10 seconds', 100 + i, 2, 3, 10, 1, 0, 1
        FROM (SELECT date_trunc('minute', now()) - interval '1 minute' AS at) m, generate_series(0, 11) i
        UNION ALL SELECT s, now() - g, 0, 0, 0, 0, 0, 0, 0
        FROM (VALUES (10, interval '61 minutes'), (60, interval '49 hours'), (60, interval '-1 hour')) o(s, g);
        SELECT analysis.refresh_counts('{0}')
        """)
      let minutes = try await queue.texts(
        """
        SELECT concat_ws(' ', extract(epoch FROM max(at) OVER () - at)::int, waiting, done, dead)
        FROM analysis.queue_history WHERE step = 60 AND waiting > 0 ORDER BY at DESC
        """)
      #expect(minutes == ["0 100 60 6", "60 106 60 6"])
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.queue_history WHERE at < now() - interval '1 hour'") == 0)
    }
  }
}
