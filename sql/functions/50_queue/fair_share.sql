-- Virtual time: who is next in a lane.
--
-- A job queues at the later of two marks: where its user's last job in the lane ended, and how far the
-- lane has come. So a user with many jobs waits for their own, and one who submits a single job is next.
-- What a user cancelled counts no more: a cancellation gives the place back (`freed_place`).

-- Takes places for the users of a call, p_counts[i] for user i in lane i at p_costs[i] each, for
-- jobs that are submitted (p_source 0) or promoted (1); answers where the first of them is. p_tails[i] is
-- the last of these jobs. p_later[i] jobs more of user i were scheduled: they take no place yet, and count
-- as waiting. Called by functions, whose settings hold.
CREATE OR REPLACE FUNCTION analysis.take_places(
  p_shard smallint, p_source smallint, p_users bigint[], p_lanes smallint[], p_costs bigint[],
  p_counts bigint[], p_tails bigint[], p_later bigint[] DEFAULT NULL)
RETURNS TABLE (o_user bigint, o_lane smallint, o_first bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM analysis.apply_freed(p_shard, p_source, p_users);
  RETURN QUERY
  INSERT INTO analysis.fair_share AS f (shard, source, user_id, lane, last_vt, step, tail_vt, tail_job, later)
  SELECT p_shard, p_source, g.user_id, g.lane, n.now_vt + g.cost * g.n, g.cost * g.n,
         n.now_vt + g.cost * (g.n - 1), coalesce(g.tail, 0), coalesce(g.later, 0)
  FROM unnest(p_users, p_lanes, p_costs, p_counts, p_tails, p_later) g(user_id, lane, cost, n, tail, later)
  CROSS JOIN LATERAL (
    SELECT coalesce(
      (SELECT k.now_vt FROM analysis.lane_clock k WHERE k.shard = p_shard AND k.lane = g.lane), 0)
             AS now_vt OFFSET 0) n
  ORDER BY g.user_id, g.lane
  ON CONFLICT (shard, user_id, lane, source) DO UPDATE SET
    last_vt = greatest(f.last_vt, EXCLUDED.last_vt - EXCLUDED.step) + EXCLUDED.step,
    step = EXCLUDED.step,
    later = f.later + EXCLUDED.later,
    -- The tail is the job furthest behind. After a cancellation an earlier job may wait behind the new
    -- one; then that one stays the tail.
    (tail_vt, tail_job) = (
      CASE WHEN EXCLUDED.tail_job > 0
        AND (f.last_vt <= EXCLUDED.last_vt - EXCLUDED.step OR f.last_vt >= f.tail_vt)
           THEN greatest(f.last_vt, EXCLUDED.last_vt - EXCLUDED.step) + EXCLUDED.step
                - (EXCLUDED.last_vt - EXCLUDED.tail_vt)
           ELSE f.tail_vt END,
      CASE WHEN EXCLUDED.tail_job > 0
        AND (f.last_vt <= EXCLUDED.last_vt - EXCLUDED.step OR f.last_vt >= f.tail_vt)
           THEN EXCLUDED.tail_job ELSE f.tail_job END)
  RETURNING f.user_id, f.lane, f.last_vt - f.step;
END $$;

-- Has jobs know where they wait now, so that a cancellation finds them; with no places their rows are written
-- as they are. Each call is planned with the months of its jobs, of which alone it takes locks.
CREATE OR REPLACE FUNCTION analysis.note_places(
  p_shard smallint, p_periods smallint[], p_jobs bigint[], p_vts bigint[], p_source smallint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE
    'UPDATE analysis.job k SET vt = coalesce(t.vt, k.vt), source = coalesce($5, k.source)
     FROM unnest($3, $4) t(job, vt)
     WHERE k.shard = $1 AND k.period = ANY ($2) AND k.id = ANY ($3) AND k.id = t.job'
  USING p_shard, ARRAY(SELECT DISTINCT m FROM unnest(p_periods) m), p_jobs, p_vts, p_source;
END $$;

-- Gives users back what their cancelled jobs had taken of a source, and counts their scheduled jobs
-- anew. It locks all their rows of the source, in order, so that two calls for the same users cannot wait
-- for each other. Called by functions that submit (source 0) or promote (1), before they take places.
CREATE OR REPLACE FUNCTION analysis.apply_freed(p_shard smallint, p_source smallint, p_users bigint[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_user bigint[];
  v_lane smallint[];
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM (SELECT unnest(p_users) AS user_id) u
    CROSS JOIN LATERAL (
      SELECT 1 FROM analysis.freed_place p
      WHERE p.shard = p_shard AND p.user_id = u.user_id AND p.source = p_source LIMIT 1) p) THEN
    RETURN;
  END IF;
  SELECT array_agg(s.user_id), array_agg(s.lane) INTO v_user, v_lane
  FROM (SELECT DISTINCT unnest(p_users) AS user_id ORDER BY 1) u
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.lane FROM analysis.fair_share k
    WHERE k.shard = p_shard AND k.user_id = u.user_id AND k.source = p_source ORDER BY k.lane
    FOR NO KEY UPDATE) s;
  PERFORM analysis.apply_freed_locked(p_shard, p_source, v_user, v_lane, NULL);
END $$;

-- The same for users and lanes whose rows the caller has locked. What somebody else is just applying is
-- left to them. p_from: of what was given up since then, the first 100,000.
CREATE OR REPLACE FUNCTION analysis.apply_freed_locked(
  p_shard smallint, p_source smallint, p_users bigint[], p_lanes smallint[], p_from timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_freed record;
BEGIN
  FOR v_freed IN
    WITH gone AS (
      DELETE FROM analysis.freed_place d
      WHERE d.shard IS NOT DISTINCT FROM p_shard
        AND d.ctid = ANY (CASE WHEN p_from IS NULL THEN ARRAY(
            SELECT f.ctid
            FROM (SELECT unnest(p_users) AS user_id, unnest(p_lanes) AS lane) u
            CROSS JOIN LATERAL (
              SELECT p.ctid FROM analysis.freed_place p
              WHERE p.shard = p_shard AND p.user_id = u.user_id AND p.source = p_source AND p.lane = u.lane
              FOR UPDATE SKIP LOCKED) f)
          ELSE ARRAY(
            SELECT f.ctid FROM (
              SELECT p.ctid, p.user_id, p.lane FROM analysis.freed_place p
              WHERE p.shard + 0 = p_shard AND p.at >= p_from AND p.source = p_source
              ORDER BY p.shard + 0, p.at LIMIT 100000) f
            JOIN (SELECT unnest(p_users) AS user_id, unnest(p_lanes) AS lane) u USING (user_id, lane)) END)
      RETURNING d.user_id, d.lane, d.vt, d.later)
    SELECT g.user_id, g.lane, sum(g.vt)::bigint AS vt, sum(g.later)::int AS later FROM gone g
    GROUP BY g.user_id, g.lane
  LOOP
    UPDATE analysis.fair_share f
    SET last_vt = f.last_vt - v_freed.vt, later = greatest(0, f.later - v_freed.later)
    WHERE f.shard = p_shard AND f.user_id = v_freed.user_id AND f.lane = v_freed.lane AND f.source = p_source;
  END LOOP;
END $$;

-- Applies what up to p_limit users have given up since p_from, so that nothing is left behind by those who
-- submit no more. Users whose row somebody holds are left for later: it never waits.
CREATE OR REPLACE FUNCTION analysis.apply_freed_places(p_shard smallint, p_limit int, p_from timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_from timestamptz;
  v_user bigint[];
  v_lane smallint[];
BEGIN
  FOR v_source IN 0 .. 1 LOOP
    v_from := p_from;
    SELECT array_agg(s.user_id), array_agg(s.lane) INTO v_user, v_lane
    FROM (SELECT DISTINCT f.user_id, f.lane FROM (
            SELECT p.user_id, p.lane FROM analysis.freed_place p
            WHERE p.shard + 0 = p_shard AND p.at >= p_from AND p.source = v_source
            ORDER BY p.shard + 0, p.at LIMIT 100000) f ORDER BY 1, 2 LIMIT p_limit) w
    CROSS JOIN LATERAL (
      SELECT k.user_id, k.lane FROM analysis.fair_share k
      WHERE k.shard = p_shard AND k.user_id = w.user_id AND k.lane = w.lane AND k.source = v_source
      FOR NO KEY UPDATE SKIP LOCKED) s;
    -- All of the first are held: those of the others, by user.
    IF v_user IS NULL AND (
      SELECT count(*) = 100000 FROM (
        SELECT FROM analysis.freed_place p
        WHERE p.shard + 0 = p_shard AND p.at >= p_from AND p.source = v_source
        ORDER BY p.shard + 0, p.at LIMIT 100000) f) THEN
      v_from := NULL;
      SELECT array_agg(s.user_id), array_agg(s.lane) INTO v_user, v_lane
      FROM (SELECT DISTINCT p.user_id, p.lane FROM analysis.freed_place p
            WHERE p.shard = p_shard AND p.source = v_source ORDER BY 1, 2 LIMIT p_limit) w
      CROSS JOIN LATERAL (
        SELECT k.user_id, k.lane FROM analysis.fair_share k
        WHERE k.shard = p_shard AND k.user_id = w.user_id AND k.lane = w.lane AND k.source = v_source
        FOR NO KEY UPDATE SKIP LOCKED) s;
    END IF;
    IF v_user IS NOT NULL THEN
      PERFORM analysis.apply_freed_locked(p_shard, v_source::smallint, v_user, v_lane, v_from);
    END IF;
  END LOOP;
END $$;
DROP FUNCTION IF EXISTS analysis.apply_freed_locked(smallint, smallint, bigint[], smallint[]);
DROP FUNCTION IF EXISTS analysis.apply_freed_places(smallint, int);

-- How many jobs of a user wait by the marks alone, in all lanes: how far the last ones are behind the lanes,
-- and what is scheduled. It may say too many. A part of what calls it.
CREATE OR REPLACE FUNCTION analysis.marked_waiting(p_shard smallint, p_user bigint, p_cost bigint)
RETURNS TABLE (waiting numeric)
LANGUAGE sql STABLE AS $$
  SELECT div(coalesce(sum(greatest(0, f.last_vt - coalesce(c.now_vt, 0))), 0), p_cost)
    + coalesce(sum(f.later), 0)
  FROM analysis.fair_share f
  LEFT JOIN LATERAL (
    SELECT k.now_vt FROM analysis.lane_clock k
    WHERE k.shard = p_shard AND k.lane = f.lane OFFSET 0) c ON true
  WHERE f.shard = p_shard AND f.user_id = p_user
$$;

-- How many jobs of a user wait, in all lanes, when the marks alone say that it is too many. The marks may
-- be behind: they are published once a second, and those of a worker that was killed never. So each source
-- of the user is believed only as far as one of their jobs is seen waiting in it, and from the first job
-- on that waits in the lane. At most 1,000 rows a source are read. A source of which nothing waits begins
-- anew where its lane is.
--
-- The caller holds the user's usage row, as every submit of the user does.
CREATE OR REPLACE FUNCTION analysis.waiting_of(p_shard smallint, p_user bigint, p_cost bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_waiting bigint := 0;
  v_share record;
  v_lowest bigint;
BEGIN
  PERFORM analysis.apply_freed(p_shard, 0::smallint, ARRAY[p_user]);
  FOR v_share IN
    SELECT f.lane, f.source, f.last_vt, f.later, f.tail_vt, f.tail_job, coalesce(c.now_vt, 0) AS now_vt,
           coalesce(c.scan_from, 0) AS scan_from
    FROM analysis.fair_share f
    LEFT JOIN LATERAL (
      SELECT k.now_vt, k.scan_from FROM analysis.lane_clock k
      WHERE k.shard = p_shard AND k.lane = f.lane OFFSET 0) c ON true
    WHERE f.shard = p_shard AND f.user_id = p_user
  LOOP
    v_waiting := v_waiting + v_share.later;
    CONTINUE WHEN v_share.last_vt <= v_share.now_vt;
    IF EXISTS (
      SELECT 1
      FROM (SELECT r.period, r.job_id FROM analysis.ready r
            WHERE r.shard = p_shard AND r.lane = v_share.lane AND r.vt >= v_share.scan_from
              AND (r.vt, r.job_id) <= (v_share.tail_vt, v_share.tail_job)
            ORDER BY r.shard DESC, r.lane DESC, r.vt DESC, r.job_id DESC LIMIT 1000) r
      CROSS JOIN LATERAL (
        SELECT 1 FROM analysis.job k
        WHERE k.shard = p_shard AND k.period = r.period AND k.id = r.job_id
          AND k.user_id = p_user OFFSET 0) k) THEN
      SELECT r.vt INTO v_lowest FROM analysis.ready r
      WHERE r.shard = p_shard AND r.lane = v_share.lane AND r.vt >= v_share.scan_from
      ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1;
      v_waiting := v_waiting + greatest(0, v_share.last_vt - greatest(v_share.now_vt, v_lowest)) / p_cost;
    ELSIF v_share.source = 0 THEN
      UPDATE analysis.fair_share f SET last_vt = v_share.now_vt
      WHERE f.shard = p_shard AND f.user_id = p_user AND f.lane = v_share.lane AND f.source = 0;
    END IF;
  END LOOP;
  RETURN v_waiting;
END $$;

-- From where scheduled jobs and what is owed are looked for. A mark that is to come is from before the
-- server's clock was set back, and none.
CREATE OR REPLACE FUNCTION analysis.scan_marks(
  p_shard smallint, p_now timestamptz, OUT o_run_from timestamptz, OUT o_owed_from timestamptz)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT CASE WHEN m.run_from <= p_now THEN m.run_from END,
    CASE WHEN m.owed_from <= p_now THEN m.owed_from END
  INTO o_run_from, o_owed_from FROM analysis.scan_mark m WHERE m.shard = p_shard;
  o_run_from := coalesce(o_run_from, '-infinity');
  o_owed_from := coalesce(o_owed_from, '-infinity');
END $$;

-- Notes that scheduled jobs, or what was owed, are taken, now or in the next second: so it is written once a
-- second at most, by one for all. tick moves the marks up to there.
CREATE OR REPLACE FUNCTION analysis.note_taken(p_shard smallint, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE analysis.scan_mark m
  SET taken_at = p_now + interval '1 second',
    run_from = CASE WHEN m.run_from <= p_now THEN m.run_from ELSE '-infinity' END,
    owed_from = CASE WHEN m.owed_from <= p_now THEN m.owed_from ELSE '-infinity' END
  WHERE m.shard = (
    SELECT k.shard FROM analysis.scan_mark k
    WHERE k.shard = p_shard AND (k.taken_at < p_now OR k.taken_at > p_now + interval '1 second')
    FOR NO KEY UPDATE SKIP LOCKED);
END $$;

-- When the first job that is scheduled from p_run_from on runs, and when the first refund or place given up
-- from p_owed_from on was noted; NULL: there is none. Only first entries of indexes are read. A part of what
-- calls it.
CREATE OR REPLACE FUNCTION analysis.first_marked(
  p_shard smallint, p_run_from timestamptz, p_owed_from timestamptz)
RETURNS TABLE (run_at timestamptz, owed_at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT (
    SELECT min(f.run_at) FROM generate_series(4, 11) g(lane)
    CROSS JOIN LATERAL (
      SELECT s.run_at FROM analysis.scheduled s
      WHERE s.shard = p_shard AND s.lane = g.lane::smallint AND s.run_at >= p_run_from
      ORDER BY s.shard, s.lane, s.run_at, s.job_id LIMIT 1) f),
    least(
      (SELECT r.at FROM analysis.refund r WHERE r.shard + 0 = p_shard AND r.at >= p_owed_from
       ORDER BY r.shard + 0, r.at LIMIT 1),
      (SELECT p.at FROM analysis.freed_place p WHERE p.shard + 0 = p_shard AND p.at >= p_owed_from
       ORDER BY p.shard + 0, p.at LIMIT 1))
  OFFSET 0
$$;

-- Moves the marks to five seconds ago, for what commits meanwhile, but not past where such rows were last
-- taken, nor past the first that is left. What was committed later than that a sweep finds.
CREATE OR REPLACE FUNCTION analysis.move_scan_marks(p_shard smallint, p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE analysis.scan_mark m
  SET run_from = greatest(m.run_from, d.run_from), owed_from = greatest(m.owed_from, d.owed_from)
  FROM (
    SELECT least(k.taken_at, p_now - interval '5 seconds', f.run_at) AS run_from,
      least(k.taken_at, p_now - interval '5 seconds', f.owed_at) AS owed_from
    FROM (SELECT * FROM analysis.scan_mark c
          WHERE c.shard = p_shard AND c.taken_at > least(c.run_from, c.owed_from)
            AND p_now - interval '5 seconds'
                  >= least(c.taken_at, c.run_from + interval '1 second', c.owed_from + interval '1 second')
          FOR NO KEY UPDATE SKIP LOCKED) k
    CROSS JOIN LATERAL analysis.first_marked(p_shard, k.run_from, k.owed_from) f) d
  WHERE m.shard = p_shard AND (d.run_from > m.run_from OR d.owed_from > m.owed_from);
END $$;

-- Lowers the marks to what was committed so late that they had passed it, and makes the row of a shard that
-- has none. Somebody else's open transaction may be making it.
CREATE OR REPLACE FUNCTION analysis.lower_scan_marks(p_shard smallint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM analysis.scan_mark m WHERE m.shard = p_shard) THEN
    INSERT INTO analysis.scan_mark (shard) SELECT s.o_shard FROM analysis.all_shards() s
    WHERE s.o_shard = p_shard ON CONFLICT (shard) DO NOTHING;
    RETURN;
  END IF;
  UPDATE analysis.scan_mark m
  SET run_from = least(m.run_from, d.run_at), owed_from = least(m.owed_from, d.owed_at)
  FROM (SELECT FROM analysis.scan_mark c WHERE c.shard = p_shard FOR NO KEY UPDATE SKIP LOCKED) k
  CROSS JOIN LATERAL analysis.first_marked(p_shard, '-infinity', '-infinity') d
  WHERE m.shard = p_shard AND (d.run_at < m.run_from OR d.owed_at < m.owed_from);
EXCEPTION WHEN lock_not_available THEN
  NULL;
END $$;

-- Gives lanes that were never claimed from their row; one that somebody else's open transaction makes is left
-- to that.
CREATE OR REPLACE FUNCTION analysis.make_lane_clocks(p_shard smallint, p_lanes smallint[], p_now timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO analysis.lane_clock (shard, lane, staged_at, at)
  SELECT DISTINCT p_shard, l, p_now, '-infinity'::timestamptz FROM unnest(p_lanes) l
  WHERE l IS NOT NULL ORDER BY 2
  ON CONFLICT (shard, lane) DO NOTHING;
EXCEPTION WHEN lock_not_available THEN
  NULL;
END $$;

-- Publishes how far the lanes were claimed (p_vt; what has not moved may be given as 0) and answers from
-- where claims have to scan, and how far each lane is published. A lane is written at most once a second,
-- or at once for a worker that ends (p_ends); no caller waits, and a lane that another writes just now is
-- left to it. Whatever a caller says, there is room left for all that is ever submitted behind it, though
-- with no fair order any more.
CREATE OR REPLACE FUNCTION analysis.tick(
  p_shard smallint, p_lanes smallint[], p_vt bigint[], p_ends boolean DEFAULT false)
RETURNS TABLE (o_lane smallint, o_scan_from bigint, o_now_vt bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET enable_bitmapscan = off SET lock_timeout = '100ms'
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_due timestamptz := v_now - interval '900 ms';       -- outside the statements: the sum is not immutable
  v_aged timestamptz := v_now - interval '2 seconds';
  v_far timestamptz := v_now + interval '1 minute';     -- beyond: from before the clock was set back
BEGIN
  IF (p_shard BETWEEN 0 AND 1023 AND cardinality(p_lanes) <= 100 AND cardinality(p_vt) <= 100
      AND (4 <= ALL (p_lanes) AND 11 >= ALL (p_lanes)) IS NOT FALSE AND p_ends IS NOT NULL) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'marks are published of a shard, for at most 100 lanes');
  END IF;

  -- 1. Lanes that were never claimed from get their row.
  IF (SELECT count(*) FROM analysis.lane_clock c WHERE c.shard = p_shard AND c.lane = ANY (p_lanes))
     < (SELECT count(DISTINCT l) FROM unnest(p_lanes) l) THEN
    PERFORM analysis.make_lane_clocks(p_shard, p_lanes, v_now);
  END IF;

  -- 2. Write the lanes that are due and have moved. `staged` was published as now_vt two seconds ago or
  --    longer, so whoever queues a job since then puts it at or behind it; what still waits below, having
  --    been committed late, keeps scan_from down.
  UPDATE analysis.lane_clock c SET
    now_vt = greatest(c.now_vt, d.vt),
    scan_from = CASE WHEN d.aged THEN greatest(c.scan_from, least(c.staged, coalesce(d.lowest, c.staged)))
      ELSE c.scan_from END,
    staged = CASE WHEN d.aged THEN greatest(c.now_vt, d.vt) ELSE c.staged END,
    staged_at = CASE WHEN d.aged THEN v_now ELSE c.staged_at END,
    at = v_now
  FROM (
    SELECT k.lane, t.vt, g.aged, w.lowest
    FROM (SELECT l.lane, l.now_vt, l.scan_from, l.staged, l.staged_at FROM analysis.lane_clock l
          WHERE l.shard = p_shard AND l.lane = ANY (p_lanes) AND (l.at < v_due OR l.at > v_far OR p_ends)
          ORDER BY l.lane FOR NO KEY UPDATE SKIP LOCKED) k
    JOIN (SELECT u.lane, least(coalesce(max(u.vt), 0), 4611686018427387904) AS vt
      FROM unnest(p_lanes, p_vt) u(lane, vt) GROUP BY u.lane) t ON t.lane = k.lane
    CROSS JOIN LATERAL (SELECT k.staged_at <= v_aged OR k.staged_at > v_far AS aged) g
    LEFT JOIN LATERAL (
      SELECT r.vt AS lowest FROM analysis.ready r
      WHERE g.aged AND r.shard = p_shard AND r.lane = k.lane AND r.vt >= k.scan_from
      ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1) w ON true
    WHERE t.vt > k.now_vt OR k.staged < k.now_vt OR k.scan_from < k.staged) d
  WHERE c.shard = p_shard AND c.lane = d.lane;

  PERFORM analysis.move_scan_marks(p_shard, v_now);

  -- 3. Answer for every lane that was asked for.
  RETURN QUERY
  SELECT DISTINCT t.lane, coalesce(c.scan_from, 0), coalesce(c.now_vt, 0)
  FROM unnest(p_lanes) t(lane)
  LEFT JOIN LATERAL (
    SELECT k.scan_from, k.now_vt FROM analysis.lane_clock k
    WHERE k.shard = p_shard AND k.lane = t.lane OFFSET 0) c ON true;
END $$;
COMMENT ON FUNCTION analysis.tick IS
  'Publishes how far each lane was claimed; answers from where to look for its jobs.';

-- Looks from zero for jobs that were committed so late that the scan mark had passed them, and lowers the
-- mark to them, in every lane of the shard, whichever of them the caller serves; answers the number of
-- lanes. It does the same for scheduled jobs and what is owed. One process calls it about once a minute: it
-- steps over every dead row that vacuum has not removed.
CREATE OR REPLACE FUNCTION analysis.sweep(p_shard smallint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET enable_bitmapscan = off SET lock_timeout = '500ms'
AS $$
DECLARE
  v_lowered int;
BEGIN
  PERFORM analysis.require_argument(p_shard IS NOT NULL, 'a sweep names a shard');
  -- A lane without a row is scanned from zero anyway; one that another writes just now is left to it.
  UPDATE analysis.lane_clock c SET scan_from = d.lowest
  FROM (
    SELECT l.lane, w.lowest
    FROM (SELECT k.lane FROM analysis.lane_clock k WHERE k.shard = p_shard
          ORDER BY k.lane FOR NO KEY UPDATE SKIP LOCKED) l
    CROSS JOIN LATERAL (
      SELECT r.vt AS lowest FROM analysis.ready r WHERE r.shard = p_shard AND r.lane = l.lane
      ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1) w) d
  WHERE c.shard = p_shard AND c.lane = d.lane AND c.scan_from > d.lowest;
  GET DIAGNOSTICS v_lowered = ROW_COUNT;
  PERFORM analysis.lower_scan_marks(p_shard);
  RETURN v_lowered;
END $$;
COMMENT ON FUNCTION analysis.sweep IS
  'Looks for waiting jobs that the published marks have passed, and moves the marks back to them.';
