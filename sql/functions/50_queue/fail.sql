-- Ends attempts that failed, and releases jobs. p_leases[i] is the lease under which p_jobs[i] ran.
--
-- A job is busy while somebody else's open transaction holds it, a cancellation above all: it stays in its
-- lease, and the caller comes again. Nobody waits for such a transaction.

-- What comes of failures in leases that the caller holds, the first of each job; and which jobs are busy. The
-- jobs' rows are locked: cancel does the same, so a job is never both dead and cancelled.
CREATE OR REPLACE FUNCTION analysis.judge_failures(
  p_shard smallint, p_worker bigint, p_held bigint[], p_failures analysis.failure[],
  OUT o_ended analysis.ended[], OUT o_busy bigint[])
LANGUAGE plpgsql AS $$
BEGIN
  SELECT array_agg(ROW(
      s.job_id, s.period, j.user_id, j.kind, p_worker, (s.consumed_before + 1)::smallint, a.attempts,
      CASE WHEN j.closed THEN 'stale'
           WHEN s.delay_ms IS NULL OR s.consume AND a.attempts >= j.max_attempts THEN 'dead'
           ELSE 'retried' END,
      -- The losses stay with the job, and one that runs alone because of them does so until it ends.
      CASE WHEN analysis.is_quarantine(s.lane) THEN s.lane ELSE j.lane END,
      analysis.tries_of(a.attempts, analysis.losses_of(s.tries)),
      CASE WHEN analysis.is_quarantine(s.lane) THEN 0 ELSE j.vt END, s.delay_ms, s.consume, s.class, s.code,
      s.message, s.error_id, s.status, s.calls, s.maybe_counted, s.endpoint)::analysis.ended)
      FILTER (WHERE j.user_id IS NOT NULL),
    array_agg(s.job_id) FILTER (WHERE j.user_id IS NULL)
  INTO o_ended, o_busy
  FROM (
    SELECT DISTINCT ON (h.job_id) h.job_id, h.period, h.lane, h.tries,
      analysis.attempts_of(h.tries) AS consumed_before, g.delay_ms, g.consume, g.class, g.code, g.message,
      g.error_id, g.status, g.calls, g.maybe_counted, g.endpoint
    FROM analysis.leased_jobs(p_shard, p_held) h
    JOIN unnest(p_failures) WITH ORDINALITY g(
        lease_id, job_id, delay_ms, consume, class, code, message, error_id, status, calls, maybe_counted,
        endpoint, i)
      ON g.job_id = h.job_id AND g.lease_id = h.lease_id
    ORDER BY h.job_id, g.i) s
  CROSS JOIN LATERAL (SELECT (s.consumed_before + s.consume::int)::smallint AS attempts) a
  LEFT JOIN LATERAL (
    SELECT k.user_id, k.kind, k.lane, k.vt, k.max_attempts, k.closed FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = s.period AND k.id = s.job_id
    FOR NO KEY UPDATE SKIP LOCKED) j ON true;
END $$;

-- p_delay_ms NULL: the job is dead. p_consume: it counts as an attempt; without attempts left the job is dead
-- too. A job that is not in that lease, or not in a lease of this worker, or was cancelled, is 'stale', and
-- nothing is written.
CREATE OR REPLACE FUNCTION analysis.fail(
  p_shard smallint, p_worker bytea, p_leases bigint[], p_jobs bigint[], p_delay_ms bigint[],
  p_consume boolean[], p_class text[], p_code text[], p_message text[], p_error_id text[],
  p_status smallint[], p_calls smallint[], p_maybe_counted boolean[], p_endpoint text[])
RETURNS TABLE (o_job bigint, o_outcome text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1500ms'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_worker bigint := analysis.worker_number(p_worker);
  v_held bigint[];
  v_ended analysis.ended[];
  v_busy bigint[];
  v_table text;                        -- of a row that was refused, and for what
  v_rule text;
  v_column text;
BEGIN
  IF (cardinality(p_jobs) <= 100000 AND p_shard IS NOT NULL AND octet_length(p_worker) = 32
      AND (('[1:' || cardinality(p_jobs) || ']') = ALL (ARRAY[
        array_dims(p_jobs), array_dims(p_leases), array_dims(p_delay_ms), array_dims(p_consume),
        array_dims(p_class), array_dims(p_code), array_dims(p_message), array_dims(p_error_id),
        array_dims(p_status), array_dims(p_calls), array_dims(p_maybe_counted),
        array_dims(p_endpoint)])) IS NOT FALSE
      AND cardinality(p_leases) = cardinality(p_jobs)
      AND (0 <= ALL (p_delay_ms) AND 315360000000 >= ALL (p_delay_ms)) IS NOT FALSE) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'each job is given together with its lease, and what failed; a delay is from 0 to 10 years');
  END IF;
  v_held := analysis.lock_leases(p_shard, v_worker, p_leases);

  -- 1. Which of the jobs are held, each once, and what comes of them.
  SELECT j.o_ended, j.o_busy INTO v_ended, v_busy
  FROM analysis.judge_failures(p_shard, v_worker, v_held, ARRAY(
    SELECT ROW(g.*)::analysis.failure
    FROM unnest(
      p_leases, p_jobs, p_delay_ms, p_consume, p_class, p_code, p_message, p_error_id, p_status, p_calls,
      p_maybe_counted, p_endpoint) g)) j;

  -- 2. Write, then take them out of the leases. A row that breaks a constraint is refused by the names of its
  --    columns.
  IF v_ended IS NOT NULL THEN
    BEGIN
      PERFORM analysis.end_attempts(p_shard, v_ended);
    EXCEPTION WHEN check_violation OR not_null_violation THEN
      GET STACKED DIAGNOSTICS v_table = TABLE_NAME, v_rule = CONSTRAINT_NAME, v_column = COLUMN_NAME;
      PERFORM analysis.refuse_value(v_table, v_rule, v_column);
    END;
    IF 'image_tampered' = ANY (p_code) THEN
      PERFORM analysis.set_changed_images_aside(p_shard, v_ended);
    END IF;
    PERFORM analysis.end_leases(p_shard, v_held, p_leases, p_jobs, v_busy);
  END IF;

  RETURN QUERY
  SELECT g.job_id, coalesce(e.outcome, CASE WHEN g.job_id = ANY (v_busy) THEN 'busy' ELSE 'stale' END)
  FROM (SELECT DISTINCT j AS job_id FROM unnest(p_jobs) j) g
  LEFT JOIN unnest(v_ended) e ON e.job_id = g.job_id;
END $$;
COMMENT ON FUNCTION analysis.fail IS
  'Records failed attempts of jobs that a worker holds, and queues each job again or ends it as dead.';

-- Releases jobs unharmed: no attempt is consumed, no error written. Answers those that were released,
-- and those that are busy.
CREATE OR REPLACE FUNCTION analysis.release(
  p_shard smallint, p_worker bytea, p_leases bigint[], p_jobs bigint[], p_delay_ms bigint,
  OUT o_back bigint[], OUT o_busy bigint[])
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1500ms'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_worker bigint := analysis.worker_number(p_worker);
  v_held bigint[];
  v_ended analysis.ended[];
BEGIN
  IF (cardinality(p_jobs) <= 100000 AND p_shard IS NOT NULL AND octet_length(p_worker) = 32
      AND analysis.is_list(p_jobs, cardinality(p_jobs)) AND analysis.is_list(p_leases, cardinality(p_jobs))
      AND coalesce(p_delay_ms, 0) BETWEEN 0 AND 315360000000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'each job is given together with its lease; a delay is from 0 to 10 years');
  END IF;
  v_held := analysis.lock_leases(p_shard, v_worker, p_leases);
  SELECT array_agg(e.ended) FILTER (WHERE j.user_id IS NOT NULL),
    array_agg(s.job_id) FILTER (WHERE j.user_id IS NULL)
  INTO v_ended, o_busy
  FROM (
    SELECT DISTINCT ON (h.job_id) h.* FROM analysis.leased_jobs(p_shard, v_held) h
    JOIN unnest(p_leases, p_jobs) g(lease_id, job_id) ON g.job_id = h.job_id AND g.lease_id = h.lease_id
    ORDER BY h.job_id) s
  LEFT JOIN LATERAL (
    SELECT k.user_id, k.kind, k.vt, k.closed FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = s.period AND k.id = s.job_id
    FOR NO KEY UPDATE SKIP LOCKED) j ON true
  -- Virtual time is the home lane's own: a quarantined job queues by the quarantine's clock alone.
  CROSS JOIN LATERAL (SELECT ROW(
      s.job_id, s.period, j.user_id, j.kind, v_worker, 0::smallint, 0::smallint,
      CASE WHEN j.closed THEN 'stale' ELSE 'retried' END, s.lane, s.tries,
      CASE WHEN analysis.is_quarantine(s.lane) THEN 0 ELSE j.vt END, coalesce(p_delay_ms, 0), false,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::analysis.ended AS ended) e;

  IF v_ended IS NOT NULL THEN
    PERFORM analysis.end_attempts(p_shard, v_ended);
    PERFORM analysis.end_leases(p_shard, v_held, p_leases, p_jobs, o_busy);
  END IF;
  o_back := ARRAY(SELECT e.job_id FROM unnest(v_ended) e WHERE e.outcome = 'retried');
  o_busy := coalesce(o_busy, '{}');
END $$;
COMMENT ON FUNCTION analysis.release IS
  'Releases jobs that a worker holds and did not try; no attempt is counted.';

-- Releases what a claim took whose answer never came: the jobs of the leases from p_lease on, so many
-- numbers, which the worker had chosen itself. Answers how many jobs there were; of those that are busy
-- the lease runs out.
CREATE OR REPLACE FUNCTION analysis.disclaim(p_shard smallint, p_worker bytea, p_lease bigint, p_count int)
RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1500ms'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_held bigint[];
  v_of bigint[];
  v_jobs bigint[];
BEGIN
  IF (p_shard IS NOT NULL AND octet_length(p_worker) = 32
      AND p_lease BETWEEN 0 AND 9223372036854774807 AND p_count BETWEEN 0 AND 1000)
    IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'a claim that is looked up has at most 1000 leases');
  END IF;
  v_held := analysis.lock_leases(
    p_shard, analysis.worker_number(p_worker),
    ARRAY(SELECT p_lease + i FROM generate_series(0, p_count - 1) i));
  SELECT array_agg(h.lease_id), array_agg(h.job_id) INTO v_of, v_jobs
  FROM analysis.leased_jobs(p_shard, v_held) h;
  IF v_jobs IS NOT NULL THEN
    PERFORM analysis.release(p_shard, p_worker, v_of, v_jobs, 0);
  END IF;
  RETURN coalesce(cardinality(v_jobs), 0);
END $$;
COMMENT ON FUNCTION analysis.disclaim IS
  'Releases what a claim took whose answer was lost.';
