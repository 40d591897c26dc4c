-- A worker's sign of life: pushes its leases' deadlines on and answers which of them it still holds.
--
-- It never waits. A lease that is just being ended is left as it is: while its lock lasts no rescue takes
-- it either. It counts as held as long as its deadline is ahead.
CREATE OR REPLACE FUNCTION analysis.heartbeat(
  p_shard smallint, p_worker bytea, p_leases bigint[], p_lease_ms int, p_host text, p_pid int,
  p_version text, p_in_flight int)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_deadline timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_worker bigint := analysis.worker_number(p_worker);
  v_free bigint[];
  v_busy bigint[];
BEGIN
  IF (p_shard BETWEEN 0 AND 1023 AND octet_length(p_worker) = 32 AND cardinality(p_leases) <= 100000
      AND p_lease_ms BETWEEN 1 AND 86400000 AND p_in_flight BETWEEN 0 AND 1000000
      AND length(p_host) <= 255 AND length(p_version) <= 60 AND p_pid BETWEEN 0 AND 2147483646)
      IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'a heartbeat names a shard, a worker with host, process and version, its leases, and a lease of '
        'at most a day');
  END IF;

  INSERT INTO analysis.worker AS w (shard, id, host, pid, version, started_at, heartbeat_at, in_flight)
  VALUES (p_shard, v_worker, p_host, p_pid, p_version, v_now, v_now, p_in_flight)
  ON CONFLICT (shard, id) DO UPDATE SET heartbeat_at = EXCLUDED.heartbeat_at, in_flight = EXCLUDED.in_flight;

  SELECT coalesce(array_agg(g.id) FILTER (WHERE f.id IS NOT NULL), '{}'),
         coalesce(array_agg(g.id) FILTER (WHERE f.id IS NULL AND b.deadline > v_now), '{}')
  INTO v_free, v_busy
  FROM (SELECT DISTINCT i AS id FROM unnest(p_leases) i ORDER BY 1) g
  CROSS JOIN LATERAL (
    SELECT k.deadline FROM analysis.lease k
    WHERE k.shard = p_shard AND k.id = g.id AND k.worker_id = v_worker OFFSET 0) b
  LEFT JOIN LATERAL (
    SELECT k.id FROM analysis.lease k
    WHERE k.shard = p_shard AND k.id = g.id AND k.worker_id = v_worker
    FOR NO KEY UPDATE SKIP LOCKED) f ON true;

  RETURN QUERY
  UPDATE analysis.lease b SET deadline = v_deadline
  WHERE b.shard = p_shard AND b.id = ANY (v_free)
    AND b.id BETWEEN (SELECT min(i) FROM unnest(v_free) i) AND (SELECT max(i) FROM unnest(v_free) i)
  RETURNING b.id;
  RETURN QUERY SELECT i FROM unnest(v_busy) i;
END $$;
COMMENT ON FUNCTION analysis.heartbeat IS
  'Moves the deadlines of a worker''s leases ahead; answers the leases that it still holds.';

-- Says that a worker has ended in order; of one that was lost nothing is heard any more. refresh_gauges
-- removes both after a day. The shard's counts are due again: the worker counts once more.
CREATE OR REPLACE FUNCTION analysis.retire(p_shard smallint, p_worker bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1500ms' AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND octet_length(p_worker) = 32, 'a worker leaves a shard, with its secret');
  UPDATE analysis.worker w SET ended_at = clock_timestamp(), in_flight = 0
  WHERE w.shard = p_shard AND w.id = analysis.worker_number(p_worker);
  UPDATE analysis.shard_count c SET counted_at = '-infinity'
  WHERE FOUND AND c.shard = ANY (ARRAY(
    SELECT k.shard FROM analysis.shard_count k WHERE k.shard = p_shard FOR NO KEY UPDATE SKIP LOCKED));
END $$;
COMMENT ON FUNCTION analysis.retire IS
  'Records that a worker has ended in order.';

-- Keeps what a worker says of itself, and answers the server's clock in seconds since 1970, by which the
-- worker measures its own; NULL when the worker has given no sign of life yet.
CREATE OR REPLACE FUNCTION analysis.record_report(p_shard smallint, p_worker bytea, p_report jsonb)
RETURNS float8
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND octet_length(p_worker) = 32 AND jsonb_typeof(p_report) = 'object'
      AND octet_length(p_report::text) <= 20000,
    'a report names a shard and a worker, and is a JSON object of at most 20000 bytes');
  UPDATE analysis.worker w SET report = p_report, reported_at = clock_timestamp()
  WHERE w.shard = p_shard AND w.id = analysis.worker_number(p_worker);
  RETURN CASE WHEN FOUND THEN extract(epoch FROM clock_timestamp())::float8 END;
END $$;
COMMENT ON FUNCTION analysis.record_report IS
  'Keeps what a worker reports about itself; answers the server''s clock.';
