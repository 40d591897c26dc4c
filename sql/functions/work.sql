-- Which shards have something to do: the one question that names many shards. It reads and locks nothing.

-- Answers each of the shards in which there is something:
--   o_lanes      the lanes (of p_lanes) in which jobs wait, and in o_scan_from where a claim of each has to begin
--   o_marks      tick would move a mark of p_lanes on
--   o_next_run   in how many seconds the next scheduled job is due; less than 0: promote has work
--   o_refunds    settle_refunds may have work
-- With p_all, which reads the leases too and is asked less often:
--   o_held       a worker holds jobs of p_lanes
--   o_lost       rescue may have work
--   o_turns      tasks of maintenance that are due; the queue's own tasks count for the first shard of p_shards
-- With p_late jobs count too that were committed so late that they wait below the scan mark. That steps over every
-- dead row that vacuum has not removed.
CREATE OR REPLACE FUNCTION analysis.work(p_shards smallint[], p_lanes smallint[], p_all boolean, p_late boolean)
RETURNS TABLE (
  o_shard smallint, o_lanes smallint[], o_scan_from bigint[], o_marks boolean, o_next_run float8, o_refunds boolean,
  o_held boolean, o_lost boolean, o_turns text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_aged timestamptz := v_now - interval '2 seconds';   -- as in tick
BEGIN
  -- All that is asked of a shard is the first entry of an index, whatever else there is.
  RETURN QUERY
  SELECT s.shard, l.lanes, l.scan_from, coalesce(l.marks, false), extract(epoch FROM n.run_at - v_now)::float8,
         n.refunds, coalesce(b.held, false), coalesce(b.lost, false), coalesce(t.turns, '{}')
  FROM unnest(p_shards) WITH ORDINALITY s(shard, i)
  CROSS JOIN LATERAL (
    SELECT array_agg(x.lane) FILTER (WHERE x.lowest IS NOT NULL) AS lanes,
           array_agg(x.scan_from) FILTER (WHERE x.lowest IS NOT NULL) AS scan_from,
           bool_or(x.aged AND (x.staged < x.now_vt OR least(x.staged, x.lowest) > x.scan_from)) AS marks
    FROM (
      SELECT u.lane, coalesce(c.scan_from, 0) AS scan_from, c.staged, c.now_vt, c.staged_at <= v_aged AS aged,
             (SELECT r.vt FROM analysis.ready r
              WHERE r.shard = s.shard AND r.lane = u.lane
                AND r.vt >= CASE WHEN p_late THEN 0 ELSE coalesce(c.scan_from, 0) END
              ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1) AS lowest
      FROM unnest(p_lanes) u(lane)
      LEFT JOIN LATERAL (
        SELECT k.* FROM analysis.lane_clock k WHERE k.shard = s.shard AND k.lane = u.lane OFFSET 0) c ON true
      OFFSET 0) x) l
  CROSS JOIN LATERAL (
    SELECT (SELECT d.run_at FROM analysis.scheduled d
            WHERE d.shard = s.shard ORDER BY d.shard, d.run_at, d.job_id LIMIT 1) AS run_at,
           EXISTS (SELECT FROM analysis.refund f WHERE f.shard = s.shard) AS refunds OFFSET 0) n
  LEFT JOIN LATERAL (
    SELECT bool_or(k.lane = ANY (p_lanes)) AS held, bool_or(k.deadline < v_now) AS lost
    FROM analysis.batch k WHERE k.shard = s.shard) b ON p_all
  LEFT JOIN LATERAL (
    SELECT array_agg(k.task) AS turns FROM unnest(ARRAY['sweep', 'gauges', 'partitions']) k(task)
    WHERE (k.task = 'sweep' OR s.i = 1)
      AND NOT EXISTS (
        SELECT FROM analysis.maintenance m WHERE m.shard = s.shard AND m.task = k.task AND m.next_at > v_now)) t
    ON p_all
  WHERE l.lanes IS NOT NULL OR l.marks OR n.run_at IS NOT NULL OR n.refunds OR b.held OR b.lost
    OR t.turns IS NOT NULL;
END $$;
