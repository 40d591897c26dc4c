-- Queueing jobs again that have ended without a result: the dead, and the cancelled.

-- Takes units of the present month for those of the jobs that may be queued again, the lower numbers first,
-- as far as the limits go; answers the jobs that got one.
CREATE OR REPLACE FUNCTION analysis.take_units_again(p_shard smallint, p_jobs analysis.job_again[])
RETURNS bigint[]
LANGUAGE sql AS $$
  WITH meant AS MATERIALIZED (
    SELECT t.id, t.user_id, t.period, t.quota FROM unnest(p_jobs) t WHERE t.outcome IS NULL),
  wanted AS (
    SELECT array_agg(g.user_id) AS users, array_agg(g.period) AS periods, array_agg(g.quota) AS quotas,
      array_agg(g.n) AS counts
    FROM (SELECT t.user_id, t.period, t.quota, count(*)::int AS n FROM meant t
          GROUP BY 1, 2, 3 ORDER BY 1, 2) g
    HAVING count(*) > 0),
  dealt AS MATERIALIZED (
    SELECT u.* FROM wanted w
    CROSS JOIN LATERAL analysis.deal_units(p_shard, w.users, w.periods, w.quotas, w.counts, false) u)
  SELECT coalesce(array_agg(t.id ORDER BY t.id), '{}')
  FROM (SELECT s.*, row_number() OVER (PARTITION BY s.user_id, s.period ORDER BY s.id) AS position
        FROM meant s) t
  JOIN dealt u ON u.o_user = t.user_id AND u.o_period = t.period
  WHERE t.position <= u.o_granted
$$;

-- Locks the counters of users' present months, and answers these months with what is in force; each user
-- once. Left out is whose counter somebody else holds for as long as lock_timeout says, as an open submit
-- does, and whose period was changed meanwhile. In a SERIALIZABLE transaction the accounts are held, as in a
-- submit.
CREATE OR REPLACE FUNCTION analysis.hold_present_months(
  p_shard smallint, p_users bigint[], p_now timestamptz)
RETURNS TABLE (o_user bigint, o_period smallint, o_quota int, o_cost bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_user bigint[] := ARRAY(SELECT DISTINCT u FROM unnest(p_users) u ORDER BY 1);
  v_period smallint[];
  v_free bigint[];
BEGIN
  PERFORM analysis.hold_accounts(p_shard, v_user, NULL);
  SELECT array_agg(u.id), array_agg(analysis.period_at(p_now, a.zone, a.anchors)) INTO v_user, v_period
  FROM unnest(v_user) u(id)
  CROSS JOIN LATERAL (
    SELECT k.zone, k.anchors FROM analysis.account k WHERE k.shard = p_shard AND k.user_id = u.id OFFSET 0) a;
  v_free := analysis.lock_free_usage(p_shard, v_user, v_period);
  RETURN QUERY
  SELECT u.id, u.period, q.monthly_limit, q.cost
  FROM unnest(v_user, v_period) u(id, period)
  JOIN unnest(v_free) f(id) ON f.id = u.id
  CROSS JOIN LATERAL (
    SELECT k.zone, k.anchors FROM analysis.account k WHERE k.shard = p_shard AND k.user_id = u.id OFFSET 0) a
  CROSS JOIN LATERAL (
    SELECT l.monthly_limit, l.cost FROM analysis.limit_of(p_shard, u.id, p_now) l OFFSET 0) q
  WHERE u.period = analysis.period_at(p_now, a.zone, a.anchors);
END $$;

-- Takes jobs, which the caller has locked, out of their months.
CREATE OR REPLACE FUNCTION analysis.take_out_jobs(p_shard smallint, p_jobs analysis.job_again[])
RETURNS analysis.job[]
LANGUAGE plpgsql AS $$
DECLARE
  v_row analysis.job[];
BEGIN
  -- Planned with the months, of which alone it takes locks.
  EXECUTE
    'WITH gone AS (
       DELETE FROM analysis.job k WHERE k.shard = $1 AND k.period = ANY ($2) AND k.id = ANY ($3)
       RETURNING k AS whole)
     SELECT array_agg(g.whole) FROM gone g'
  INTO v_row
  USING p_shard, ARRAY(SELECT DISTINCT t.old FROM unnest(p_jobs) t), ARRAY(SELECT t.id FROM unnest(p_jobs) t);
  RETURN v_row;
END $$;

-- Moves jobs, which the caller has locked, with their keys and what their submitters call them to other
-- months, and queues them as a submit would, the lower numbers first: they run at once and have no expiry,
-- since who wants them again wants them run. They wait since now, not since they were submitted.
CREATE OR REPLACE FUNCTION analysis.queue_again(p_shard smallint, p_jobs analysis.job_again[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_row analysis.job[] := analysis.take_out_jobs(p_shard, p_jobs);
BEGIN
  WITH moved AS MATERIALIZED (
    SELECT r.*, t.period AS month, t.cost,
      row_number() OVER (PARTITION BY r.user_id, r.lane ORDER BY r.id) - 1 AS ahead
    FROM unnest(v_row) r JOIN unnest(p_jobs) t ON t.id = r.id),
  wanted AS (
    SELECT array_agg(g.user_id) AS users, array_agg(g.lane) AS lanes, array_agg(g.cost) AS costs,
      array_agg(g.n) AS counts, array_agg(g.tail) AS tails
    FROM (SELECT m.user_id, m.lane, max(m.cost) AS cost, count(*) AS n, max(m.id) AS tail
          FROM moved m GROUP BY 1, 2) g
    HAVING count(*) > 0),
  placed AS MATERIALIZED (
    SELECT m.*, p.o_first + m.ahead * m.cost AS place
    FROM moved m
    JOIN (SELECT t.* FROM wanted w
          CROSS JOIN LATERAL analysis.take_places(
            p_shard, 0::smallint, w.users, w.lanes, w.costs, w.counts, w.tails) t) p
      ON p.o_user = m.user_id AND p.o_lane = m.lane),
  born AS (
    INSERT INTO analysis.job (
      shard, period, kind, lane, id, user_id, image_id, vt, created_at, run_at, expires_at, image_bytes,
      image_period, max_attempts, source, submitter, image_unsanitized, closed, image_mark, key_hash,
      source_name)
    SELECT m.shard, m.month, m.kind, m.lane, m.id, m.user_id, m.image_id, m.place, m.created_at, v_now, NULL,
      m.image_bytes, m.image_period, m.max_attempts, 0, m.submitter, m.image_unsanitized, false,
      m.image_mark, m.key_hash, m.source_name
    FROM placed m),
  labelled AS (
    UPDATE analysis.job_label l SET period = m.month
    FROM placed m
    WHERE l.shard IS NOT DISTINCT FROM p_shard AND l.job_id = m.id
      AND l.ctid = ANY (ARRAY(
        SELECT f.ctid FROM unnest(p_jobs) n
        CROSS JOIN LATERAL (
          SELECT b.ctid FROM analysis.job_label b
          WHERE b.shard = p_shard AND b.period = n.old AND b.job_id = n.id OFFSET 0) f))),
  keyed AS (
    UPDATE analysis.idem e SET period = m.month
    FROM placed m
    WHERE e.shard IS NOT DISTINCT FROM p_shard AND e.job_id = m.id
      AND e.ctid = ANY (ARRAY(
        SELECT f.ctid FROM placed n
        CROSS JOIN LATERAL (
          SELECT i.ctid FROM analysis.idem i
          WHERE i.shard = p_shard AND i.user_id = n.user_id AND i.key_hash = n.key_hash
            AND i.job_id = n.id OFFSET 0) f)))
  INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
  SELECT p_shard, m.lane, 0, m.month, m.place, m.id FROM placed m;
END $$;

-- Locks what retry_dead moves, and answers it: the present months of the users; then the dead rows, in order:
-- of two who retry the same job one finds it gone. Then the jobs, in order; then their images, which stay
-- while this transaction is open. With the months nobody else retries these jobs, so that none of them is
-- waited for. One without an image, or of a person who is erased, has the outcome image_gone.
CREATE OR REPLACE FUNCTION analysis.lock_dead(p_shard smallint, p_jobs bigint[], p_now timestamptz)
RETURNS analysis.job_again[]
LANGUAGE plpgsql AS $$
DECLARE
  v_month analysis.present_month[];
  v_job analysis.job_again[];
BEGIN
  v_month := ARRAY(
    SELECT ROW(h.*)::analysis.present_month
    FROM analysis.hold_present_months(
      p_shard, ARRAY(
        SELECT d.user_id FROM unnest(p_jobs) i
        CROSS JOIN LATERAL (
          SELECT x.user_id FROM analysis.dead x WHERE x.shard = p_shard AND x.job_id = i OFFSET 0) d),
      p_now) h);
  v_job := ARRAY(
    SELECT ROW(d.job_id, d.period, g.user_id, g.present, g.quota, g.cost, NULL)::analysis.job_again
    FROM (
      SELECT g.job_id, m.user_id, m.period AS present, m.quota, m.cost
      FROM (SELECT DISTINCT i AS job_id FROM unnest(p_jobs) i) g
      CROSS JOIN LATERAL (
        SELECT x.user_id FROM analysis.dead x WHERE x.shard = p_shard AND x.job_id = g.job_id OFFSET 0) x
      JOIN unnest(v_month) m ON m.user_id = x.user_id
      ORDER BY g.job_id) g
    CROSS JOIN LATERAL (
      SELECT x.job_id, x.period FROM analysis.dead x
      WHERE x.shard = p_shard AND x.job_id = g.job_id FOR UPDATE SKIP LOCKED) d);
  v_job := ARRAY(
    SELECT ROW(u.*)::analysis.job_again
    FROM (SELECT * FROM unnest(v_job) t ORDER BY t.id) u
    CROSS JOIN LATERAL (
      SELECT FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = u.old AND k.id = u.id FOR UPDATE SKIP LOCKED) j);
  RETURN ARRAY(
    SELECT ROW(u.id, u.old, u.user_id, u.period, u.quota, u.cost,
      CASE WHEN m.is_there IS NULL THEN 'image_gone' END)::analysis.job_again
    FROM unnest(v_job) u
    LEFT JOIN LATERAL (
      SELECT k.image_period, k.image_id FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = u.old AND k.id = u.id AND EXISTS (
        SELECT FROM analysis.account a
        WHERE a.shard = p_shard AND a.user_id = u.user_id AND a.erased_at IS NULL) OFFSET 0) j ON true
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM analysis.image i
      WHERE i.shard = p_shard AND i.period = j.image_period AND i.id = j.image_id FOR KEY SHARE) m ON true);
END $$;

-- Gives dead jobs another life in the present month: a unit of that month is taken, the job's row and its
-- key move there, the dead row goes, the history stays. An expiry is lifted: who retries wants it run. One
-- whose image was removed since, or whose person is erased, cannot be run again, and stays as it is. One that
-- somebody else is changing is 'busy', and so are all of a user whose month somebody else holds for 2 s, as
-- an open submit does; the others are queued.
CREATE OR REPLACE FUNCTION analysis.retry_dead(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_outcome text, o_period smallint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_job analysis.job_again[];
  v_granted bigint[];
BEGIN
  IF (p_shard IS NOT NULL AND coalesce(cardinality(p_jobs), 0) <= 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'jobs are retried in one shard, at most 100000 in a call');
  END IF;
  PERFORM analysis.refuse_repeatable_read();
  v_job := analysis.lock_dead(p_shard, p_jobs, v_now);
  v_granted := analysis.take_units_again(p_shard, v_job);
  IF v_granted <> '{}' THEN
    PERFORM analysis.queue_again(p_shard, array_agg(ROW(t.*)::analysis.job_again)),
      analysis.audit_jobs('retry', p_shard, array_agg(t.id), array_agg(t.user_id))
    FROM (SELECT u.* FROM unnest(v_job) u JOIN unnest(v_granted) n(id) USING (id) ORDER BY u.id) t;
    DELETE FROM analysis.dead d
    WHERE d.shard IS NOT DISTINCT FROM p_shard AND d.ctid = ANY (ARRAY(
      SELECT x.ctid FROM unnest(v_granted) n(id)
      CROSS JOIN LATERAL (
        SELECT y.ctid FROM analysis.dead y WHERE y.shard = p_shard AND y.job_id = n.id OFFSET 0) x));
  END IF;
  RETURN QUERY
  SELECT g.id, CASE WHEN n.id IS NOT NULL THEN 'requeued' WHEN t.outcome IS NOT NULL THEN t.outcome
                    WHEN t.id IS NOT NULL THEN 'quota' WHEN d.is_dead THEN 'busy' ELSE 'not_dead' END,
         CASE WHEN n.id IS NOT NULL THEN t.period END
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i) g
  LEFT JOIN unnest(v_job) t ON t.id = g.id
  LEFT JOIN unnest(v_granted) n(id) ON n.id = g.id
  LEFT JOIN LATERAL (
    SELECT true AS is_dead FROM analysis.dead x
    WHERE t.id IS NULL AND x.shard = p_shard AND x.job_id = g.id OFFSET 0) d ON true;
END $$;
COMMENT ON FUNCTION analysis.retry_dead IS
  'Queues dead jobs again; each takes a unit of the present month.';

-- For how long a cancellation can be undone: so long its image is kept, whatever the settings say.
CREATE OR REPLACE FUNCTION analysis.uncancel_time() RETURNS interval
LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '1 day'
$$;

-- Since when cancellations can be undone now.
CREATE OR REPLACE FUNCTION analysis.uncancel_from() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT clock_timestamp() - analysis.uncancel_time()
$$;
COMMENT ON FUNCTION analysis.uncancel_from IS
  'Answers since when cancellations can be undone now.';

-- Locks what uncancel moves, and answers the jobs that p_submitters may know, by number, each with its user's
-- present month; one that could not be had is busy.
CREATE OR REPLACE FUNCTION analysis.lock_cancelled(
  p_shard smallint, p_jobs bigint[], p_submitters smallint[], p_now timestamptz)
RETURNS analysis.job_again[]
LANGUAGE plpgsql AS $$
DECLARE
  v_job analysis.job_again[];
  v_month analysis.present_month[];
  v_locked bigint[];                   -- whose row could be had
BEGIN
  -- 1. Which there are, and the present month of their users, which is locked first. Those that were not
  --    cancelled, or too long ago, lock nobody's month.
  v_job := ARRAY(
    SELECT ROW(j.id, j.period, j.user_id, NULL, NULL, NULL, NULL)::analysis.job_again
    FROM analysis.locate_of(p_shard, p_jobs, p_submitters) l
    CROSS JOIN LATERAL (
      SELECT k.id, k.period, k.user_id FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job OFFSET 0) j
    ORDER BY j.id);
  v_month := ARRAY(
    SELECT ROW(h.*)::analysis.present_month
    FROM analysis.hold_present_months(
      p_shard, ARRAY(
        SELECT t.user_id FROM unnest(v_job) t
        CROSS JOIN LATERAL (
          SELECT FROM analysis.result f
          WHERE f.shard = p_shard AND f.period = t.old AND f.job_id = t.id AND f.outcome = 2
            AND f.finished_at > p_now - analysis.uncancel_time() OFFSET 0) r),
      p_now) h);
  -- 2. Lock the rows of the cancelled, in order, where nobody else has them; none without its user's month.
  v_locked := ARRAY(
    SELECT k.id
    FROM (SELECT t.id, t.old FROM unnest(v_job) t JOIN unnest(v_month) m USING (user_id) ORDER BY t.id) u
    CROSS JOIN LATERAL (
      SELECT FROM analysis.result f
      WHERE f.shard = p_shard AND f.period = u.old AND f.job_id = u.id AND f.outcome = 2 OFFSET 0) r
    CROSS JOIN LATERAL (
      SELECT w.id FROM analysis.job w
      WHERE w.shard = p_shard AND w.period = u.old AND w.id = u.id FOR UPDATE SKIP LOCKED) k);
  RETURN ARRAY(
    SELECT ROW(t.id, t.old, t.user_id, m.period, m.quota, m.cost,
      CASE WHEN l.id IS NULL THEN 'busy' END)::analysis.job_again
    FROM unnest(v_job) t
    LEFT JOIN unnest(v_month) m ON m.user_id = t.user_id
    LEFT JOIN unnest(v_locked) l(id) ON l.id = t.id
    ORDER BY t.id);
END $$;

-- With the locks, in a statement that sees what was committed before: what speaks against queueing cancelled
-- jobs again. Their images stay while this transaction is open.
CREATE OR REPLACE FUNCTION analysis.judge_cancelled(
  p_shard smallint, p_jobs analysis.job_again[], p_now timestamptz)
RETURNS analysis.job_again[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT ROW(
      u.id, u.old, u.user_id, u.period, u.quota, u.cost,
      CASE WHEN r.outcome IS DISTINCT FROM 2 THEN 'not_cancelled'
           WHEN a.erased_at IS NOT NULL THEN 'erased'
           WHEN r.finished_at <= p_now - analysis.uncancel_time() THEN 'too_late'
           WHEN m.is_there IS NULL THEN 'image_gone'
           WHEN h.id IS NOT NULL THEN 'busy' ELSE u.outcome END)::analysis.job_again
    FROM unnest(p_jobs) u
    LEFT JOIN (
      SELECT DISTINCT unnest(b.job_ids) AS id FROM analysis.lease b WHERE b.shard = p_shard) h ON h.id = u.id
    LEFT JOIN LATERAL (
      SELECT f.outcome, f.finished_at FROM analysis.result f
      WHERE f.shard = p_shard AND f.period = u.old AND f.job_id = u.id OFFSET 0) r ON true
    LEFT JOIN LATERAL (
      SELECT c.erased_at FROM analysis.account c
      WHERE c.shard = p_shard AND c.user_id = u.user_id OFFSET 0) a ON true
    LEFT JOIN LATERAL (
      SELECT k.image_period, k.image_id FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = u.old AND k.id = u.id OFFSET 0) j ON true
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM analysis.image i
      WHERE r.outcome = 2 AND i.shard = p_shard AND i.period = j.image_period AND i.id = j.image_id
      FOR KEY SHARE) m ON true
    ORDER BY u.id);
END $$;

-- Gives cancelled jobs another life in the present month, for a day after the cancellation: a unit of that
-- month is taken, the job's row and its key move there, the cancellation's row goes, the history stays. It
-- runs at once, also where it was to run later or had an expiry: who undoes a cancellation wants it run. A
-- back-end undoes cancellations of what it has submitted itself; any other job is unknown to it.
--
-- A job that a worker still holds, or that somebody else is changing, is 'busy', and so are all of a user
-- whose month somebody else holds for 2 s, as an open submit does; the others are queued.
CREATE OR REPLACE FUNCTION analysis.uncancel(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_outcome text, o_period smallint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_job analysis.job_again[];          -- NULL as outcome: it may be undone
  v_granted bigint[];
  v_moved analysis.job_again[];
BEGIN
  IF (p_shard IS NOT NULL AND coalesce(cardinality(p_jobs), 0) <= 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'cancellations are undone in one shard, at most 100000 in a call');
  END IF;
  PERFORM analysis.refuse_repeatable_read();
  v_job := analysis.judge_cancelled(
    p_shard, analysis.lock_cancelled(p_shard, p_jobs, analysis.own_submitters('{operator}'), v_now), v_now);
  v_granted := analysis.take_units_again(p_shard, v_job);
  -- The rows of the queue that a cancellation did not find go now: a job knows where it would be.
  IF v_granted <> '{}' THEN
    v_moved := ARRAY(
      SELECT ROW(t.*)::analysis.job_again
      FROM (SELECT u.* FROM unnest(v_job) u JOIN unnest(v_granted) n(id) USING (id) ORDER BY u.id) t);
    PERFORM analysis.leave_queue(p_shard, array_agg(t.id), array_agg(t.old)) FROM unnest(v_moved) t;
    EXECUTE 'DELETE FROM analysis.result f WHERE f.shard = $1 AND f.period = ANY ($2) AND f.job_id = ANY ($3)'
    USING p_shard, ARRAY(SELECT DISTINCT t.old FROM unnest(v_job) t), v_granted;
    PERFORM analysis.queue_again(p_shard, v_moved);
    PERFORM analysis.audit_jobs('uncancel', p_shard, array_agg(t.id), array_agg(t.user_id))
    FROM unnest(v_moved) t;
  END IF;
  RETURN QUERY
  SELECT g.id, CASE WHEN t.id IS NULL THEN 'unknown'
                    WHEN t.outcome IS NOT NULL THEN t.outcome
                    WHEN n.id IS NULL THEN 'quota' ELSE 'requeued' END,
         CASE WHEN n.id IS NOT NULL THEN t.period END
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i) g
  LEFT JOIN unnest(v_job) t ON t.id = g.id
  LEFT JOIN unnest(v_granted) n(id) ON n.id = g.id;
END $$;
COMMENT ON FUNCTION analysis.uncancel IS
  'Queues cancelled jobs again, for a day; each takes a unit of the present month.';
