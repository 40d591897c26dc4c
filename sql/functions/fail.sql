-- Ends attempts that failed, and hands jobs back. p_batches is the set of batches the jobs are in.

-- p_delay_ms NULL: for good. p_burn: it counts as an attempt; without attempts left the job is dead too.
-- A job that is not in a batch of this worker, or was cancelled, is 'stale' and nothing is written.
CREATE OR REPLACE FUNCTION analysis.fail(
  p_shard smallint, p_worker bigint, p_batches bigint[], p_jobs bigint[], p_delay_ms bigint[], p_burn boolean[],
  p_class text[], p_code text[], p_message text[], p_error_id text[], p_status smallint[], p_calls smallint[],
  p_maybe_counted boolean[], p_endpoint text[])
RETURNS TABLE (o_job bigint, o_outcome text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_held bigint[] := analysis.hold_batches(p_shard, p_worker, p_batches);
  v_ended analysis.ended[];
BEGIN
  -- 1. Which of the jobs are held, each once; then their rows, locked in order: cancel goes the same way,
  --    so a job is never both dead and cancelled.
  SELECT array_agg(ROW(
      s.job_id, s.period, j.user_id, j.kind, p_worker, (s.burnt_before + 1)::smallint, a.attempts,
      CASE WHEN j.closed THEN 'stale'
           WHEN s.delay_ms IS NULL OR s.burn AND a.attempts >= j.max_attempts THEN 'dead'
           ELSE 'retried' END,
      -- The losses stay with the job, and one that runs alone because of them does so until it ends.
      CASE WHEN s.lane % 4 = 3 THEN s.lane ELSE j.lane END, a.attempts + (s.tries & ~255),
      CASE WHEN s.lane % 4 = 3 THEN 0 ELSE j.vt END, s.delay_ms, s.burn, s.class, s.code, s.message, s.error_id, s.status, s.calls,
      s.maybe_counted, s.endpoint)::analysis.ended)
  INTO v_ended
  FROM (
    SELECT DISTINCT ON (h.job_id) h.job_id, h.period, h.lane, h.tries, h.tries & 255 AS burnt_before, g.*
    FROM analysis.leased_jobs(p_shard, v_held) h
    JOIN unnest(p_jobs, p_delay_ms, p_burn, p_class, p_code, p_message, p_error_id, p_status, p_calls, p_maybe_counted, p_endpoint)
      WITH ORDINALITY AS g(given, delay_ms, burn, class, code, message, error_id, status, calls, maybe_counted, endpoint, i)
      ON g.given = h.job_id
    ORDER BY h.job_id, g.i) s
  CROSS JOIN LATERAL (SELECT (s.burnt_before + s.burn::int)::smallint AS attempts) a
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.kind, k.lane, k.vt, k.max_attempts, k.closed FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = s.period AND k.id = s.job_id
    FOR NO KEY UPDATE) j;

  -- 2. Write, then take them out of the batches.
  IF v_ended IS NOT NULL THEN
    PERFORM analysis.end_attempts(p_shard, v_ended);
    PERFORM analysis.settle_batches(p_shard, v_held, p_jobs);
  END IF;

  RETURN QUERY
  SELECT g.job_id, coalesce(e.outcome, 'stale')
  FROM (SELECT DISTINCT j AS job_id FROM unnest(p_jobs) j) g
  LEFT JOIN unnest(v_ended) e ON e.job_id = g.job_id;
END $$;

-- Gives jobs back unharmed: no attempt is burnt, no error written. Answers those that were given back.
CREATE OR REPLACE FUNCTION analysis.hand_back(
  p_shard smallint, p_worker bigint, p_batches bigint[], p_jobs bigint[], p_delay_ms bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_held bigint[] := analysis.hold_batches(p_shard, p_worker, p_batches);
  v_ended analysis.ended[];
BEGIN
  SELECT array_agg(e.ended) INTO v_ended
  FROM (
    SELECT DISTINCT ON (h.job_id) h.* FROM analysis.leased_jobs(p_shard, v_held) h
    JOIN unnest(p_jobs) g(job_id) ON g.job_id = h.job_id
    ORDER BY h.job_id) s
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.kind, k.vt, k.closed FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = s.period AND k.id = s.job_id
    FOR NO KEY UPDATE) j
  -- Virtual time is the home lane's own: a suspect queues by the suspects' clock alone.
  CROSS JOIN LATERAL (SELECT ROW(
      s.job_id, s.period, j.user_id, j.kind, p_worker, 0::smallint, 0::smallint,
      CASE WHEN j.closed THEN 'stale' ELSE 'retried' END, s.lane, s.tries,
      CASE WHEN s.lane % 4 = 3 THEN 0 ELSE j.vt END, coalesce(p_delay_ms, 0), false,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::analysis.ended AS ended) e;

  IF v_ended IS NOT NULL THEN
    PERFORM analysis.end_attempts(p_shard, v_ended);
    PERFORM analysis.settle_batches(p_shard, v_held, p_jobs);
  END IF;
  RETURN QUERY SELECT e.job_id FROM unnest(v_ended) e WHERE e.outcome = 'retried';
END $$;

-- Gives back what a claim took whose answer never came: the jobs of the batches from p_batch on, so many
-- numbers, which the worker had chosen itself. Answers how many jobs there were.
CREATE OR REPLACE FUNCTION analysis.disclaim(p_shard smallint, p_worker bigint, p_batch bigint, p_count int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_held bigint[] := analysis.hold_batches(p_shard, p_worker, ARRAY(SELECT p_batch + i FROM generate_series(0, p_count - 1) i));
  v_jobs bigint[] := ARRAY(SELECT h.job_id FROM analysis.leased_jobs(p_shard, v_held) h);
BEGIN
  IF cardinality(v_jobs) > 0 THEN
    PERFORM analysis.hand_back(p_shard, p_worker, v_held, v_jobs, 0);
  END IF;
  RETURN cardinality(v_jobs);
END $$;
