-- Stores the results of analysed jobs and takes them out of their batches; answers the jobs whose result
-- was stored now. p_batches is the set of batches the jobs are in. Which of the jobs count, and their
-- month, user, kind and attempt, the database decides: a job that is not in a batch of this worker, or was
-- cancelled first, is not stored. A row that breaks a constraint fails the whole call.
CREATE OR REPLACE FUNCTION analysis.complete(
  p_shard smallint, p_worker bigint, p_batches bigint[], p_jobs bigint[], p_analysis_id text[], p_answered_at timestamptz[],
  p_conditions jsonb[], p_condition_count smallint[], p_primary_id text[], p_primary_name text[],
  p_primary_confidence double precision[], p_primary_band smallint[], p_primary_normal boolean[], p_secondary_id text[],
  p_secondary_name text[], p_secondary_confidence double precision[], p_secondary_band smallint[],
  p_secondary_normal boolean[], p_serious boolean[], p_consult boolean[], p_calls smallint[], p_call_ms int[],
  p_model text[], p_endpoint text[], p_version text)
RETURNS SETOF bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_held bigint[] := analysis.hold_batches(p_shard, p_worker, p_batches);
BEGIN
  IF cardinality(v_held) = 0 THEN
    RETURN;
  END IF;

  -- 1. Join what was given to what is held, and where the lease does not say whose a job is to the jobs by key; in
  --    job order, as cancel goes too. A lane is of one kind.
  RETURN QUERY
  INSERT INTO analysis.result (
    shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at, analysis_id, answered_at,
    primary_id, primary_name, primary_confidence, primary_band, primary_normal,
    secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal,
    serious, consult, condition_count, conditions, endpoint, model, version, call_ms)
  SELECT p_shard, h.period, h.job_id, coalesce(h.user_id, j.user_id), h.lane / 4, 1, ((h.tries & 255) + 1)::smallint, g.calls, v_now, g.analysis_id, g.answered_at,
    g.primary_id, g.primary_name, g.primary_confidence, g.primary_band, g.primary_normal,
    g.secondary_id, g.secondary_name, g.secondary_confidence, g.secondary_band, g.secondary_normal,
    g.serious, g.consult, g.condition_count, g.conditions, g.endpoint, g.model, p_version, g.call_ms
  FROM unnest(
    p_jobs, p_analysis_id, p_answered_at, p_conditions, p_condition_count, p_primary_id, p_primary_name,
    p_primary_confidence, p_primary_band, p_primary_normal, p_secondary_id, p_secondary_name, p_secondary_confidence,
    p_secondary_band, p_secondary_normal, p_serious, p_consult, p_calls, p_call_ms, p_model, p_endpoint)
    AS g(job_id, analysis_id, answered_at, conditions, condition_count, primary_id, primary_name,
    primary_confidence, primary_band, primary_normal, secondary_id, secondary_name, secondary_confidence,
    secondary_band, secondary_normal, serious, consult, calls, call_ms, model, endpoint)
  JOIN analysis.leased_jobs(p_shard, v_held) h ON h.job_id = g.job_id
  LEFT JOIN LATERAL (
    SELECT k.user_id FROM analysis.job k
    WHERE h.user_id IS NULL AND k.shard = p_shard AND k.period = h.period AND k.id = h.job_id OFFSET 0) j ON true
  ORDER BY h.job_id
  ON CONFLICT (shard, period, job_id) DO NOTHING
  RETURNING job_id;

  -- 2. What was given is settled, also what a cancellation had ended first.
  PERFORM analysis.settle_batches(p_shard, v_held, p_jobs);
END $$;
