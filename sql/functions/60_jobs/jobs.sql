-- Looking at jobs. Functions run as the owner, whom no rule of the rows concerns: each asks by itself
-- which clinics' users its caller sees.

-- The roles that see everybody's jobs, and of these the ones that read results.
CREATE OR REPLACE FUNCTION analysis.job_readers() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT '{operator,clinician,reviewer}'::text[]
$$;

CREATE OR REPLACE FUNCTION analysis.result_readers() RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT '{clinician,reviewer}'::text[]
$$;

-- Whose jobs the login may name: NULL: everybody's, as the owner may and who has one of these roles; else
-- those that the login itself has submitted, by its numbers.
CREATE OR REPLACE FUNCTION analysis.own_submitters(p_roles text[]) RETURNS smallint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF analysis.login_has(p_roles) THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(SELECT s.id FROM analysis.submitter s WHERE s.login = session_user);
END $$;
DROP FUNCTION IF EXISTS analysis.own_submitter(text[]);

-- The months of jobs, of those of some submitters where there are such. Called by functions, which know whose
-- jobs they may answer.
DROP FUNCTION IF EXISTS analysis.locate_of(smallint, bigint[], smallint);
CREATE OR REPLACE FUNCTION analysis.locate_of(p_shard smallint, p_jobs bigint[], p_submitters smallint[])
RETURNS TABLE (o_job bigint, o_period smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  PERFORM analysis.require_at_most(100000, p_jobs, 'jobs');
  RETURN QUERY
  SELECT j.id, j.period
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i ORDER BY 1) g
  CROSS JOIN LATERAL (
    SELECT f.id, f.period FROM (SELECT m.period FROM analysis.partition_made m ORDER BY m.period DESC) m
    CROSS JOIN LATERAL (
      SELECT k.id, k.period FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = m.period AND k.id = g.id
        AND (p_submitters IS NULL OR k.submitter = ANY (p_submitters)) OFFSET 0) f
    LIMIT 1) j;
END $$;

-- The months of jobs; a number that is unknown, or another back-end's, is not answered. Newest months first
-- for each.
CREATE OR REPLACE FUNCTION analysis.locate(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_period smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT l.o_job, l.o_period
  FROM analysis.locate_of(p_shard, p_jobs, analysis.own_submitters(analysis.job_readers())) l;
END $$;
COMMENT ON FUNCTION analysis.locate IS
  'Answers in which month each of some jobs of one shard is; what is unknown or another''s is left out.';

-- A job's attempts that failed, of whoever's job; called by functions. In whatever month they were
-- written: a retry moves a job to the present month and its history stays.
CREATE OR REPLACE FUNCTION analysis.attempts_of(p_shard smallint, p_job bigint)
RETURNS SETOF analysis.attempt_error
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  RETURN QUERY
  SELECT e.* FROM analysis.partition_made m
  CROSS JOIN LATERAL (
    SELECT a.* FROM analysis.attempt_error a
    WHERE a.shard = p_shard AND a.period = m.period AND a.job_id = p_job OFFSET 0) e
  ORDER BY e.at, e.attempt;
END $$;

-- Whether a user is of one of these clinics; NULL: all are seen.
CREATE OR REPLACE FUNCTION analysis.is_seen(p_clinics int[], p_shard smallint, p_user bigint) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT p_clinics IS NULL OR EXISTS (
    SELECT FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_id = p_user AND a.clinic_id = ANY (p_clinics))
$$;

-- A job's attempts that failed, in order.
CREATE OR REPLACE FUNCTION analysis.job_attempts(p_shard smallint, p_job bigint)
RETURNS SETOF analysis.attempt_error
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shared bigint[] := analysis.users_shared(v_seen, p_shard);
BEGIN
  RETURN QUERY
  SELECT e.* FROM analysis.attempts_of(p_shard, p_job) e
  WHERE analysis.is_seen(v_seen, e.shard, e.user_id) OR e.user_id = ANY (v_shared)
  ORDER BY e.at, e.attempt;
END $$;
COMMENT ON FUNCTION analysis.job_attempts IS
  'Answers the failed attempts of a job, in order.';

-- The same with the machine and process of each worker that is still known.
CREATE OR REPLACE FUNCTION analysis.attempts_shown(p_shard smallint, p_job bigint)
RETURNS TABLE (
  o_attempt smallint, o_at timestamptz, o_class text, o_code text, o_message text, o_error_id text,
  o_status smallint, o_calls smallint, o_maybe_counted boolean, o_consumed boolean, o_endpoint text,
  o_worker bigint, o_host text, o_pid int)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.attempt, a.at, a.class, a.code, a.message, a.error_id, a.status, a.calls, a.maybe_counted,
    a.consumed, a.endpoint, a.worker_id, w.host, w.pid
  FROM analysis.job_attempts(p_shard, p_job) a
  LEFT JOIN analysis.worker w ON w.shard = p_shard AND w.id = a.worker_id
  ORDER BY a.at, a.attempt
$$;
COMMENT ON FUNCTION analysis.attempts_shown IS
  'Answers the failed attempts of a job, in order, with the workers by machine and process.';

-- Why a job is dead.
CREATE OR REPLACE FUNCTION analysis.job_death(p_shard smallint, p_job bigint) RETURNS SETOF analysis.dead
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shared bigint[] := analysis.users_shared(v_seen, p_shard);
BEGIN
  RETURN QUERY
  SELECT d.* FROM analysis.dead d
  WHERE d.shard = p_shard AND d.job_id = p_job
    AND (analysis.is_seen(v_seen, d.shard, d.user_id) OR d.user_id = ANY (v_shared));
END $$;
COMMENT ON FUNCTION analysis.job_death IS
  'Answers why a job is dead.';

-- Jobs of one month by their numbers.
CREATE OR REPLACE FUNCTION analysis.jobs_shown(p_shard smallint, p_period smallint, p_jobs bigint[])
RETURNS TABLE (
  o_job bigint, o_period smallint, o_user text, o_kind smallint, o_lane smallint, o_state text,
  o_created_at timestamptz,
  o_run_at timestamptz, o_expires_at timestamptz, o_finished_at timestamptz, o_attempts smallint,
  o_source_name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shared bigint[] := analysis.users_shared(v_seen, p_shard);
BEGIN
  PERFORM analysis.require_at_most(100000, p_jobs, 'jobs');
  RETURN QUERY
  SELECT v.job_id, v.period, v.user_ref, v.kind, v.lane, v.state, v.created_at, v.run_at, v.expires_at,
         v.finished_at, v.attempts, v.source_name
  FROM analysis.job_status v
  WHERE v.shard = p_shard AND v.period = p_period AND v.job_id = ANY (p_jobs)
    AND (analysis.is_seen(v_seen, v.shard, v.user_id) OR v.user_id = ANY (v_shared));
END $$;
COMMENT ON FUNCTION analysis.jobs_shown IS
  'Answers some jobs of one shard and month by their numbers.';

-- Which of some jobs of one month have ended, and how; a back-end is told of its own.
CREATE OR REPLACE FUNCTION analysis.jobs_ended(p_shard smallint, p_period smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_state text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_submitters smallint[] := analysis.own_submitters(analysis.job_readers());
BEGIN
  PERFORM analysis.require_at_most(100000, p_jobs, 'jobs');
  IF v_submitters IS NOT NULL THEN
    p_jobs := ARRAY(
      SELECT k.id FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = p_period AND k.id = ANY (p_jobs)
        AND k.submitter = ANY (v_submitters));
  END IF;
  RETURN QUERY
  SELECT r.job_id, CASE r.outcome WHEN 1 THEN 'succeeded' ELSE 'cancelled' END
  FROM analysis.result r
  WHERE r.shard = p_shard AND r.period = p_period AND r.job_id = ANY (p_jobs)
    AND analysis.is_seen(v_seen, r.shard, r.user_id)
  UNION ALL
  SELECT d.job_id, 'dead' FROM analysis.dead d
  WHERE d.shard = p_shard AND d.job_id = ANY (p_jobs) AND analysis.is_seen(v_seen, d.shard, d.user_id);
END $$;
COMMENT ON FUNCTION analysis.jobs_ended IS
  'Answers which of some jobs of one shard and month have ended, and how.';

-- How many jobs of a shard are dead, and how many units are to be refunded. Counting stops at p_limit.
CREATE OR REPLACE FUNCTION analysis.dead_counts(p_shard smallint, p_limit int)
RETURNS TABLE (o_dead int, o_refunds int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  PERFORM analysis.require_argument(p_limit BETWEEN 0 AND 1000001, 'counting stops at 1000001 at most');
  IF v_seen IS NULL THEN
    SELECT count(*) INTO o_dead FROM (
      SELECT FROM analysis.dead d WHERE d.shard = p_shard LIMIT p_limit) g;
  ELSE
    -- By the users of the clinics: the dead jobs of all others may be many.
    SELECT count(*) INTO o_dead FROM (
      SELECT
      FROM analysis.account a
      CROSS JOIN LATERAL (
        SELECT FROM analysis.dead d WHERE d.shard = p_shard AND d.user_id = a.user_id OFFSET 0) d
      WHERE a.shard = p_shard AND a.clinic_id = ANY (v_seen)
      LIMIT p_limit) g;
  END IF;
  SELECT count(*) INTO o_refunds FROM (
    SELECT FROM analysis.refund f
    WHERE f.shard = p_shard AND (v_seen IS NULL OR analysis.is_seen(v_seen, f.shard, f.user_id))
    LIMIT p_limit) g;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.dead_counts IS
  'Answers how many jobs of a shard are dead and how many refunds are pending, up to a bound.';

-- Why jobs have died since a moment, the most frequent cause first, with the last job of each.
CREATE OR REPLACE FUNCTION analysis.dead_causes(p_since timestamptz, p_limit int)
RETURNS TABLE (o_class text, o_code text, o_count bigint, o_job bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  PERFORM analysis.require_argument(p_limit BETWEEN 0 AND 1000001, 'counting stops at 1000001 at most');
  RETURN QUERY
  SELECT d.class, d.code, count(*), max(d.job_id) FROM analysis.dead d
  WHERE d.failed_at > p_since AND (v_seen IS NULL OR analysis.is_seen(v_seen, d.shard, d.user_id))
  GROUP BY d.class, d.code ORDER BY 3 DESC, 1, 2 LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.dead_causes IS
  'Answers why jobs died since a moment, the most frequent cause first.';
