-- What there is in the queue, and who works on it. Every count of jobs is bounded. Each function but month_totals
-- runs with its caller's rights.

-- What waits and runs in each lane of one shard. Counting stops at p_limit.
CREATE OR REPLACE FUNCTION analysis.status_of_lanes(p_shard smallint, p_lanes smallint[], p_limit int)
RETURNS TABLE (o_lane smallint, o_waiting int, o_in_flight int, o_oldest_seconds float8)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.lane, w.waiting, f.in_flight, h.oldest
  FROM unnest(p_lanes[1:100]) l(lane)
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS waiting
    FROM (
      SELECT
      FROM analysis.ready r
      WHERE r.shard = p_shard AND r.lane = l.lane
      LIMIT least(p_limit, 1000001)) g) w
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(cardinality(b.job_ids)), 0)::int AS in_flight
    FROM analysis.lease b
    WHERE b.shard = p_shard AND b.lane = l.lane) f
  -- The head of the lane stands for the one that has waited longest.
  LEFT JOIN LATERAL (
    SELECT extract(epoch FROM clock_timestamp() - greatest(j.created_at, j.run_at))::float8 AS oldest
    FROM (
      SELECT r.job_id, r.period
      FROM analysis.ready r
      WHERE r.shard = p_shard AND r.lane = l.lane
      ORDER BY r.vt, r.job_id
      LIMIT 1) r
    JOIN analysis.job j ON j.shard = p_shard AND j.period = r.period AND j.id = r.job_id) h ON true
  ORDER BY l.lane
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
  WHERE w.shard = p_shard AND w.heartbeat_at > clock_timestamp() - interval '1 hour'
  ORDER BY w.host, w.pid, w.id
$$;
COMMENT ON FUNCTION analysis.status_of_workers IS
  'Answers the workers of a shard that were heard of in the last hour.';

-- What else a monitoring system is told: how many submits the limits of the present month have refused, and when
-- the last statement was closed. It reads the counters of all users: to be asked once a minute at most.
CREATE OR REPLACE FUNCTION analysis.month_totals() RETURNS TABLE (o_refused bigint, o_closed_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_month smallint := analysis.period_of(now(), 'UTC');
BEGIN
  SELECT coalesce(sum(u.refused), 0) INTO o_refused
  FROM analysis.usage u
  WHERE u.period = v_month AND u.refused > 0
    AND (v_seen IS NULL OR analysis.is_seen(v_seen, u.shard, u.user_id));
  SELECT max(s.closed_at) INTO o_closed_at
  FROM analysis.statement s;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.month_totals IS
  'Answers how many submits this month''s limits refused, and when the last statement was closed.';

-- The server's estimates, by name.
CREATE OR REPLACE FUNCTION analysis.gauges() RETURNS TABLE (o_name text, o_value bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT g.name, g.value
  FROM analysis.gauge g
$$;
COMMENT ON FUNCTION analysis.gauges IS
  'Answers the server''s estimates by name.';
