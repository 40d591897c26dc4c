-- Which shards have something to do: the one question that names many shards. It reads and locks nothing.

-- These three are parts of work, into which the server takes them in.

-- How many jobs of some lanes are held, and whether a lease is lost. As in rescue, a deadline further ahead
-- than its lease is from before the clock was set back.
CREATE OR REPLACE FUNCTION analysis.leases_held(p_shard smallint, p_lanes smallint[], p_now timestamptz)
RETURNS TABLE (held int, lost boolean)
LANGUAGE sql STABLE AS $$
  SELECT sum(cardinality(k.job_ids)) FILTER (WHERE k.lane = ANY (p_lanes))::int,
    bool_or(k.deadline < p_now OR k.deadline > p_now + (k.lease_ms + 1000) * interval '1 millisecond')
  FROM analysis.lease k WHERE k.shard = p_shard
$$;

-- The tasks of maintenance that are due; p_first: with those of the whole queue. What is far ahead is as in
-- take_turn.
CREATE OR REPLACE FUNCTION analysis.turns_due(p_shard smallint, p_first boolean, p_now timestamptz)
RETURNS TABLE (turns text[])
LANGUAGE sql STABLE AS $$
  SELECT array_agg(k.task)
  FROM (VALUES ('sweep', interval '1 minute'), ('gauges', interval '10 seconds'),
    ('partitions', interval '1 hour')) k(task, every)
  WHERE (k.task = 'sweep' OR p_first)
    AND NOT EXISTS (
      SELECT FROM analysis.maintenance m
      WHERE m.shard = p_shard AND m.task = k.task AND m.next_at > p_now
        AND m.next_at <= p_now + k.every + interval '10 seconds')
$$;

-- From where scheduled jobs and what is owed are looked for, as scan_marks says; p_late: from the beginning.
-- And whether tick would move these marks.
CREATE OR REPLACE FUNCTION analysis.marks_seen(
  p_shard smallint, p_late boolean, p_now timestamptz, p_taken timestamptz)
RETURNS TABLE (run_from timestamptz, owed_from timestamptz, moves boolean)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(max(k.run_from) FILTER (WHERE k.run_from <= p_now AND NOT p_late), '-infinity'),
    coalesce(max(k.owed_from) FILTER (WHERE k.owed_from <= p_now AND NOT p_late), '-infinity'),
    coalesce(bool_or(
      k.taken_at > least(k.run_from, k.owed_from)
      AND p_taken >= least(
        k.taken_at, k.run_from + interval '1 second', k.owed_from + interval '1 second')), false)
  FROM analysis.scan_mark k WHERE k.shard = p_shard
$$;

-- Answers each of the shards in which there is something:
-- o_lanes the lanes (of p_lanes) in which jobs wait, and in o_scan_from where a claim of each has to begin
--   o_marks      tick would move a mark of p_lanes on, or of what is due or owed
--   o_next_run   in how many seconds the next scheduled job is due; less than 0: promote has work
--   o_refunds    apply_refunds may have work, with refunds or with places that were given up
-- With p_all, which reads the leases too and is asked less often:
--   o_held       so many jobs of p_lanes are held by workers
--   o_lost       rescue may have work
-- o_turns tasks of maintenance that are due; the queue's own tasks count for the first shard of p_shards
-- With p_late jobs count too that were committed so late that they wait below the scan mark. That steps
-- over every dead row that vacuum has not removed.
CREATE OR REPLACE FUNCTION analysis.work(
  p_shards smallint[], p_lanes smallint[], p_all boolean, p_late boolean)
RETURNS TABLE (
  o_shard smallint, o_lanes smallint[], o_scan_from bigint[], o_marks boolean, o_next_run float8,
  o_refunds boolean, o_held int, o_lost boolean, o_turns text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET enable_bitmapscan = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_aged timestamptz := v_now - interval '2 seconds';   -- as in tick, like the next two
  v_taken timestamptz := v_now - interval '5 seconds';
  v_far timestamptz := v_now + interval '1 minute';
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_shards) <= 1024 AND cardinality(p_lanes) <= 100,
    'at most 1024 shards and 100 lanes are looked at');
  -- All that is asked of a shard is the first entry of an index, whatever else there is.
  RETURN QUERY
  SELECT s.shard, l.lanes, l.scan_from, coalesce(l.marks, false) OR m.moves,
         extract(epoch FROM n.run_at - v_now)::float8, n.owed_at IS NOT NULL,
         coalesce(b.held, 0), coalesce(b.lost, false), coalesce(t.turns, '{}')
  FROM unnest(p_shards) WITH ORDINALITY s(shard, i)
  CROSS JOIN LATERAL (
    SELECT array_agg(x.lane) FILTER (WHERE x.lowest IS NOT NULL) AS lanes,
           array_agg(x.scan_from) FILTER (WHERE x.lowest IS NOT NULL) AS scan_from,
           bool_or(x.aged AND (x.staged < x.now_vt OR least(x.staged, x.lowest) > x.scan_from)) AS marks
    FROM (
      SELECT u.lane, coalesce(c.scan_from, 0) AS scan_from, c.staged, c.now_vt,
             c.staged_at <= v_aged OR c.staged_at > v_far AS aged,
             (SELECT r.vt FROM analysis.ready r
              WHERE r.shard = s.shard AND r.lane = u.lane AND r.vt >= CASE WHEN p_late THEN 0
                ELSE coalesce(c.scan_from, 0) END
              ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1) AS lowest
      FROM unnest(p_lanes) u(lane)
      LEFT JOIN LATERAL (
        SELECT k.* FROM analysis.lane_clock k WHERE k.shard = s.shard AND k.lane = u.lane OFFSET 0) c ON true
      OFFSET 0) x) l
  CROSS JOIN LATERAL analysis.marks_seen(s.shard, p_late, v_now, v_taken) m
  CROSS JOIN LATERAL analysis.first_marked(s.shard, m.run_from, m.owed_from) n
  LEFT JOIN LATERAL analysis.leases_held(s.shard, p_lanes, v_now) b ON p_all
  LEFT JOIN LATERAL analysis.turns_due(s.shard, s.i = 1, v_now) t ON p_all
  WHERE l.lanes IS NOT NULL OR l.marks OR m.moves OR n.run_at IS NOT NULL OR n.owed_at IS NOT NULL
    OR b.held > 0 OR b.lost OR t.turns IS NOT NULL;
END $$;
COMMENT ON FUNCTION analysis.work IS
  'Answers which shards have something to do, and what; changes nothing.';

-- Wakes the workers that listen; they poll anyway. Call it after the commit, not with every job.
CREATE OR REPLACE FUNCTION analysis.notify_workers(p_shard smallint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(p_shard BETWEEN 0 AND 1023, 'a shard has a number from 0 to 1023');
  PERFORM pg_notify('analysis_jobs', p_shard::text);
END $$;
COMMENT ON FUNCTION analysis.notify_workers IS
  'Wakes the workers that listen; call it after the commit of a submit.';

-- Wakes the workers that listen when the calling transaction commits; false where it wakes nobody. Commits
-- with a notification go one after the other, in all databases of the server: so one transaction at a time
-- has one, 10 ms after the last: the one that has locked the row `wake`, which no role can lock by itself.
-- Whoever gets false calls notify_workers after the commit.
CREATE OR REPLACE FUNCTION analysis.wake_workers(p_shard smallint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_now bigint := extract(epoch FROM clock_timestamp()) * 1000;
BEGIN
  IF (p_shard BETWEEN 0 AND 1023) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'a shard has a number from 0 to 1023');
  END IF;
  -- What is later than now is from before the server's clock was set back.
  IF (SELECT w.last_value BETWEEN v_now - 9 AND v_now FROM analysis.woken_at w)
     OR NOT EXISTS (SELECT FROM analysis.gauge g WHERE g.name = 'wake' FOR UPDATE SKIP LOCKED)
     OR (SELECT w.last_value BETWEEN v_now - 9 AND v_now FROM analysis.woken_at w) THEN
    RETURN false;
  END IF;
  PERFORM setval('analysis.woken_at', v_now), pg_notify('analysis_jobs', p_shard::text);
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.wake_workers IS
  'Wakes the workers that listen when a submit is committed, unless others were just woken.';

-- Tells whoever listens which jobs have ended: a hint, since anybody who may connect can hear it and send
-- such a one. Workers with --notify-ended call it, apart from what they store. Nothing is lost with it, so
-- its commit waits for no disk. A notification is of one shard, and of so many jobs as 8000 bytes hold.
CREATE OR REPLACE FUNCTION analysis.notify_ended(p_shards smallint[], p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_jobs) BETWEEN 1 AND 10000 AND analysis.is_list(p_jobs, cardinality(p_jobs))
      AND analysis.is_list(p_shards, cardinality(p_jobs)) AND array_position(p_jobs, NULL) IS NULL
      AND 0 <= ALL (p_shards) AND 1023 >= ALL (p_shards),
    'a call names 1 to 10000 jobs that have ended, each with its shard');
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM pg_notify('analysis_ended', g.shard || ':' || g.jobs)
  FROM (
    SELECT t.shard, string_agg(t.job::text, ',' ORDER BY t.job) AS jobs
    FROM (SELECT s.shard, s.job, (row_number() OVER (PARTITION BY s.shard ORDER BY s.job) - 1) / 390 AS part
          FROM unnest(p_shards, p_jobs) s(shard, job)) t
    GROUP BY t.shard, t.part) g;
END $$;
COMMENT ON FUNCTION analysis.notify_ended IS
  'Tells whoever listens which jobs have ended.';
