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
  v_ended bigint[] := '{}';            -- jobs that had ended before
  v_repeated int[] := '{}';            -- places of jobs that are named again in this call
  v_before int;
  v_stored bigint[];
BEGIN
  IF cardinality(v_held) = 0 THEN
    RETURN;
  END IF;

  -- 1. Join what was given to what is held; in job order, as cancel goes too. A lane is of one kind. That a job
  --    has ended already is rare (a cancellation of a running one came first), that one is named twice rarer still,
  --    and the key tells: then once more without those. To ask for each (ON CONFLICT) would be half as dear again as
  --    the insert itself.
  LOOP
    BEGIN
      WITH stored AS (
        INSERT INTO analysis.result (
          shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at, analysis_id, answered_at,
          primary_id, primary_name, primary_confidence, primary_band, primary_normal,
          secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal,
          serious, consult, condition_count, conditions, endpoint, model, version, call_ms)
        SELECT p_shard, h.period, h.job_id, h.user_id, h.lane / 4, 1, ((h.tries & 255) + 1)::smallint, g.calls, v_now, g.analysis_id, g.answered_at,
          g.primary_id, g.primary_name, g.primary_confidence, g.primary_band, g.primary_normal,
          g.secondary_id, g.secondary_name, g.secondary_confidence, g.secondary_band, g.secondary_normal,
          g.serious, g.consult, g.condition_count, g.conditions, g.endpoint, g.model, p_version, g.call_ms
        FROM (
          SELECT generate_series(1, cardinality(p_jobs)) AS place, unnest(p_jobs) AS job_id, unnest(p_analysis_id) AS analysis_id, unnest(p_answered_at) AS answered_at,
            unnest(p_conditions) AS conditions, unnest(p_condition_count) AS condition_count,
            unnest(p_primary_id) AS primary_id, unnest(p_primary_name) AS primary_name,
            unnest(p_primary_confidence) AS primary_confidence, unnest(p_primary_band) AS primary_band,
            unnest(p_primary_normal) AS primary_normal, unnest(p_secondary_id) AS secondary_id,
            unnest(p_secondary_name) AS secondary_name, unnest(p_secondary_confidence) AS secondary_confidence,
            unnest(p_secondary_band) AS secondary_band, unnest(p_secondary_normal) AS secondary_normal,
            unnest(p_serious) AS serious, unnest(p_consult) AS consult, unnest(p_calls) AS calls,
            unnest(p_call_ms) AS call_ms, unnest(p_model) AS model, unnest(p_endpoint) AS endpoint) g
        JOIN analysis.leased_jobs(p_shard, v_held) h ON h.job_id = g.job_id
        WHERE NOT (h.job_id = ANY (v_ended)) AND NOT (g.place = ANY (v_repeated))
        ORDER BY h.job_id
        RETURNING job_id)
      SELECT array_agg(s.job_id) INTO v_stored FROM stored s;
      EXIT;
    EXCEPTION WHEN unique_violation THEN
      v_before := cardinality(v_ended) + cardinality(v_repeated);
      v_ended := ARRAY(
        SELECT h.job_id FROM analysis.leased_jobs(p_shard, v_held) h
        CROSS JOIN LATERAL (
          SELECT 1 FROM analysis.result r
          WHERE r.shard = p_shard AND r.period = h.period AND r.job_id = h.job_id OFFSET 0) r);
      v_repeated := ARRAY(
        SELECT g.place FROM (
          SELECT j.place, row_number() OVER (PARTITION BY j.job_id ORDER BY j.place) AS nth
          FROM (SELECT generate_series(1, cardinality(p_jobs)) AS place, unnest(p_jobs) AS job_id) j) g
        WHERE g.nth > 1);
      -- Nothing new is known: it was another key, and once more would be so for ever.
      IF cardinality(v_ended) + cardinality(v_repeated) <= v_before THEN
        RAISE;
      END IF;
    END;
  END LOOP;

  -- 2. What was given is settled, also what a cancellation had ended first.
  PERFORM analysis.settle_batches(p_shard, v_held, p_jobs);
  RETURN QUERY SELECT unnest(v_stored);
END $$;
