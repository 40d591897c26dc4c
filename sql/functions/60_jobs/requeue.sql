-- Queueing jobs again that have ended without a result: the dead, and the cancelled.

-- Takes units of the present month for jobs that are queued again, the lower numbers first, as far as the
-- limits go; answers the jobs that got one.
CREATE OR REPLACE FUNCTION analysis.take_units_again(
  p_shard smallint, p_jobs bigint[], p_users bigint[], p_periods smallint[], p_quotas int[])
RETURNS bigint[]
LANGUAGE sql AS $$
  WITH meant AS MATERIALIZED (
    SELECT t.id, t.user_id, t.period, t.quota
    FROM unnest(p_jobs, p_users, p_periods, p_quotas) t(id, user_id, period, quota)),
  wanted AS (
    SELECT array_agg(g.user_id) AS users, array_agg(g.period) AS periods, array_agg(g.quota) AS quotas,
      array_agg(g.n) AS counts
    FROM (SELECT t.user_id, t.period, t.quota, count(*)::int AS n FROM meant t
          GROUP BY 1, 2, 3 ORDER BY 1, 2) g),
  dealt AS MATERIALIZED (
    SELECT u.* FROM wanted w
    CROSS JOIN LATERAL analysis.deal_units(p_shard, w.users, w.periods, w.quotas, w.counts, false) u)
  SELECT coalesce(array_agg(t.id ORDER BY t.id), '{}')
  FROM (SELECT s.*, row_number() OVER (PARTITION BY s.user_id, s.period ORDER BY s.id) AS position
        FROM meant s) t
  JOIN dealt u ON u.o_user = t.user_id AND u.o_period = t.period
  WHERE t.position <= u.o_granted
$$;

-- Moves a job with its key and what its submitter calls it to another month, and queues it as a submit would:
-- it runs at once and has no expiry, since who wants it again wants it run. It waits since now, not since it
-- was submitted.
CREATE OR REPLACE FUNCTION analysis.queue_again(
  p_shard smallint, p_job bigint, p_from smallint, p_to smallint, p_cost bigint)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_row analysis.job;
BEGIN
  DELETE FROM analysis.job k WHERE k.shard = p_shard AND k.period = p_from AND k.id = p_job
  RETURNING k.* INTO v_row;
  SELECT p.o_first INTO v_row.vt
  FROM analysis.take_places(
    p_shard, 0::smallint, ARRAY[v_row.user_id], ARRAY[v_row.lane], ARRAY[p_cost], ARRAY[1],
    ARRAY[v_row.id]) p;
  v_row.period := p_to;
  v_row.source := 0;
  v_row.run_at := clock_timestamp();
  v_row.expires_at := NULL;
  v_row.closed := false;
  INSERT INTO analysis.job SELECT v_row.*;
  UPDATE analysis.job_label l SET period = p_to
  WHERE l.shard = p_shard AND l.period = p_from AND l.job_id = p_job;
  INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
  VALUES (p_shard, v_row.lane, 0, p_to, v_row.vt, p_job);
  UPDATE analysis.idem e SET period = p_to
  WHERE e.shard = p_shard AND e.user_id = v_row.user_id AND e.key_hash = v_row.key_hash
    AND e.job_id = p_job;
END $$;

-- Gives dead jobs another life in the present month: a unit of that month is taken, the job's row and its
-- key move there, the dead row goes, the history stays. An expiry is lifted: who retries wants it run. One
-- whose image was removed since cannot be run again, and stays as it is.
CREATE OR REPLACE FUNCTION analysis.retry_dead(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_outcome text, o_period smallint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off SET lock_timeout = '10s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_job bigint[];
  v_old smallint[];
  v_new smallint[];
  v_user bigint[];
  v_quota int[];
  v_cost bigint[];
  v_granted bigint[];
  v_blind bigint[];                    -- whose image is gone
BEGIN
  IF (p_shard IS NOT NULL AND coalesce(cardinality(p_jobs), 0) <= 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'jobs are retried in one shard, at most 100000 in a call');
  END IF;
  PERFORM analysis.refuse_repeatable_read();

  -- 1. Lock the dead rows, in order: of two who retry the same job one finds it gone. Their images stay
  --    while this transaction is open.
  SELECT array_agg(d.job_id) FILTER (WHERE m.is_there), array_agg(d.period) FILTER (WHERE m.is_there),
         array_agg(d.user_id) FILTER (WHERE m.is_there),
         array_agg(analysis.period_at(v_now, a.zone, a.anchors)) FILTER (WHERE m.is_there),
         array_agg(l.monthly_limit) FILTER (WHERE m.is_there), array_agg(l.cost) FILTER (WHERE m.is_there),
         array_agg(d.job_id) FILTER (WHERE m.is_there IS NULL)
  INTO v_job, v_old, v_user, v_new, v_quota, v_cost, v_blind
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i ORDER BY 1) g
  CROSS JOIN LATERAL (
    SELECT x.job_id, x.period, x.user_id FROM analysis.dead x WHERE x.shard = p_shard AND x.job_id = g.id
    FOR UPDATE) d
  CROSS JOIN LATERAL (
    SELECT c.zone, c.anchors FROM analysis.account c
    WHERE c.shard = p_shard AND c.user_id = d.user_id OFFSET 0) a
  CROSS JOIN LATERAL (
    SELECT q.monthly_limit, q.cost FROM analysis.limit_of(p_shard, d.user_id, v_now) q OFFSET 0) l
  CROSS JOIN LATERAL (
    SELECT k.image_period, k.image_id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = d.period AND k.id = d.job_id OFFSET 0) j
  LEFT JOIN LATERAL (
    SELECT true AS is_there FROM analysis.image i
    WHERE i.shard = p_shard AND i.period = j.image_period AND i.id = j.image_id FOR KEY SHARE) m ON true;

  -- 2. Take units of the present month, the lower numbers first.
  IF v_job IS NOT NULL THEN
    PERFORM analysis.lock_usage(p_shard, v_user, v_new);
    v_granted := analysis.take_units_again(p_shard, v_job, v_user, v_new, v_quota);
  END IF;

  -- 3. Move them, each by its key.
  FOR i IN 1 .. coalesce(cardinality(v_job), 0) LOOP
    CONTINUE WHEN NOT (v_job[i] = ANY (v_granted));
    PERFORM analysis.queue_again(p_shard, v_job[i], v_old[i], v_new[i], v_cost[i]);
    DELETE FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = v_job[i];
  END LOOP;
  IF cardinality(v_granted) > 0 THEN
    PERFORM analysis.audit_jobs(
      'retry', p_shard, v_granted,
      ARRAY(SELECT t.user_id FROM (SELECT unnest(v_job) AS id, unnest(v_user) AS user_id) t
        WHERE t.id = ANY (v_granted)));
  END IF;

  RETURN QUERY
  SELECT g.id, CASE WHEN g.id = ANY (v_blind) THEN 'image_gone'
                    WHEN t.id IS NULL THEN 'not_dead' WHEN n.id IS NULL THEN 'quota' ELSE 'requeued' END,
         CASE WHEN n.id IS NOT NULL THEN t.period END
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i) g
  LEFT JOIN unnest(v_job, v_new) t(id, period) USING (id)
  LEFT JOIN unnest(v_granted) n(id) USING (id);
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

-- Gives cancelled jobs another life in the present month, for a day after the cancellation: a unit of that
-- month is taken, the job's row and its key move there, the cancellation's row goes, the history stays. It
-- runs at once, also where it was to run later or had an expiry: who undoes a cancellation wants it run. A
-- back-end undoes cancellations of what it has submitted itself; any other job is unknown to it.
--
-- A job that a worker still holds, or that somebody else is changing, is 'busy', and so are all where
-- somebody else holds the month of one of their users for 2 s, as an open submit does. The locks are taken in
-- the order in which an erasure takes them: the users' months, then the jobs.
CREATE OR REPLACE FUNCTION analysis.uncancel(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_outcome text, o_period smallint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_submitter smallint;
  -- What follows has an element for each job that there is, by number.
  v_job bigint[];
  v_old smallint[];
  v_new smallint[];
  v_user bigint[];
  v_quota int[];
  v_cost bigint[];
  v_outcome text[];                    -- NULL: it may be undone
  v_is_busy boolean := false;          -- somebody else holds a user's month
  v_locked bigint[];                   -- whose row could be had
  v_held bigint[];                     -- what workers hold
  v_granted bigint[] := '{}';
  v_row analysis.job;
BEGIN
  IF (p_shard IS NOT NULL AND coalesce(cardinality(p_jobs), 0) <= 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'cancellations are undone in one shard, at most 100000 in a call');
  END IF;
  PERFORM analysis.refuse_repeatable_read();
  v_submitter := analysis.own_submitter('{operator}');

  -- 1. Which there are, and the present month of their users, which is locked first. Those that were not
  --    cancelled, or too long ago, lock nobody's month.
  SELECT array_agg(j.id ORDER BY j.id), array_agg(j.period ORDER BY j.id),
         array_agg(j.user_id ORDER BY j.id),
         array_agg(analysis.period_at(v_now, a.zone, a.anchors) ORDER BY j.id),
         array_agg(q.monthly_limit ORDER BY j.id), array_agg(q.cost ORDER BY j.id)
  INTO v_job, v_old, v_user, v_new, v_quota, v_cost
  FROM analysis.locate_of(p_shard, p_jobs, v_submitter) l
  CROSS JOIN LATERAL (
    SELECT k.id, k.period, k.user_id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job OFFSET 0) j
  CROSS JOIN LATERAL (
    SELECT c.zone, c.anchors FROM analysis.account c
    WHERE c.shard = p_shard AND c.user_id = j.user_id OFFSET 0) a
  CROSS JOIN LATERAL (
    SELECT f.monthly_limit, f.cost FROM analysis.limit_of(p_shard, j.user_id, v_now) f OFFSET 0) q;
  BEGIN
    PERFORM analysis.lock_usage(p_shard, array_agg(t.user_id), array_agg(t.period))
    FROM (
      SELECT DISTINCT u.user_id, u.present AS period
      FROM unnest(v_job, v_old, v_user, v_new) u(id, old, user_id, present)
      CROSS JOIN LATERAL (
        SELECT FROM analysis.result f
        WHERE f.shard = p_shard AND f.period = u.old AND f.job_id = u.id AND f.outcome = 2
          AND f.finished_at > v_now - analysis.uncancel_time() OFFSET 0) r) t
    HAVING count(*) > 0;
  EXCEPTION WHEN lock_not_available THEN
    v_is_busy := true;
  END;

  -- 2. Lock the rows of the cancelled, in order, where nobody else has them; none without the months.
  SELECT array_agg(k.id) INTO v_locked
  FROM unnest(v_job, v_old) u(id, old)
  CROSS JOIN LATERAL (
    SELECT FROM analysis.result f
    WHERE f.shard = p_shard AND f.period = u.old AND f.job_id = u.id AND f.outcome = 2 OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT w.id FROM analysis.job w
    WHERE w.shard = p_shard AND w.period = u.old AND w.id = u.id FOR UPDATE SKIP LOCKED) k
  WHERE NOT v_is_busy;

  -- 3. With the locks, in a statement that sees what was committed before: which of them are to be undone.
  --    Their images stay while this transaction is open.
  v_held := ARRAY(SELECT unnest(b.job_ids) FROM analysis.lease b WHERE b.shard = p_shard);
  SELECT array_agg(
    CASE WHEN r.outcome IS DISTINCT FROM 2 THEN 'not_cancelled'
         WHEN a.erased_at IS NOT NULL THEN 'erased'
         WHEN r.finished_at <= v_now - analysis.uncancel_time() THEN 'too_late'
         WHEN m.is_there IS NULL THEN 'image_gone'
         WHEN u.id = ANY (v_held) OR (u.id = ANY (v_locked)) IS NOT TRUE THEN 'busy' END ORDER BY u.id)
  INTO v_outcome
  FROM unnest(v_job, v_old, v_user) u(id, old, user_id)
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
    FOR KEY SHARE) m ON true;

  -- 4. Take units of the present month, the lower numbers first.
  IF array_position(v_outcome, NULL) IS NOT NULL THEN
    SELECT analysis.take_units_again(
      p_shard, array_agg(t.id), array_agg(t.user_id), array_agg(t.period), array_agg(t.quota))
    INTO v_granted
    FROM unnest(v_job, v_user, v_new, v_quota, v_outcome) t(id, user_id, period, quota, outcome)
    WHERE t.outcome IS NULL;
  END IF;

  -- 5. Move them, each by its key, and queue them as a submit would. A row of the queue that the
  --    cancellation did not find goes now: the job knows where it would be.
  FOR i IN 1 .. coalesce(cardinality(v_job), 0) LOOP
    CONTINUE WHEN NOT (v_job[i] = ANY (v_granted));
    SELECT k.* INTO v_row FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = v_old[i] AND k.id = v_job[i];
    DELETE FROM analysis.ready r
    WHERE r.shard = p_shard AND r.lane IN (v_row.lane, analysis.quarantine_of(v_row.kind))
      AND r.vt = v_row.vt AND r.job_id = v_row.id;
    DELETE FROM analysis.scheduled s
    WHERE s.shard = p_shard AND s.period = v_old[i] AND s.job_id = v_row.id;
    DELETE FROM analysis.result f
    WHERE f.shard = p_shard AND f.period = v_old[i] AND f.job_id = v_row.id;
    PERFORM analysis.queue_again(p_shard, v_job[i], v_old[i], v_new[i], v_cost[i]);
  END LOOP;
  IF cardinality(v_granted) > 0 THEN
    PERFORM analysis.audit_jobs(
      'uncancel', p_shard, v_granted,
      ARRAY(SELECT t.user_id FROM unnest(v_job, v_user) t(id, user_id) WHERE t.id = ANY (v_granted)));
  END IF;

  RETURN QUERY
  SELECT g.id, CASE WHEN t.id IS NULL THEN 'unknown'
                    WHEN t.outcome IS NOT NULL THEN t.outcome
                    WHEN n.id IS NULL THEN 'quota' ELSE 'requeued' END,
         CASE WHEN n.id IS NOT NULL THEN t.period END
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i) g
  LEFT JOIN unnest(v_job, v_new, v_outcome) t(id, period, outcome) USING (id)
  LEFT JOIN unnest(v_granted) n(id) USING (id);
END $$;
COMMENT ON FUNCTION analysis.uncancel IS
  'Queues cancelled jobs again, for a day; each takes a unit of the present month.';
