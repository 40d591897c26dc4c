-- Cancelling, by an operator or a back-end.

-- Takes jobs, which the caller has locked, out where they wait: in their own lane, in the quarantine lane or
-- for later. Each is found by its whole key and taken by its address, so that no plan can go through the
-- queue. Answers those that waited; o_later: for a time to come, and o_counted as submitted for it.
CREATE OR REPLACE FUNCTION analysis.leave_queue(p_shard smallint, p_jobs bigint[], p_periods smallint[])
RETURNS TABLE (o_job bigint, o_lane smallint, o_later boolean, o_counted boolean)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  WITH meant AS MATERIALIZED (
    SELECT t.id, t.period, k.lane, k.kind, k.vt FROM unnest(p_jobs, p_periods) t(id, period)
    CROSS JOIN LATERAL (
      SELECT j.lane, j.kind, j.vt FROM analysis.job j
      WHERE j.shard = p_shard AND j.period = t.period AND j.id = t.id OFFSET 0) k),
  waited AS (
    DELETE FROM analysis.ready d
    WHERE d.shard IS NOT DISTINCT FROM p_shard AND d.ctid = ANY (ARRAY(
      SELECT q.ctid
      FROM (SELECT k.*, unnest(ARRAY[k.lane, analysis.quarantine_of(k.kind)]) AS waits FROM meant k) m
      CROSS JOIN LATERAL (
        SELECT r.ctid FROM analysis.ready r
        WHERE r.shard = p_shard AND r.lane = m.waits AND r.vt = m.vt AND r.job_id = m.id OFFSET 0) q))
    RETURNING d.job_id, d.lane),
  planned AS (
    DELETE FROM analysis.scheduled d
    WHERE d.shard IS NOT DISTINCT FROM p_shard AND d.ctid = ANY (ARRAY(
      SELECT q.ctid FROM meant m
      CROSS JOIN LATERAL (
        SELECT s.ctid FROM analysis.scheduled s
        WHERE s.shard = p_shard AND s.period = m.period AND s.job_id = m.id OFFSET 0) q))
    RETURNING d.job_id, d.lane, d.is_counted)
  SELECT w.job_id, w.lane, false, false FROM waited w
  UNION ALL
  SELECT s.job_id, s.lane, true, s.is_counted FROM planned s;
END $$;

-- Locks the rows of jobs that p_submitters may know, in order, and answers them, and those that somebody else
-- holds. One that a retry moved to another month meanwhile is found there by a second look. If a row cannot
-- be had in time, those are taken that can: by the same query again, since a locking clause can be no
-- parameter, and EXECUTE would plan it in each call.
CREATE OR REPLACE FUNCTION analysis.lock_to_cancel(
  p_shard smallint, p_jobs bigint[], p_submitters smallint[],
  OUT o_jobs analysis.job_place[], OUT o_busy bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  -- not found yet
  v_left bigint[] := ARRAY(SELECT DISTINCT i FROM unnest(p_jobs) i WHERE i IS NOT NULL ORDER BY 1);
  v_found analysis.job_place[];
BEGIN
  o_jobs := '{}';
  o_busy := '{}';
  FOR v_look IN 1 .. 2 LOOP
    EXIT WHEN v_left = '{}';
    BEGIN
      -- The second look has jobs of higher numbers already: it waits for nobody.
      IF v_look = 2 THEN
        RAISE EXCEPTION USING ERRCODE = 'lock_not_available';
      END IF;
      SELECT array_agg(ROW(j.*)::analysis.job_place) INTO v_found
      FROM (SELECT l.o_job, l.o_period FROM analysis.locate_of(p_shard, v_left, p_submitters) l
            ORDER BY l.o_job) l
      CROSS JOIN LATERAL (
        SELECT k.id, k.period, k.user_id, k.kind, k.source FROM analysis.job k
        WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job
        FOR NO KEY UPDATE) j;
    EXCEPTION WHEN lock_not_available THEN
      SELECT array_agg(ROW(j.*)::analysis.job_place) INTO v_found
      FROM (SELECT l.o_job, l.o_period FROM analysis.locate_of(p_shard, v_left, p_submitters) l
            ORDER BY l.o_job) l
      CROSS JOIN LATERAL (
        SELECT k.id, k.period, k.user_id, k.kind, k.source FROM analysis.job k
        WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job
        FOR NO KEY UPDATE SKIP LOCKED) j;
      o_busy := o_busy || ARRAY(
        SELECT l.o_job FROM analysis.locate_of(p_shard, v_left, p_submitters) l
        EXCEPT SELECT f.id FROM unnest(v_found) f);
    END;
    o_jobs := o_jobs || v_found;
    v_left := ARRAY(
      SELECT unnest(v_left) EXCEPT SELECT f.id FROM unnest(o_jobs) f EXCEPT SELECT unnest(o_busy) ORDER BY 1);
  END LOOP;
END $$;

-- Writes the end of those of the jobs that are not dead, in job order as complete does; the key decides. What
-- was written is owed to the user, and the jobs are closed. Answers those, and whose they are.
CREATE OR REPLACE FUNCTION analysis.write_cancellations(
  p_shard smallint, p_jobs analysis.job_place[], p_open bigint[], p_now timestamptz,
  OUT o_cancelled bigint[], OUT o_users bigint[])
LANGUAGE plpgsql AS $$
BEGIN
  WITH ended AS (
    INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at)
    SELECT p_shard, t.period, t.id, t.user_id, t.kind, 2, 0, 0, p_now
    FROM unnest(p_jobs) t JOIN unnest(p_open) o(id) USING (id)
    ORDER BY t.id
    ON CONFLICT (shard, period, job_id) DO NOTHING
    RETURNING period, job_id, user_id),
  owed AS (
    INSERT INTO analysis.refund (shard, period, user_id, job_id, reason, at)
    SELECT p_shard, e.period, e.user_id, e.job_id, 'cancelled', p_now FROM ended e)
  SELECT array_agg(e.job_id), array_agg(e.user_id) INTO o_cancelled, o_users FROM ended e;
  -- By a plan of their months, of which alone it takes locks. The job's lock keeps it from being moved
  -- meanwhile.
  IF o_cancelled IS NOT NULL THEN
    EXECUTE
      'UPDATE analysis.job k SET closed = true
       WHERE k.shard = $1 AND k.period = ANY ($2) AND k.id = ANY ($3)'
    USING p_shard, ARRAY(SELECT DISTINCT t.period FROM unnest(p_jobs) t), o_cancelled;
  END IF;
END $$;

-- Takes cancelled ones of jobs out where they wait. The places that they had are their users' again.
CREATE OR REPLACE FUNCTION analysis.free_places(
  p_shard smallint, p_jobs analysis.job_place[], p_cancelled bigint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  WITH meant AS MATERIALIZED (
    SELECT t.* FROM unnest(p_jobs) t JOIN unnest(p_cancelled) c(id) USING (id)),
  left_queue AS MATERIALIZED (
    SELECT q.* FROM (SELECT array_agg(m.id) AS jobs, array_agg(m.period) AS periods FROM meant m) m
    CROSS JOIN LATERAL analysis.leave_queue(p_shard, m.jobs, m.periods) q),
  freed AS (
    SELECT m.user_id, q.o_lane AS lane, CASE WHEN q.o_later THEN 0::smallint ELSE m.source END AS source,
      q.o_later::int AS later
    FROM left_queue q JOIN meant m ON m.id = q.o_job
    WHERE CASE WHEN q.o_later THEN q.o_counted ELSE m.source <> 2 END)
  INSERT INTO analysis.freed_place (shard, lane, source, later, user_id, vt)
  SELECT p_shard, g.lane, g.source, g.later, g.user_id, (g.jobs - g.later) * c.cost
  FROM (SELECT f.user_id, f.lane, f.source, sum(f.later)::int AS later, count(*) AS jobs FROM freed f
        GROUP BY 1, 2, 3) g
  CROSS JOIN LATERAL (
    SELECT coalesce(
      (SELECT l.cost FROM analysis.limit_of(p_shard, g.user_id, p_now) l), 1000) AS cost OFFSET 0) c;
END $$;

-- Ends jobs that have not ended, and takes them out wherever they wait. A running one is decided by who
-- writes the result's key first. A job that somebody else holds for 2 s (an open retry or cancellation) is
-- answered with 'busy', and nothing is done to it. A back-end cancels what it has submitted itself; any
-- other job is unknown to it.
CREATE OR REPLACE FUNCTION analysis.cancel(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_outcome text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_job analysis.job_place[];          -- those that could be had
  v_busy bigint[];
  v_open bigint[];
  v_cancelled bigint[];
  v_owner bigint[];                    -- whose those are
BEGIN
  IF (p_shard IS NOT NULL AND coalesce(cardinality(p_jobs), 0) <= 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'jobs are cancelled in one shard, at most 100000 in a call');
  END IF;
  PERFORM analysis.refuse_repeatable_read();
  SELECT l.o_jobs, l.o_busy INTO v_job, v_busy
  FROM analysis.lock_to_cancel(p_shard, p_jobs, analysis.own_submitters('{operator,privacy}')) l;

  -- With the locks, which of them are dead is decided.
  SELECT array_agg(t.id) INTO v_open
  FROM unnest(v_job) t
  LEFT JOIN LATERAL (
    SELECT x.job_id FROM analysis.dead x WHERE x.shard = p_shard AND x.job_id = t.id OFFSET 0) d ON true
  WHERE d.job_id IS NULL;
  SELECT w.o_cancelled, w.o_users INTO v_cancelled, v_owner
  FROM analysis.write_cancellations(p_shard, v_job, v_open, v_now) w;
  IF v_cancelled IS NOT NULL THEN
    PERFORM analysis.free_places(p_shard, v_job, v_cancelled, v_now);
    PERFORM analysis.audit_jobs('cancel', p_shard, v_cancelled, v_owner);
    IF EXISTS (SELECT FROM analysis.webhook) THEN
      PERFORM analysis.note_endings(
        p_shard, 2::smallint, v_now, array_agg(t.id), array_agg(t.period), array_agg(t.user_id))
      FROM unnest(v_job) t JOIN unnest(v_cancelled) c(id) USING (id);
    END IF;
  END IF;

  RETURN QUERY
  SELECT g.id, CASE WHEN b.id IS NOT NULL THEN 'busy'
                    WHEN t.id IS NULL THEN 'unknown'
                    WHEN o.id IS NULL THEN 'dead'
                    WHEN r.outcome = 1 THEN 'finished'
                    ELSE 'cancelled' END
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i) g
  LEFT JOIN unnest(v_job) t ON t.id = g.id
  LEFT JOIN unnest(v_open) o(id) ON o.id = g.id
  LEFT JOIN unnest(v_busy) b(id) ON b.id = g.id
  LEFT JOIN LATERAL (
    SELECT f.outcome FROM analysis.result f
    WHERE f.shard = p_shard AND f.period = t.period AND f.job_id = t.id OFFSET 0) r ON true;
END $$;
COMMENT ON FUNCTION analysis.cancel IS
  'Cancels jobs of one shard and refunds their units; answers what became of each.';
