-- The counts that workers keep, so that whoever looks at the queue counts nothing. Whoever calls counts the
-- shards that are due; nothing is added to what a submit, a claim or a completion does.

-- What waits, runs and is scheduled in lanes of one shard, with its caller's rights. Counting stops at
-- p_limit, in each lane and for each number. p_from, in step with p_lanes, has the virtual times from which
-- to count what waits; NULL: from zero.
--
-- The job that has waited longest is the one with the lowest number, but for those that were tried before:
-- since when they wait again nobody knows. One that was promoted or queued again waits since then.
CREATE OR REPLACE FUNCTION analysis.count_lanes(
  p_shard smallint, p_lanes smallint[], p_from bigint[], p_limit int)
RETURNS TABLE (
  o_lane smallint, o_waiting int, o_in_flight int, o_scheduled int, o_waiting_since timestamptz,
  o_next_run timestamptz)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  SELECT l.lane, w.waiting, coalesce(f.in_flight, 0), s.scheduled,
    least(
      (SELECT greatest(j.created_at, j.run_at) FROM analysis.job j
       WHERE j.shard = p_shard AND j.period = h.period AND j.id = h.job_id
         AND (h.tries = 0 OR w.oldest IS NULL)),
      (SELECT greatest(j.created_at, j.run_at) FROM analysis.job j
       WHERE j.shard = p_shard AND j.id = w.oldest
         AND j.period = ANY (ARRAY(SELECT m.period FROM analysis.partition_made m))
       LIMIT 1)),
    n.run_at
  FROM unnest(p_lanes[1:100], p_from[1:100]) l(lane, from_vt)
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS waiting, min(g.job_id) FILTER (WHERE g.tries = 0) AS oldest
    FROM (
      SELECT r.job_id, r.tries
      FROM analysis.ready r
      WHERE r.shard = p_shard AND r.lane = l.lane AND r.vt >= coalesce(l.from_vt, 0)
      ORDER BY r.shard, r.lane, r.vt, r.job_id
      LIMIT least(p_limit, 1000001)) g) w
  LEFT JOIN LATERAL (
    SELECT r.job_id, r.period, r.tries
    FROM analysis.ready r
    WHERE r.shard = p_shard AND r.lane = l.lane AND r.vt >= coalesce(l.from_vt, 0)
    ORDER BY r.shard, r.lane, r.vt, r.job_id
    LIMIT 1) h ON true
  LEFT JOIN (
    SELECT b.lane, sum(cardinality(b.job_ids))::int AS in_flight
    FROM analysis.lease b
    WHERE b.shard = p_shard
    GROUP BY b.lane) f ON f.lane = l.lane
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS scheduled
    FROM (
      SELECT
      FROM analysis.scheduled k
      WHERE k.shard = p_shard AND k.lane = l.lane
      LIMIT least(p_limit, 1000001)) g) s
  LEFT JOIN LATERAL (
    SELECT k.run_at
    FROM analysis.scheduled k
    WHERE k.shard = p_shard AND k.lane = l.lane
    ORDER BY k.shard, k.lane, k.run_at, k.job_id
    LIMIT 1) n ON true
$$;
COMMENT ON FUNCTION analysis.count_lanes IS
  'Answers how many jobs wait, run and are scheduled in lanes of a shard, up to a bound.';

-- Counts those of the shards that were last counted more than one and a half seconds ago, and writes down the
-- history when a step of it is over; answers how many shards were counted. What somebody else is counting
-- just now is left to them, and so is everything where somebody's open transaction holds a row. Shards that
-- there are not are passed over.
CREATE OR REPLACE FUNCTION analysis.refresh_counts(p_shards smallint[]) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET lock_timeout = '100ms' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_due smallint[];
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_shards) <= 1024 AND NOT EXISTS (
      SELECT FROM unnest(p_shards) s WHERE (s BETWEEN 0 AND 1023) IS NOT TRUE),
    'at most 1024 shards are counted, with numbers from 0 to 1023');

  INSERT INTO analysis.shard_count (shard, counted_at)
  SELECT DISTINCT s, '-infinity'::timestamptz FROM unnest(p_shards) s
  WHERE s < analysis.setting_value('shards')::int
    AND NOT EXISTS (SELECT FROM analysis.shard_count c WHERE c.shard = s)
  ORDER BY 1
  ON CONFLICT (shard) DO NOTHING;
  -- What was counted later than now is from before the server's clock was set back.
  v_due := ARRAY(
    SELECT c.shard FROM analysis.shard_count c
    WHERE c.shard = ANY (p_shards)
      AND NOT (c.counted_at > v_now - interval '1500 milliseconds' AND c.counted_at <= v_now)
    ORDER BY c.shard
    FOR NO KEY UPDATE SKIP LOCKED);
  IF cardinality(v_due) = 0 THEN
    RETURN 0;
  END IF;
  PERFORM analysis.keep_counts(v_due, v_now);
  PERFORM analysis.count_large_lanes(v_due, v_now);
  BEGIN
    PERFORM analysis.keep_history(v_now);
  EXCEPTION WHEN lock_not_available THEN
    NULL;                              -- somebody else's open transaction writes it
  END;
  RETURN cardinality(v_due);
EXCEPTION WHEN lock_not_available THEN
  RETURN 0;
END $$;
COMMENT ON FUNCTION analysis.refresh_counts IS
  'Brings the kept counts of shards up to date where they are due, and the history of the queue.';

-- Counts shards whose rows the caller has locked: all in one statement, so that a job that goes from one
-- table to the next meanwhile is counted once. Called by a function, whose settings hold, like the next two.
CREATE OR REPLACE FUNCTION analysis.keep_counts(p_shards smallint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  WITH counted AS MATERIALIZED (
    SELECT s.shard, l.*
    FROM unnest(p_shards) s(shard)
    CROSS JOIN LATERAL (
      SELECT array_agg(g.lane::smallint ORDER BY g.lane) AS lanes,
        array_agg(coalesce(c.scan_from, 0) ORDER BY g.lane) AS marks
      FROM generate_series(4, 11) g(lane)
      LEFT JOIN analysis.lane_clock c ON c.shard = s.shard AND c.lane = g.lane) m
    CROSS JOIN LATERAL analysis.count_lanes(s.shard, m.lanes, m.marks, 10001) l),
  lanes AS (
    INSERT INTO analysis.lane_count AS q (
      shard, lane, is_exact, waiting, in_flight, scheduled, waiting_since, next_run)
    SELECT c.shard, c.o_lane, c.o_waiting <= 10000, c.o_waiting, c.o_in_flight, c.o_scheduled,
      c.o_waiting_since, c.o_next_run
    FROM counted c
    WHERE c.o_waiting > 0 OR c.o_in_flight > 0 OR c.o_scheduled > 0
      OR EXISTS (SELECT FROM analysis.lane_count o WHERE o.shard = c.shard AND o.lane = c.o_lane)
    ORDER BY c.shard, c.o_lane
    ON CONFLICT (shard, lane) DO UPDATE SET
      is_exact = EXCLUDED.is_exact,
      -- A lane that is still large is moved on from what was known of it.
      waiting = CASE WHEN EXCLUDED.is_exact OR q.is_exact THEN EXCLUDED.waiting ELSE q.waiting END,
      whole_at = CASE WHEN NOT EXCLUDED.is_exact THEN q.whole_at END,
      in_flight = EXCLUDED.in_flight, scheduled = EXCLUDED.scheduled,
      waiting_since = EXCLUDED.waiting_since, next_run = EXCLUDED.next_run
    WHERE (q.is_exact, q.in_flight, q.scheduled, q.waiting_since, q.next_run)
        IS DISTINCT FROM (
          EXCLUDED.is_exact, EXCLUDED.in_flight, EXCLUDED.scheduled, EXCLUDED.waiting_since,
          EXCLUDED.next_run)
      OR EXCLUDED.is_exact AND q.waiting <> EXCLUDED.waiting)
  UPDATE analysis.shard_count c SET
    counted_at = p_now,
    dead = (
      SELECT count(*) FROM (
        SELECT FROM analysis.dead d WHERE d.shard = c.shard LIMIT 10001) g),
    refunds = (
      SELECT count(*) FROM (
        SELECT FROM analysis.refund f WHERE f.shard = c.shard LIMIT 10001) g)
  WHERE c.shard = ANY (p_shards);
END $$;

-- Lanes of more than 10,000 jobs. A whole count is due after fifty times as long as the last one took, but
-- after two seconds at the earliest and a minute at the latest; and when the server's counters began anew.
-- One call spends a second on them, and a single count more. In between a lane is moved on by its part of
-- what was written to `ready` since then: an estimate, which is seldom asked for where a whole count takes
-- less than 40 ms.
--
-- A session tells the server's counters what it wrote up to ten seconds after its commit, now and then later.
-- So an estimate can be wrong by as many rows as were written in some seconds before the whole count, which
-- it then takes twice, or before now, which it lacks; and by what went to or from another large lane. It is
-- wrong until the next whole count, and is never more rows than `ready` has room for.
CREATE OR REPLACE FUNCTION analysis.count_large_lanes(p_shards smallint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_inserted bigint := pg_stat_get_tuples_inserted('analysis.ready'::regclass);
  v_left bigint := v_inserted - pg_stat_get_tuples_deleted('analysis.ready'::regclass);
  -- A row takes 52 bytes of a page at least: a header of 24, six columns of 24, and 4 that point to it.
  v_room bigint := pg_relation_size('analysis.ready'::regclass) / 52;
  v_lane record;
  v_began timestamptz;
  v_whole bigint;
BEGIN
  FOR v_lane IN
    SELECT q.shard, q.lane, coalesce(c.scan_from, 0) AS scan_from
    FROM analysis.lane_count q
    LEFT JOIN analysis.lane_clock c ON c.shard = q.shard AND c.lane = q.lane
    WHERE q.shard = ANY (p_shards) AND NOT q.is_exact AND (
      q.whole_at IS NULL OR q.whole_at > p_now OR v_inserted < q.whole_inserted
      OR q.whole_at + least(greatest(50.0 * q.whole_ms, 2000), 60000) * interval '1 millisecond' <= p_now)
    ORDER BY q.whole_at NULLS FIRST, q.shard, q.lane
  LOOP
    v_began := clock_timestamp();
    EXIT WHEN v_began > p_now + interval '1 second';
    SELECT count(*) INTO v_whole FROM analysis.ready r
    WHERE r.shard = v_lane.shard AND r.lane = v_lane.lane AND r.vt >= v_lane.scan_from;
    UPDATE analysis.lane_count q SET
      whole = v_whole, whole_at = v_began, whole_inserted = v_inserted, whole_left = v_left,
      whole_ms = ceil(extract(epoch FROM clock_timestamp() - v_began) * 1000)::int
    WHERE q.shard = v_lane.shard AND q.lane = v_lane.lane;
  END LOOP;

  UPDATE analysis.lane_count q SET waiting = e.waiting
  FROM (
    SELECT l.shard, l.lane, greatest(
        10001, least(
          v_room, l.whole + round((v_left - l.whole_left)::numeric * l.whole / t.whole)))::bigint AS waiting
    FROM analysis.lane_count l
    CROSS JOIN (
      SELECT greatest(sum(o.whole), 1) AS whole
      FROM analysis.lane_count o
      WHERE NOT o.is_exact AND o.whole_at IS NOT NULL) t
    WHERE l.shard = ANY (p_shards) AND NOT l.is_exact AND l.whole_at IS NOT NULL
      AND v_inserted >= l.whole_inserted) e
  WHERE q.shard = e.shard AND q.lane = e.lane AND q.waiting <> e.waiting;
END $$;

-- A counter of a worker's report; 0 where there is none, or what no counter comes to.
CREATE OR REPLACE FUNCTION analysis.counter_of(p_report jsonb, p_name text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN jsonb_typeof(p_report -> 'counters' -> p_name) = 'number'
    THEN least(greatest((p_report -> 'counters' ->> p_name)::numeric, 0), 1000000000000)::bigint ELSE 0 END
$$;

-- Writes down the step of ten seconds that ends at p_at.
--
-- What was done is what the workers' own counters have moved on by since the step before. The rate of each
-- goes by the times of its reports, which do not come in step. A worker of which nothing was heard for five
-- minutes is counted from its next report on. What was reported more than thirty seconds ago is not done now:
-- it is noted, so that the next step counts on from it, and is in no step.
CREATE OR REPLACE FUNCTION analysis.keep_step(p_at timestamptz, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_before jsonb := (
    SELECT h.counted FROM analysis.queue_history h
    WHERE h.step = 10 AND h.at < p_at ORDER BY h.at DESC LIMIT 1);
BEGIN
  WITH told AS MATERIALIZED (
    SELECT w.id::text AS id, w.started_at, extract(epoch FROM w.reported_at)::numeric AS at,
      analysis.counter_of(w.report, 'jobs_completed') AS done,
      analysis.counter_of(w.report, 'jobs_dead') AS dead,
      analysis.counter_of(w.report, 'jobs_retried') AS retried
    FROM analysis.worker w
    WHERE w.reported_at IS NOT NULL),
  moved AS (
    SELECT t.at - b.at AS seconds, t.done - b.done AS done, t.dead - b.dead AS dead,
      t.retried - b.retried AS retried
    FROM told t
    CROSS JOIN LATERAL (
      SELECT coalesce((v_before -> t.id ->> 0)::numeric, extract(epoch FROM t.started_at)) AS at,
        coalesce((v_before -> t.id ->> 1)::bigint, 0) AS done,
        coalesce((v_before -> t.id ->> 2)::bigint, 0) AS dead,
        coalesce((v_before -> t.id ->> 3)::bigint, 0) AS retried) b
    WHERE t.at > b.at AND t.at <= b.at + 300 AND t.at > extract(epoch FROM p_now) - 30)
  INSERT INTO analysis.queue_history (
    step, at, waiting, in_flight, scheduled, done, dead, retried, rate, counted)
  SELECT 10, p_at, coalesce(q.waiting, 0), coalesce(q.in_flight, 0), coalesce(q.scheduled, 0),
    coalesce(m.done, 0), coalesce(m.dead, 0), coalesce(m.retried, 0), coalesce(m.rate, 0),
    (SELECT jsonb_object_agg(t.id, jsonb_build_array(t.at, t.done, t.dead, t.retried)) FROM told t)
  FROM (
    SELECT sum(l.waiting) AS waiting, sum(l.in_flight) AS in_flight, sum(l.scheduled) AS scheduled
    FROM analysis.lane_count l) q
  CROSS JOIN (
    SELECT sum(greatest(v.done, 0)) AS done, sum(greatest(v.dead, 0)) AS dead,
      sum(greatest(v.retried, 0)) AS retried, sum(greatest(v.done, 0) / greatest(v.seconds, 1)) AS rate
    FROM moved v) m
  ON CONFLICT (step, at) DO NOTHING;
  UPDATE analysis.queue_history h SET counted = NULL
  WHERE h.step = 10 AND h.at < p_at AND h.counted IS NOT NULL;
END $$;

-- Sums up the minutes that are over at p_at, which are not written down yet.
CREATE OR REPLACE FUNCTION analysis.keep_minutes(p_at timestamptz) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO analysis.queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
  SELECT 60, m.at, (array_agg(h.waiting ORDER BY h.at DESC))[1],
    (array_agg(h.in_flight ORDER BY h.at DESC))[1], (array_agg(h.scheduled ORDER BY h.at DESC))[1],
    sum(h.done), sum(h.dead), sum(h.retried), sum(h.done) / 60.0
  FROM analysis.queue_history h
  CROSS JOIN LATERAL (
    SELECT date_bin('1 minute', h.at - interval '10 seconds', '2000-01-01 00:00:00+00')
      + interval '1 minute' AS at) m
  -- From the beginning of a minute on: of none only a part is summed up.
  WHERE h.step = 10 AND m.at <= p_at
    AND h.at > date_bin('1 minute', p_at, '2000-01-01 00:00:00+00') - interval '10 minutes'
  GROUP BY m.at
  ON CONFLICT (step, at) DO NOTHING
$$;

-- Writes down what happened until the end of the last step of ten seconds, once; and the minutes that are
-- over. Whoever comes first in a step writes it.
CREATE OR REPLACE FUNCTION analysis.keep_history(p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_at timestamptz := date_bin('10 seconds', p_now, '2000-01-01 00:00:00+00');
BEGIN
  IF EXISTS (SELECT FROM analysis.queue_history h WHERE h.step = 10 AND h.at = v_at) THEN
    RETURN;
  END IF;
  PERFORM analysis.keep_step(v_at, p_now);
  PERFORM analysis.keep_minutes(v_at);
  -- What is ahead is from before the server's clock was set back.
  DELETE FROM analysis.queue_history h
  WHERE h.step = 10 AND h.at < v_at - interval '1 hour' OR h.step = 60 AND h.at < v_at - interval '2 days'
    OR h.at > v_at + interval '10 seconds';
END $$;
