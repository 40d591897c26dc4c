-- Whether results are given with all of it for each job, in texts of usual length: what all texts of a kind
-- are together is known at once. A part of what calls it.
CREATE OR REPLACE FUNCTION analysis.are_results(p_given analysis.given_results) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT (cardinality(p_given.jobs) <= 100000
    AND (('[1:' || cardinality(p_given.jobs) || ']') = ALL (ARRAY[
      array_dims(p_given.jobs), array_dims(p_given.leases), array_dims(p_given.analysis_id),
      array_dims(p_given.answered_at), array_dims(p_given.conditions), array_dims(p_given.condition_count),
      array_dims(p_given.primary_id), array_dims(p_given.primary_name),
      array_dims(p_given.primary_confidence), array_dims(p_given.primary_band),
      array_dims(p_given.primary_normal), array_dims(p_given.secondary_id),
      array_dims(p_given.secondary_name), array_dims(p_given.secondary_confidence),
      array_dims(p_given.secondary_band), array_dims(p_given.secondary_normal), array_dims(p_given.serious),
      array_dims(p_given.consult), array_dims(p_given.endpoint_serious),
      array_dims(p_given.endpoint_consult), array_dims(p_given.calls), array_dims(p_given.call_ms),
      array_dims(p_given.model), array_dims(p_given.endpoint)])) IS NOT FALSE
    AND cardinality(p_given.leases) = cardinality(p_given.jobs)
    AND coalesce(pg_column_size(p_given.analysis_id), 0) + coalesce(pg_column_size(p_given.primary_id), 0)
      + coalesce(pg_column_size(p_given.primary_name), 0)
      + coalesce(pg_column_size(p_given.secondary_id), 0)
      + coalesce(pg_column_size(p_given.secondary_name), 0) + coalesce(pg_column_size(p_given.model), 0)
      + coalesce(pg_column_size(p_given.endpoint), 0) <= 20000 * (1 + cardinality(p_given.jobs))
    AND coalesce(pg_column_size(p_given.conditions), 0)
      <= 2000000 + 1200000::bigint * cardinality(p_given.jobs)
    AND ('infinity' > ALL (p_given.answered_at) AND '-infinity' < ALL (p_given.answered_at)) IS NOT FALSE)
    IS TRUE
$$;

-- Of jobs that are given under leases, those that may be stored now, by the lease of each (NULL: not), and
-- those that are busy. Who ends a job has its row. Rows that can be had are held from here on, so that what
-- follows waits for nobody.
CREATE OR REPLACE FUNCTION analysis.free_jobs(
  p_shard smallint, p_held bigint[], p_leases bigint[], p_jobs bigint[], OUT o_of bigint[],
  OUT o_busy bigint[])
LANGUAGE plpgsql AS $$
BEGIN
  SELECT array_agg(CASE WHEN j.id IS NOT NULL AND r.job_id IS NULL AND g.nth = 1 THEN g.lease_id END
                   ORDER BY g.position),
         coalesce(array_agg(h.job_id) FILTER (WHERE j.id IS NULL AND h.job_id IS NOT NULL), '{}')
  INTO o_of, o_busy
  FROM (
    SELECT t.*, row_number() OVER (PARTITION BY t.job_id, t.lease_id ORDER BY t.position) AS nth
    FROM (SELECT generate_series(1, cardinality(p_jobs)) AS position, unnest(p_jobs) AS job_id,
                 unnest(p_leases) AS lease_id) t) g
  LEFT JOIN analysis.leased_jobs(p_shard, p_held) h ON h.job_id = g.job_id AND h.lease_id = g.lease_id
  LEFT JOIN LATERAL (
    SELECT k.id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = h.period AND k.id = h.job_id
    FOR NO KEY UPDATE SKIP LOCKED) j ON true
  LEFT JOIN LATERAL (
    SELECT f.job_id FROM analysis.result f
    WHERE f.shard = p_shard AND f.period = h.period AND f.job_id = h.job_id OFFSET 0) r ON true;
END $$;

-- Stores the results of analysed jobs and takes them out of their leases; answers the jobs whose result
-- was stored now, and those that are busy. p_leases[i] is the lease under which p_jobs[i] ran. Which of
-- the jobs count, and their month, user, type and attempt, the database decides: a job that is not in that
-- lease, or not in a lease of this worker, or was cancelled first, is not stored. A row that breaks a
-- constraint, or conditions that are no JSON (so they come as text), fail the whole call by the names of the
-- columns: what was found goes into no message and not into the server's log.
--
-- p_serious[i] is the highest confidence of a condition that has the flag and is not normal: from the
-- setting consult_from on the analysis is serious. It is -1 where there is no such condition, and NULL where
-- no condition says. p_consult is alike. The endpoint's flags are stored as they are given.
--
-- A job is busy while somebody else's open transaction holds it, a cancellation above all: it stays in its
-- lease, and the caller comes again. The call waits for such a transaction once, for as long as
-- lock_timeout says, and then stores the others. p_known_busy: it does not wait at all, for jobs that were
-- busy before.
CREATE OR REPLACE FUNCTION analysis.complete(
  p_shard smallint, p_worker bytea, p_leases bigint[], p_jobs bigint[], p_analysis_id text[],
  p_answered_at timestamptz[], p_conditions text[], p_condition_count smallint[], p_primary_id text[],
  p_primary_name text[], p_primary_confidence double precision[], p_primary_band smallint[],
  p_primary_normal boolean[], p_secondary_id text[], p_secondary_name text[],
  p_secondary_confidence double precision[], p_secondary_band smallint[],
  p_secondary_normal boolean[], p_serious double precision[], p_consult double precision[],
  p_endpoint_serious boolean[], p_endpoint_consult boolean[], p_calls smallint[], p_call_ms int[],
  p_model text[], p_endpoint text[], p_version text, p_known_busy boolean DEFAULT false,
  OUT o_stored bigint[], OUT o_busy bigint[])
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '1500ms'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_held bigint[];
  v_of bigint[] := p_leases;          -- p_leases with NULL for each job that is left out
  v_looks boolean := p_known_busy;     -- whether what is to be left out is looked for
  v_left int;                          -- how many are not left out, and how many were not the last time
  v_before int;
  v_table text;                        -- of a row that was refused, and for what
  v_rule text;
  v_column text;
  v_from float8 := (SELECT s.value::float8 FROM analysis.setting s WHERE s.name = 'consult_from');
  v_is_told boolean;                   -- whether there is a webhook
BEGIN
  IF (p_shard IS NOT NULL AND octet_length(p_worker) = 32 AND length(p_version) <= 60
      AND p_known_busy IS NOT NULL AND analysis.are_results(
        ROW(p_leases, p_jobs, p_analysis_id, p_answered_at, p_conditions, p_condition_count, p_primary_id,
          p_primary_name, p_primary_confidence, p_primary_band, p_primary_normal, p_secondary_id,
          p_secondary_name, p_secondary_confidence, p_secondary_band, p_secondary_normal, p_serious,
          p_consult, p_endpoint_serious, p_endpoint_consult, p_calls, p_call_ms, p_model, p_endpoint
        )::analysis.given_results)) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'each job is given together with its lease, and what is stored of it, in texts of usual length');
  END IF;
  v_held := analysis.lock_leases(p_shard, analysis.worker_number(p_worker), p_leases);
  o_stored := '{}';
  o_busy := '{}';
  IF cardinality(v_held) = 0 THEN
    RETURN;
  END IF;

  -- 1. Join what was given to what is held; in job order, as cancel goes too. A lane is of one type. That
  --    a job has ended already is rare (a cancellation of a running one came first), that one is named twice
  --    rarer still, and that somebody is ending one just now too. The key tells, or the wait for it: then
  --    once more without those. To ask for each (ON CONFLICT) would be half as dear again as the insert
  --    itself.
  LOOP
    IF v_looks THEN
      SELECT f.o_of, f.o_busy INTO v_of, o_busy
      FROM analysis.free_jobs(p_shard, v_held, p_leases, p_jobs) f;
      v_left := cardinality(array_remove(v_of, NULL));
    END IF;
    BEGIN
      WITH stored AS (
        INSERT INTO analysis.result (
          shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at, analysis_id,
          answered_at, primary_id, primary_name, primary_confidence, primary_band, primary_normal,
          secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal,
          serious, consult, endpoint_serious, endpoint_consult, condition_count, conditions, endpoint, model,
          version, call_ms)
        SELECT p_shard, h.period, h.job_id, h.user_id, analysis.kind_of(h.lane), 1,
          (analysis.attempts_of(h.tries) + 1)::smallint, g.calls, v_now, g.analysis_id, g.answered_at,
          g.primary_id, g.primary_name, g.primary_confidence, g.primary_band, g.primary_normal,
          g.secondary_id, g.secondary_name, g.secondary_confidence, g.secondary_band, g.secondary_normal,
          g.serious >= v_from, g.consult >= v_from, g.endpoint_serious, g.endpoint_consult,
          g.condition_count, g.conditions::jsonb, g.endpoint, g.model, p_version, g.call_ms
        FROM (
          SELECT unnest(p_jobs) AS job_id, unnest(v_of) AS lease_id, unnest(p_analysis_id) AS analysis_id,
            unnest(p_answered_at) AS answered_at, unnest(p_conditions) AS conditions,
            unnest(p_condition_count) AS condition_count,
            unnest(p_primary_id) AS primary_id, unnest(p_primary_name) AS primary_name,
            unnest(p_primary_confidence) AS primary_confidence, unnest(p_primary_band) AS primary_band,
            unnest(p_primary_normal) AS primary_normal, unnest(p_secondary_id) AS secondary_id,
            unnest(p_secondary_name) AS secondary_name,
            unnest(p_secondary_confidence) AS secondary_confidence,
            unnest(p_secondary_band) AS secondary_band, unnest(p_secondary_normal) AS secondary_normal,
            unnest(p_serious) AS serious, unnest(p_consult) AS consult,
            unnest(p_endpoint_serious) AS endpoint_serious, unnest(p_endpoint_consult) AS endpoint_consult,
            unnest(p_calls) AS calls, unnest(p_call_ms) AS call_ms, unnest(p_model) AS model,
            unnest(p_endpoint) AS endpoint) g
        JOIN analysis.leased_jobs(p_shard, v_held) h ON h.job_id = g.job_id AND h.lease_id = g.lease_id
        ORDER BY h.job_id
        RETURNING job_id)
      SELECT coalesce(array_agg(s.job_id), '{}'), EXISTS (SELECT FROM analysis.webhook)
      INTO o_stored, v_is_told FROM stored s;
      EXIT;
    EXCEPTION WHEN unique_violation OR lock_not_available OR deadlock_detected THEN
      -- It was no job's row that was waited for; or nothing new is known: it was another key, and would be
      -- so for ever.
      IF v_looks AND (SQLSTATE <> '23505' OR v_left = v_before) THEN
        RAISE;
      END IF;
      v_before := v_left;
      v_looks := true;
    WHEN check_violation OR not_null_violation THEN
      GET STACKED DIAGNOSTICS v_table = TABLE_NAME, v_rule = CONSTRAINT_NAME, v_column = COLUMN_NAME;
      PERFORM analysis.refuse_value(v_table, v_rule, v_column);
    WHEN data_exception THEN
      PERFORM analysis.refuse_value('result', '', 'conditions');
    END;
  END LOOP;

  -- 2. The events for webhooks, where there is one.
  IF v_is_told THEN
    PERFORM analysis.note_results(p_shard, v_now, v_held, o_stored);
  END IF;

  -- 3. What was given leaves the leases, also what a cancellation had ended first.
  PERFORM analysis.end_leases(p_shard, v_held, p_leases, p_jobs, o_busy);
END $$;
COMMENT ON FUNCTION analysis.complete IS
  'Stores results of jobs that a worker holds; answers those stored and those that are busy.';
