-- How a back-end learns what became of a job: it asks, or waits for the end.

-- Where jobs are, and why, of whoever's jobs; of those of some submitters where there are such. Called by
-- functions, which know whose jobs they may answer.
CREATE OR REPLACE FUNCTION analysis.states_of(p_shard smallint, p_jobs bigint[], p_submitters smallint[])
RETURNS TABLE (
  o_job bigint, o_user bigint, o_state text, o_reason text, o_message text, o_attempts int,
  o_max_attempts int, o_created_at timestamptz, o_run_at timestamptz, o_failed_at timestamptz,
  o_finished_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  RETURN QUERY
  WITH held AS MATERIALIZED (
    SELECT j.id FROM analysis.lease h
    CROSS JOIN LATERAL unnest(h.job_ids) j(id)
    WHERE h.shard = p_shard AND h.job_ids && p_jobs AND j.id = ANY (p_jobs))
  SELECT l.o_job, j.user_id,
    CASE WHEN r.outcome = 1 THEN 'succeeded'
         WHEN r.outcome = 2 THEN 'cancelled'
         WHEN d.failed_at IS NOT NULL THEN 'dead'
         WHEN b.is_held THEN 'running'
         WHEN s.run_at IS NOT NULL THEN 'scheduled'
         ELSE 'waiting' END,
    CASE WHEN r.outcome IS NULL THEN coalesce(d.class, e.class) END,
    CASE WHEN r.outcome IS NULL THEN coalesce(d.message, e.message) END,
    CASE WHEN r.outcome = 1 THEN r.attempt::int
         WHEN d.failed_at IS NOT NULL THEN d.attempts::int
         ELSE coalesce(e.consumed, 0) END,
    j.max_attempts::int, j.created_at,
    CASE WHEN r.outcome IS NULL AND d.failed_at IS NULL THEN s.run_at END,
    e.at, coalesce(r.finished_at, d.failed_at)
  FROM analysis.locate_of(p_shard, p_jobs, p_submitters) l
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.max_attempts, k.created_at FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job OFFSET 0) j
  LEFT JOIN LATERAL (
    SELECT f.outcome, f.attempt, f.finished_at FROM analysis.result f
    WHERE f.shard = p_shard AND f.period = l.o_period AND f.job_id = l.o_job OFFSET 0) r ON true
  LEFT JOIN LATERAL (
    SELECT x.class, x.message, x.attempts, x.failed_at FROM analysis.dead x
    WHERE r.outcome IS NULL AND x.shard = p_shard AND x.job_id = l.o_job OFFSET 0) d ON true
  LEFT JOIN LATERAL (
    SELECT true AS is_held FROM held h WHERE r.outcome IS NULL AND h.id = l.o_job LIMIT 1) b ON true
  LEFT JOIN LATERAL (
    SELECT q.run_at FROM analysis.scheduled q
    WHERE r.outcome IS NULL AND q.shard = p_shard AND q.period = l.o_period AND q.job_id = l.o_job
    LIMIT 1) s ON true
  LEFT JOIN LATERAL (
    -- What has failed since the job came to its month, as lists of jobs count it.
    SELECT k.class, k.message, k.at, count(*) FILTER (WHERE k.consumed) OVER ()::int AS consumed
    FROM analysis.attempt_error k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.job_id = l.o_job
    ORDER BY k.at DESC, k.attempt DESC LIMIT 1) e ON true;
END $$;

-- Where a job of a user is, and why. A back-end is told of the jobs that it has submitted itself; of any
-- other, as of one that there is not, there is no row. The reason is why it died, or why its last attempt
-- failed while it may still be tried again; once it was queued again in the same month, also one before that.
CREATE OR REPLACE FUNCTION analysis.job_state(p_user text, p_job bigint)
RETURNS TABLE (
  state text, reason text, message text, attempts int, max_attempts int, created_at timestamptz,
  run_at timestamptz, failed_at timestamptz, finished_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint := analysis.shard_of(p_user);
  v_user bigint;
BEGIN
  SELECT a.user_id INTO v_user FROM analysis.account a
  WHERE a.shard = v_shard AND a.user_ref = normalize(p_user)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen));
  RETURN QUERY
  SELECT s.o_state, s.o_reason, s.o_message, s.o_attempts, s.o_max_attempts, s.o_created_at, s.o_run_at,
    s.o_failed_at, s.o_finished_at
  FROM analysis.states_of(v_shard, ARRAY[p_job], analysis.own_submitters(analysis.job_readers())) s
  WHERE s.o_user = v_user;
END $$;
COMMENT ON FUNCTION analysis.job_state IS
  'Answers where a job of a user is, why it failed, and when.';

-- Whether a caller's transaction is open, by what COMMIT was refused with. The server has one state for two
-- causes and words them in its own language; a function is always in somebody's transaction, so that its
-- COMMIT gives the words of that cause.
CREATE OR REPLACE FUNCTION analysis.is_open_transaction(p_refusal text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    COMMIT;
  EXCEPTION WHEN invalid_transaction_termination THEN
    RETURN p_refusal OPERATOR(pg_catalog.=) SQLERRM;
  END;
  RETURN false;
END $$;
COMMENT ON FUNCTION analysis.is_open_transaction IS
  'Answers whether a COMMIT was refused with these words since a transaction is open.';

-- Waits until a job of a user has ended, and answers its state; after the time limit, the state that it has
-- then. It commits before each look, ten times a second, so that no snapshot is older than that: a function
-- would hold one back for all that it waits, and with it what vacuum may remove. It runs with its caller's
-- rights and names the schema of all that it uses, operators too: a procedure that commits can have neither
-- its owner's rights nor a search path of its own.
CREATE OR REPLACE PROCEDURE analysis.wait_for(
  p_user text, p_job bigint, p_timeout interval DEFAULT '30 s', INOUT p_state text DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
  v_until pg_catalog.timestamptz;
BEGIN
  IF (p_timeout OPERATOR(pg_catalog.>=) '0 s'::pg_catalog.interval
      AND p_timeout OPERATOR(pg_catalog.<=) '30 s'::pg_catalog.interval) IS NOT TRUE THEN
    RAISE EXCEPTION 'a job is waited for from 0 to 30 seconds' USING ERRCODE = '22023',
      HINT = 'Call again where the job has not ended by then.';
  END IF;
  BEGIN
    COMMIT;
  EXCEPTION WHEN invalid_transaction_termination THEN
    IF analysis.is_open_transaction(SQLERRM) THEN
      RAISE EXCEPTION 'wait_for commits between its looks, and a transaction is open'
        USING ERRCODE = 'invalid_transaction_termination',
          HINT = 'Commit first and call it by itself (autocommit), or ask analysis.job_state now and then.';
    END IF;
  END;
  v_until := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) p_timeout;
  LOOP
    p_state := (SELECT s.state FROM analysis.job_state(p_user, p_job) s);
    IF p_state IS NULL THEN
      RAISE EXCEPTION 'there is no such job of this user that this login has submitted'
        USING ERRCODE = 'no_data_found';
    END IF;
    EXIT WHEN p_state OPERATOR(pg_catalog.=) ANY ('{succeeded,dead,cancelled}'::pg_catalog.text[])
      OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) v_until;
    COMMIT;
    PERFORM pg_catalog.pg_sleep(0.1);
    COMMIT;
  END LOOP;
END $$;
COMMENT ON PROCEDURE analysis.wait_for IS
  'Waits until a job of a user has ended, for 30 s at most; answers its state.';
