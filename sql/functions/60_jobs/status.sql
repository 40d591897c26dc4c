-- What there is in the queue, and who works on it. Every count is bounded or kept by workers. Each function
-- runs with its caller's rights, but for those that count the dead and the refusals.

-- What waits and runs in each lane of one shard, up to p_limit; programs of 1.0.0 ask for it.
CREATE OR REPLACE FUNCTION analysis.status_of_lanes(p_shard smallint, p_lanes smallint[], p_limit int)
RETURNS TABLE (o_lane smallint, o_waiting int, o_in_flight int, o_oldest_seconds float8)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.o_lane, l.o_waiting, l.o_in_flight,
    extract(epoch FROM clock_timestamp() - l.o_waiting_since)::float8
  FROM analysis.count_lanes(p_shard, p_lanes, NULL, p_limit) l
  ORDER BY l.o_lane
$$;
COMMENT ON FUNCTION analysis.status_of_lanes IS
  'Answers how many jobs wait and run in each lane of a shard, up to a bound.';

-- What else there is in one shard. Counting stops at p_limit.
CREATE OR REPLACE FUNCTION analysis.status_of_shard(p_shard smallint, p_limit int)
RETURNS TABLE (o_scheduled int, o_next_run timestamptz, o_next_run_seconds float8, o_dead int, o_refunds int)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.scheduled, n.run_at, extract(epoch FROM n.run_at - clock_timestamp())::float8, d.o_dead,
    d.o_refunds
  FROM analysis.dead_counts(p_shard, p_limit) d
  CROSS JOIN (
    SELECT count(*)::int AS scheduled
    FROM (
      SELECT
      FROM analysis.scheduled k
      WHERE k.shard = p_shard
      LIMIT least(p_limit, 1000001)) g) s
  CROSS JOIN (
    SELECT min(k.run_at) AS run_at
    FROM analysis.scheduled k
    WHERE k.shard = p_shard) n
$$;
COMMENT ON FUNCTION analysis.status_of_shard IS
  'Answers how many jobs of a shard are scheduled and dead, up to a bound.';

-- Whether a worker lives: it has not ended and was heard of in the last fifteen seconds. A sign of life to
-- come is from before the server's clock was set back.
CREATE OR REPLACE FUNCTION analysis.worker_lives(p_heartbeat_at timestamptz, p_ended_at timestamptz)
RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT p_ended_at IS NULL
    AND p_heartbeat_at BETWEEN clock_timestamp() - interval '15 seconds' AND clock_timestamp()
$$;
COMMENT ON FUNCTION analysis.worker_lives IS
  'Answers whether a worker lives, by its last sign of life and its end.';

-- The workers of one shard that were heard of in the last hour, those that have ended too.
CREATE OR REPLACE FUNCTION analysis.status_of_workers(p_shard smallint)
RETURNS TABLE (
  o_worker bigint, o_host text, o_pid int, o_version text, o_started_at timestamptz, o_silent_seconds float8,
  o_in_flight int, o_report jsonb, o_has_ended boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT w.id, w.host, w.pid, w.version, w.started_at,
    extract(epoch FROM clock_timestamp() - w.heartbeat_at)::float8, w.in_flight, w.report,
    w.ended_at IS NOT NULL
  FROM analysis.worker w
  WHERE w.shard = p_shard
    AND w.heartbeat_at BETWEEN clock_timestamp() - interval '1 hour' AND clock_timestamp() + interval '1 hour'
  ORDER BY w.host, w.pid, w.id
$$;
COMMENT ON FUNCTION analysis.status_of_workers IS
  'Answers the workers of a shard that were heard of in the last hour.';

-- Every lane of every shard. Counts that workers keep are taken where a worker lives and they are at
-- most ten seconds old; o_counted_seconds says how old. Else the lanes are counted
-- here and now, up to p_limit, and o_counted_seconds is NULL.
CREATE OR REPLACE FUNCTION analysis.status_of_queue(p_limit int)
RETURNS TABLE (
  o_shard smallint, o_lane smallint, o_waiting bigint, o_is_exact boolean, o_in_flight int,
  o_scheduled int, o_oldest_seconds float8, o_next_run timestamptz, o_counted_seconds float8)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  WITH shards AS MATERIALIZED (
    SELECT s.shard, c.counted_at
    FROM (
      SELECT g::smallint AS shard
      FROM generate_series(0, analysis.setting_value('shards')::int - 1) g) s
    LEFT JOIN analysis.shard_count c
      ON c.shard = s.shard AND c.counted_at > clock_timestamp() - interval '10 seconds'
        AND c.counted_at <= clock_timestamp() AND EXISTS (
          SELECT FROM analysis.worker w
          WHERE analysis.worker_lives(w.heartbeat_at, w.ended_at)))
  SELECT s.shard, l.lane::smallint, coalesce(q.waiting, 0), coalesce(q.is_exact, true),
    coalesce(q.in_flight, 0), coalesce(q.scheduled, 0),
    extract(epoch FROM clock_timestamp() - q.waiting_since)::float8, q.next_run,
    extract(epoch FROM clock_timestamp() - s.counted_at)::float8
  FROM shards s
  CROSS JOIN generate_series(4, 11) l(lane)
  LEFT JOIN analysis.lane_count q ON q.shard = s.shard AND q.lane = l.lane
  WHERE s.counted_at IS NOT NULL
  UNION ALL
  SELECT s.shard, l.o_lane, least(l.o_waiting, p_limit - 1), l.o_waiting < p_limit, l.o_in_flight,
    l.o_scheduled, extract(epoch FROM clock_timestamp() - l.o_waiting_since)::float8, l.o_next_run, NULL
  FROM shards s
  CROSS JOIN LATERAL analysis.count_lanes(s.shard, '{4,5,6,7,8,9,10,11}', NULL, p_limit) l
  WHERE s.counted_at IS NULL
$$;
COMMENT ON FUNCTION analysis.status_of_queue IS
  'Answers how many jobs wait, run and are scheduled in each lane of each shard, and how old the counts are.';

-- How many jobs of each shard are dead, and how many units are to be refunded: as workers keep it where one
-- lives and that is at most ten seconds old, else counted here and now, up to p_limit. Who is restricted to
-- clinics has their own counted.
CREATE OR REPLACE FUNCTION analysis.status_of_deaths(p_limit int)
RETURNS TABLE (o_shard smallint, o_dead int, o_refunds int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_sees_all boolean := analysis.clinics_seen(analysis.caller()) IS NULL;
BEGIN
  PERFORM analysis.require_argument(p_limit BETWEEN 0 AND 1000001, 'counting stops at 1000001 at most');
  RETURN QUERY
  SELECT s.shard, least(coalesce(c.dead, d.o_dead), p_limit), least(coalesce(c.refunds, d.o_refunds), p_limit)
  FROM (
    SELECT g::smallint AS shard
    FROM generate_series(0, analysis.setting_value('shards')::int - 1) g) s
  LEFT JOIN analysis.shard_count c
    ON c.shard = s.shard AND v_sees_all AND c.counted_at > clock_timestamp() - interval '10 seconds'
      AND c.counted_at <= clock_timestamp() AND EXISTS (
        SELECT FROM analysis.worker w
        WHERE analysis.worker_lives(w.heartbeat_at, w.ended_at))
  LEFT JOIN LATERAL analysis.dead_counts(s.shard, p_limit) d ON c.shard IS NULL;
END $$;
COMMENT ON FUNCTION analysis.status_of_deaths IS
  'Answers how many jobs of each shard are dead and how many refunds are pending, up to a bound.';

-- How many jobs of some clinics' users there are in each state but dead. Where it is not by users that they
-- are found, the first 10,000 of all are looked at; o_is_all: there were no others.
CREATE OR REPLACE FUNCTION analysis.clinics_by_state(p_clinics int[])
RETURNS TABLE (o_state text, o_count bigint, o_is_all boolean)
LANGUAGE sql STABLE AS $$
  WITH looked AS (
    SELECT 'waiting' AS state, j.shard, j.user_id
    FROM (SELECT r.shard, r.period, r.job_id FROM analysis.ready r LIMIT 10001) r
    CROSS JOIN LATERAL (
      SELECT k.shard, k.user_id FROM analysis.job k
      WHERE k.shard = r.shard AND k.period = r.period AND k.id = r.job_id OFFSET 0) j
    UNION ALL (SELECT 'scheduled', s.shard, s.user_id FROM analysis.scheduled s LIMIT 10001)
    UNION ALL
    (SELECT 'running', b.shard, u.user_id
     FROM analysis.lease b CROSS JOIN LATERAL unnest(b.user_ids) u(user_id) LIMIT 10001)
    UNION ALL
    (SELECT 'cancelled', r.shard, r.user_id FROM analysis.result r WHERE r.outcome = 2 LIMIT 10001)),
  months AS MATERIALIZED (
    SELECT u.shard, u.period, u.user_id
    FROM analysis.account a
    JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id
    WHERE a.clinic_id = ANY (p_clinics)
    LIMIT 20001)
  SELECT s.state, count(a.user_id), count(l.user_id) <= 10000
  FROM unnest('{waiting,scheduled,running,cancelled}'::text[]) s(state)
  LEFT JOIN looked l ON l.state = s.state
  LEFT JOIN analysis.account a
    ON a.shard = l.shard AND a.user_id = l.user_id AND a.clinic_id = ANY (p_clinics)
  GROUP BY s.state
  UNION ALL
  SELECT 'succeeded', least(count(*), 10000), count(*) <= 10000 AND (SELECT count(*) FROM months) <= 20000
  FROM (
    SELECT
    FROM months m
    CROSS JOIN LATERAL (
      SELECT FROM analysis.result r
      WHERE r.user_id = m.user_id AND r.shard = m.shard AND r.period = m.period AND r.outcome = 1 OFFSET 0) r
    LIMIT 10001) g
$$;

-- How many jobs there are in each state, of those that the caller may list; all that are kept, whatever their
-- month. What waits, runs, is scheduled or dead is counted as the functions above do; of what has ended
-- 10,000 at most. o_is_all: there are no others; else o_is_about: it is about right, or there are more.
CREATE OR REPLACE FUNCTION analysis.jobs_by_state()
RETURNS TABLE (o_state text, o_count bigint, o_is_all boolean, o_is_about boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_cancelled bigint;
BEGIN
  RETURN QUERY
  SELECT 'dead', sum(least(d.o_dead, 10000)), bool_and(d.o_dead <= 10000), false
  FROM analysis.status_of_deaths(10001) d;
  IF v_seen IS NOT NULL THEN
    RETURN QUERY SELECT c.o_state, c.o_count, c.o_is_all, false FROM analysis.clinics_by_state(v_seen) c;
    RETURN;
  END IF;

  RETURN QUERY
  SELECT s.state, sum(s.count)::bigint, bool_and(s.is_all), bool_and(s.is_all OR s.is_kept)
  FROM analysis.status_of_queue(10001) q
  CROSS JOIN LATERAL (VALUES
    ('waiting', q.o_waiting, q.o_is_exact, q.o_counted_seconds IS NOT NULL),
    ('running', q.o_in_flight, true, true),
    ('scheduled', least(q.o_scheduled, 10000), q.o_scheduled <= 10000, false)
  ) s(state, count, is_all, is_kept)
  GROUP BY s.state;
  SELECT count(*) INTO v_cancelled FROM (
    SELECT FROM analysis.result r WHERE r.outcome = 2 LIMIT 10001) g;
  RETURN QUERY VALUES ('cancelled', least(v_cancelled, 10000), v_cancelled <= 10000, false);
  IF v_cancelled <= 10000 THEN
    -- All that have ended are counted by their keys, without reading what was found.
    RETURN QUERY
    SELECT 'succeeded', least(count(*) - v_cancelled, 10000), count(*) - v_cancelled <= 10000, false
    FROM (SELECT FROM analysis.result r LIMIT v_cancelled + 10001) g;
  ELSE
    RETURN QUERY
    SELECT 'succeeded', least(count(*) FILTER (WHERE g.outcome = 1), 10000), false, false
    FROM (SELECT r.outcome FROM analysis.result r LIMIT 20000) g;
  END IF;
END $$;
COMMENT ON FUNCTION analysis.jobs_by_state IS
  'Answers how many jobs the caller sees in each state, of what has ended up to a bound.';

-- How many results were stored a second over the last ten seconds, minute and five minutes, by what workers
-- keep of it. Steps of which nothing was kept do not count; NULL where there is no other.
CREATE OR REPLACE FUNCTION analysis.done_rates()
RETURNS TABLE (o_10_seconds float8, o_1_minute float8, o_5_minutes float8)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT
    (array_agg(h.rate ORDER BY h.at DESC) FILTER (WHERE h.at > n.now - interval '25 seconds'))[1]::float8,
    (avg(h.done) FILTER (WHERE h.at > n.now - interval '1 minute') / 10)::float8,
    (avg(h.done) / 10)::float8
  FROM (SELECT clock_timestamp() AS now) n
  LEFT JOIN analysis.queue_history h
    ON h.step = 10 AND h.at > n.now - interval '5 minutes' AND h.at <= n.now
$$;
COMMENT ON FUNCTION analysis.done_rates IS
  'Answers how many results were stored a second over ten seconds, a minute and five minutes.';

-- How the queue was in the last p_seconds (two days at most), in p_parts (200 at most) of equal length, the
-- oldest first: the mean of what waited and ran, and how much came to an end a second. NULL for a part of
-- which nothing was kept: no worker lived, and no `analysisctl serve` ran.
CREATE OR REPLACE FUNCTION analysis.queue_past(p_seconds int, p_parts int)
RETURNS TABLE (
  o_at timestamptz, o_waiting float8, o_in_flight float8, o_done float8, o_dead float8, o_retried float8)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH asked AS MATERIALIZED (
    SELECT date_bin('1 minute', clock_timestamp(), '2000-01-01 00:00:00+00') AS now, a.parts,
      greatest(least(p_seconds, 172800), 60)::float8 / a.parts AS width
    FROM (SELECT greatest(least(p_parts, 200), 1) AS parts) a),
  kept AS (
    SELECT a.parts - floor(extract(epoch FROM a.now - h.at)::float8 / a.width)::int AS part,
      avg(h.waiting)::float8 AS waiting, avg(h.in_flight)::float8 AS in_flight,
      (avg(h.done) / 60)::float8 AS done, (avg(h.dead) / 60)::float8 AS dead,
      (avg(h.retried) / 60)::float8 AS retried
    FROM asked a
    JOIN analysis.queue_history h
      ON h.step = 60 AND h.at > a.now - make_interval(secs => a.width * a.parts) AND h.at <= a.now
    GROUP BY 1)
  SELECT a.now - make_interval(secs => a.width * (a.parts - p.part)), k.waiting, k.in_flight, k.done, k.dead,
    k.retried
  FROM asked a
  CROSS JOIN LATERAL generate_series(1, a.parts) p(part)
  LEFT JOIN kept k ON k.part = p.part
  ORDER BY p.part
$$;
COMMENT ON FUNCTION analysis.queue_past IS
  'Answers how the queue was until now, in parts of equal length.';

-- What metrics show beside: how many submits the limits of the present month, by UTC, have refused (of a user
-- with anchors: of the present period), when the last
-- statement was closed, and how many webhooks are switched off. It reads the counters of all users: to be
-- asked once a minute at most.
CREATE OR REPLACE FUNCTION analysis.month_totals()
RETURNS TABLE (o_refused bigint, o_closed_at timestamptz, o_webhooks_off bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_month smallint := analysis.period_of(clock_timestamp(), 'UTC');
BEGIN
  SELECT coalesce(sum(u.refused), 0) INTO o_refused
  FROM analysis.usage u
  JOIN analysis.account a ON a.shard = u.shard AND a.user_id = u.user_id
  WHERE u.period IN (v_month - 1, v_month, v_month + 1, v_month + 2) AND u.refused > 0
    AND u.period = CASE WHEN a.anchors IS NULL THEN v_month
      ELSE analysis.period_at(clock_timestamp(), a.zone, a.anchors) END
    AND (v_seen IS NULL OR analysis.is_seen(v_seen, u.shard, u.user_id));
  SELECT max(s.closed_at) INTO o_closed_at
  FROM analysis.statement s;
  SELECT count(*) INTO o_webhooks_off
  FROM analysis.webhook w
  WHERE w.off_at IS NOT NULL
    AND (v_seen IS NULL OR w.clinic_id = ANY (v_seen) OR analysis.is_seen(v_seen, w.shard, w.user_id));
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.month_totals IS
  'Answers how many submits this month refused, when a statement was closed last, and webhooks that are off.';

-- The server's estimates, by name.
CREATE OR REPLACE FUNCTION analysis.gauges() RETURNS TABLE (o_name text, o_value bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT g.name, g.value
  FROM analysis.gauge g
$$;
COMMENT ON FUNCTION analysis.gauges IS
  'Answers the server''s estimates by name.';

-- Whether jobs of each type are run: `working`, or why not: `no worker`, `paused` or `endpoint shut`, and in
-- words what is to be said of it besides. Why an operator has paused something is told to those who may look
-- at the pauses.
CREATE OR REPLACE FUNCTION analysis.type_states()
RETURNS TABLE (o_kind smallint, o_state text, o_why text)
LANGUAGE sql STABLE AS $$
  WITH alive AS MATERIALIZED (
    SELECT CASE jsonb_typeof(w.report -> 'endpoints') WHEN 'array' THEN w.report -> 'endpoints'
      END AS endpoints
    FROM analysis.worker w
    WHERE analysis.worker_lives(w.heartbeat_at, w.ended_at)),
  allowed AS MATERIALIZED (
    SELECT has_function_privilege(analysis.caller(), 'analysis.pauses_in_force()', 'EXECUTE') AS reasons),
  called AS (
    SELECT k.kind, e.value ->> 'name' AS name, e.value ->> 'state' AS state,
      CASE WHEN w.reasons OR e.value ->> 'state' IS DISTINCT FROM 'paused' THEN e.value ->> 'reason'
        END AS reason
    FROM allowed w
    CROSS JOIN (VALUES (1, 'throat'), (2, 'ear')) k(kind, name)
    CROSS JOIN alive a
    CROSS JOIN LATERAL jsonb_array_elements(a.endpoints) e
    WHERE e.value -> 'kinds' ? k.name),
  pauses AS (
    SELECT p.o_scope AS scope, p.o_name AS name, CASE WHEN w.reasons THEN p.o_reason END AS reason
    FROM allowed w CROSS JOIN analysis.pauses_in_force() p)
  SELECT k.kind::smallint, s.state, left(s.why, 500)
  FROM (VALUES (1, 'throat'), (2, 'ear')) k(kind, name)
  CROSS JOIN LATERAL (
    SELECT 'no worker' AS state, NULL AS why, 1 AS rank WHERE NOT EXISTS (SELECT FROM alive)
    UNION ALL
    SELECT 'paused', p.reason, 2 FROM pauses p WHERE p.scope = 'all' OR p.scope = 'type' AND p.name = k.name
    UNION ALL
    -- A worker that names no endpoints may call one for each type.
    SELECT 'no worker', format('none takes on %s jobs', k.name), 3
    WHERE NOT EXISTS (SELECT FROM called c WHERE c.kind = k.kind)
      AND NOT EXISTS (SELECT FROM alive a WHERE a.endpoints IS NULL)
    UNION ALL
    SELECT CASE WHEN bool_and(c.state = 'paused' OR p.name IS NOT NULL) THEN 'paused'
      ELSE 'endpoint shut' END,
      min(coalesce(p.reason, c.reason)), 4
    FROM called c
    LEFT JOIN pauses p ON p.scope = 'endpoint' AND p.name = c.name
    WHERE c.kind = k.kind
    HAVING bool_and(p.name IS NOT NULL OR c.state IN ('paused', 'shut', 'probing'))
    UNION ALL
    SELECT 'working', NULL, 5
    ORDER BY rank
    LIMIT 1) s
$$;

-- The same of the whole queue: of a type of which jobs wait and none are run; else of one of which jobs are
-- run. Whoever shows the queue shows this: status, batches watch, doctor, the dashboard and the metrics.
CREATE OR REPLACE FUNCTION analysis.queue_state() RETURNS TABLE (o_state text, o_why text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH waiting AS MATERIALIZED (
    SELECT DISTINCT analysis.kind_of(q.lane) AS kind
    FROM analysis.lane_count q
    JOIN analysis.shard_count c ON c.shard = q.shard
    WHERE q.waiting > 0
      AND c.counted_at BETWEEN clock_timestamp() - interval '10 seconds' AND clock_timestamp()),
  states AS MATERIALIZED (
    SELECT s.*, w.kind IS NOT NULL AS waits
    FROM analysis.type_states() s
    LEFT JOIN waiting w ON w.kind = s.o_kind)
  SELECT s.o_state,
    CASE WHEN s.o_state = 'working' OR s.o_why LIKE 'none takes on %'
        OR (SELECT bool_and(a.o_state = s.o_state) FROM states a) THEN s.o_why
      ELSE concat_ws(', ', (ARRAY['throat', 'ear'])[s.o_kind] || ' jobs', s.o_why) END
  FROM states s
  ORDER BY s.waits DESC, (s.o_state = 'working') = s.waits, s.o_kind
  LIMIT 1
$$;
COMMENT ON FUNCTION analysis.queue_state IS
  'Answers whether jobs are run, and why not.';

-- How much there is for workers to do now, for whoever starts and stops them by one figure: what waits or is
-- due and is not of a type that operators paused, what runs, and shards that have events to send to webhooks.
-- 0: nothing needs a worker. It takes the counts that workers keep where one lives. Else it counts, up to
-- 32,000 that wait and as many that are due, evenly of each lane of each shard: it is asked every few
-- seconds, of queues of millions too.
CREATE OR REPLACE FUNCTION analysis.backlog() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  WITH bound AS MATERIALIZED (SELECT greatest(4000 / analysis.setting_value('shards')::int, 1) AS each),
  pauses AS MATERIALIZED (SELECT * FROM analysis.pauses_in_force()),
  queue AS MATERIALIZED (
    SELECT q.*, b.each,
      NOT EXISTS (
        SELECT FROM pauses p
        WHERE p.o_scope = 'all' OR p.o_scope = 'type'
          AND p.o_name = (ARRAY['throat', 'ear'])[analysis.kind_of(q.o_lane)]) AS can_run
    FROM bound b, analysis.status_of_queue(b.each + 1) q)
  SELECT (
    (SELECT sum(CASE WHEN q.can_run THEN q.o_waiting ELSE 0 END + q.o_in_flight) FROM queue q)
    + (SELECT count(*)
       FROM queue q
       CROSS JOIN LATERAL (
         SELECT FROM analysis.scheduled k
         WHERE k.shard = q.o_shard AND k.lane = q.o_lane AND k.run_at <= (SELECT clock_timestamp())
         LIMIT q.each) d
       WHERE q.can_run)
    + (SELECT count(*) FROM analysis.due_deliveries(ARRAY(SELECT DISTINCT q.o_shard FROM queue q))))::bigint
$$;
COMMENT ON FUNCTION analysis.backlog IS
  'Answers how much there is for workers to do now; 0 where nothing needs one.';

-- The whole queue as one JSON object, all of one moment: what waits and runs, who works on it, and what is
-- paused. Where no worker keeps counts, counting stops at p_limit, in each lane of each shard.
CREATE OR REPLACE FUNCTION analysis.queue_overview(p_limit int) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH queue AS MATERIALIZED (SELECT * FROM analysis.status_of_queue(p_limit)),
  lanes AS (
    SELECT q.o_lane AS lane, sum(q.o_waiting) AS waiting, bool_and(q.o_is_exact) AS "isExact",
      bool_and(q.o_is_exact OR q.o_counted_seconds IS NOT NULL) AS "isKept", sum(q.o_in_flight) AS "inFlight",
      max(q.o_oldest_seconds) AS oldest
    FROM queue q
    GROUP BY q.o_lane
    ORDER BY q.o_lane),
  rest AS (
    SELECT sum(least(q.o_scheduled, p_limit - 1)) AS scheduled,
      bool_and(q.o_scheduled < p_limit) AS "isScheduledExact",
      extract(epoch FROM min(q.o_next_run))::float8 AS "nextRun",
      extract(epoch FROM min(q.o_next_run) - clock_timestamp())::float8 AS "nextRunIn",
      CASE WHEN bool_and(q.o_counted_seconds IS NOT NULL) THEN max(q.o_counted_seconds) END AS "countedAgo"
    FROM queue q),
  deaths AS (
    SELECT sum(least(d.o_dead, p_limit - 1)) AS dead, bool_and(d.o_dead < p_limit) AS "isDeadExact",
      sum(least(d.o_refunds, p_limit - 1)) AS refunds, bool_and(d.o_refunds < p_limit) AS "isRefundsExact"
    FROM analysis.status_of_deaths(p_limit) d),
  workers AS (
    SELECT w.o_worker AS id, w.o_host AS host, w.o_pid AS pid, w.o_version AS version,
      extract(epoch FROM w.o_started_at)::float8 AS "startedAt",
      extract(epoch FROM clock_timestamp() - w.o_started_at)::float8 AS age,
      w.o_silent_seconds AS "heartbeatAgo",
      w.o_in_flight AS "inFlight", w.o_report::text AS report, w.o_has_ended AS "hasEnded"
    FROM (SELECT DISTINCT q.o_shard AS shard FROM queue q) s
    CROSS JOIN LATERAL analysis.status_of_workers(s.shard) w
    ORDER BY s.shard, w.o_host, w.o_pid, w.o_worker),
  pauses AS (
    SELECT p.o_scope AS scope, p.o_name AS name, p.o_reason AS reason, p.o_by AS by,
      extract(epoch FROM p.o_since)::float8 AS since, extract(epoch FROM p.o_until)::float8 AS until,
      p.o_seconds_left AS "secondsLeft"
    FROM analysis.pauses_in_force() p)
  SELECT to_jsonb(r) || to_jsonb(d) || jsonb_build_object(
      'state', (SELECT jsonb_build_object('name', s.o_state, 'why', s.o_why) FROM analysis.queue_state() s),
      'lanes', (SELECT jsonb_agg(l) FROM lanes l),
      'workers', (SELECT coalesce(jsonb_agg(w), '[]') FROM workers w),
      'pauses', (SELECT coalesce(jsonb_agg(p), '[]') FROM pauses p),
      'rates', (
        SELECT jsonb_build_object(
          'tenSeconds', k.o_10_seconds, 'minute', k.o_1_minute, 'fiveMinutes', k.o_5_minutes)
        FROM analysis.done_rates() k),
      'gauges', (SELECT coalesce(jsonb_object_agg(g.o_name, g.o_value), '{}') FROM analysis.gauges() g)
    )
  FROM rest r, deaths d
$$;
COMMENT ON FUNCTION analysis.queue_overview IS
  'Answers the whole queue as one JSON object: lanes, workers, pauses, and how fast jobs are done.';
