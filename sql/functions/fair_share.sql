-- Virtual time: who is next in a lane.
--
-- A job queues at the later of two marks: where its user's last job in the lane ended, and how far the
-- lane has come. So a user with many jobs waits for their own, and one who submits a single job is next.

-- Takes places for the users of a call, p_counts[i] for user i in lane i at p_costs[i] each, in the line of
-- what is submitted (0) or promoted (1); answers where the first of them is. Called by functions, whose settings hold.
CREATE OR REPLACE FUNCTION analysis.take_places(
  p_shard smallint, p_line smallint, p_users bigint[], p_lanes smallint[], p_costs bigint[], p_counts bigint[])
RETURNS TABLE (o_user bigint, o_lane smallint, o_first bigint)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  INSERT INTO analysis.fair_share AS f (shard, line, user_id, lane, last_vt, step)
  SELECT p_shard, p_line, g.user_id, g.lane, coalesce(c.now_vt, 0) + g.cost * g.n, g.cost * g.n
  FROM unnest(p_users, p_lanes, p_costs, p_counts) g(user_id, lane, cost, n)
  LEFT JOIN LATERAL (
    SELECT k.now_vt FROM analysis.lane_clock k WHERE k.shard = p_shard AND k.lane = g.lane OFFSET 0) c ON true
  ORDER BY g.user_id, g.lane
  ON CONFLICT (shard, user_id, lane, line) DO UPDATE
    SET last_vt = greatest(f.last_vt, EXCLUDED.last_vt - EXCLUDED.step) + EXCLUDED.step, step = EXCLUDED.step
  RETURNING f.user_id, f.lane, f.last_vt - f.step;
END $$;

-- Publishes how far the lanes were claimed (p_vt; what has not moved may be given as 0) and answers from
-- where claims have to scan, and how far each lane is published. A lane is written at most once a second, or at once
-- for a worker that ends (p_ends); no caller waits, and a lane that another writes just now is left to it. Whatever a
-- caller says, there is room left for all that is ever submitted behind it, though with no fair order any more.
DROP FUNCTION IF EXISTS analysis.tick(smallint, smallint[], bigint[]);
CREATE OR REPLACE FUNCTION analysis.tick(
  p_shard smallint, p_lanes smallint[], p_vt bigint[], p_ends boolean DEFAULT false)
RETURNS TABLE (o_lane smallint, o_scan_from bigint, o_now_vt bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_due timestamptz := v_now - interval '900 ms';       -- outside the statements: the sum is not immutable
  v_aged timestamptz := v_now - interval '2 seconds';
BEGIN
  -- 1. Lanes that were never claimed from get their row.
  IF (SELECT count(*) FROM analysis.lane_clock c WHERE c.shard = p_shard AND c.lane = ANY (p_lanes))
     < (SELECT count(DISTINCT l) FROM unnest(p_lanes) l) THEN
    INSERT INTO analysis.lane_clock (shard, lane, staged_at, at)
    SELECT DISTINCT p_shard, l, v_now, '-infinity'::timestamptz FROM unnest(p_lanes) l ORDER BY 2
    ON CONFLICT (shard, lane) DO NOTHING;
  END IF;

  -- 2. Write the lanes that are due and have moved. `staged` was published as now_vt two seconds ago or
  --    longer, so whoever queues a job since then puts it at or behind it; what still waits below, having
  --    been committed late, keeps scan_from down.
  UPDATE analysis.lane_clock c SET
    now_vt = greatest(c.now_vt, d.vt),
    scan_from = CASE WHEN d.aged THEN greatest(c.scan_from, least(c.staged, coalesce(d.lowest, c.staged))) ELSE c.scan_from END,
    staged = CASE WHEN d.aged THEN greatest(c.now_vt, d.vt) ELSE c.staged END,
    staged_at = CASE WHEN d.aged THEN v_now ELSE c.staged_at END,
    at = v_now
  FROM (
    SELECT k.lane, t.vt, k.staged_at <= v_aged AS aged, w.lowest
    FROM (SELECT l.lane, l.now_vt, l.scan_from, l.staged, l.staged_at FROM analysis.lane_clock l
          WHERE l.shard = p_shard AND l.lane = ANY (p_lanes) AND (l.at < v_due OR p_ends)
          ORDER BY l.lane FOR NO KEY UPDATE SKIP LOCKED) k
    JOIN (SELECT u.lane, least(coalesce(max(u.vt), 0), 4611686018427387904) AS vt FROM unnest(p_lanes, p_vt) u(lane, vt) GROUP BY u.lane) t ON t.lane = k.lane
    LEFT JOIN LATERAL (
      SELECT r.vt AS lowest FROM analysis.ready r
      WHERE k.staged_at <= v_aged AND r.shard = p_shard AND r.lane = k.lane AND r.vt >= k.scan_from
      ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1) w ON true
    WHERE t.vt > k.now_vt OR k.staged < k.now_vt OR k.scan_from < k.staged) d
  WHERE c.shard = p_shard AND c.lane = d.lane;

  -- 3. Answer for every lane that was asked for.
  RETURN QUERY
  SELECT DISTINCT t.lane, coalesce(c.scan_from, 0), coalesce(c.now_vt, 0)
  FROM unnest(p_lanes) t(lane)
  LEFT JOIN LATERAL (
    SELECT k.scan_from, k.now_vt FROM analysis.lane_clock k WHERE k.shard = p_shard AND k.lane = t.lane OFFSET 0) c ON true;
END $$;

-- Looks from zero for jobs that were committed so late that the scan mark had passed them, and lowers the mark to them,
-- in every lane of the shard, whichever of them the caller serves; answers the number of lanes. One process calls it
-- about once a minute: it steps over every dead row that vacuum has not removed.
DROP FUNCTION IF EXISTS analysis.sweep(smallint, smallint[]);
CREATE OR REPLACE FUNCTION analysis.sweep(p_shard smallint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_lowered int;
BEGIN
  -- A lane without a row is scanned from zero anyway.
  UPDATE analysis.lane_clock c SET scan_from = d.lowest
  FROM (
    SELECT l.lane, w.lowest FROM analysis.lane_clock l
    CROSS JOIN LATERAL (
      SELECT r.vt AS lowest FROM analysis.ready r WHERE r.shard = p_shard AND r.lane = l.lane
      ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1) w
    WHERE l.shard = p_shard) d
  WHERE c.shard = p_shard AND c.lane = d.lane AND c.scan_from > d.lowest;
  GET DIAGNOSTICS v_lowered = ROW_COUNT;
  RETURN v_lowered;
END $$;
