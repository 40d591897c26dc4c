-- Looking at batches, and finding the jobs of one, or those with a reference.
--
-- A back-end sees the batches that its login has made; operators and clinicians all of them; a role that is
-- restricted to clinics those with a job of its clinics' users, and of them only such jobs are counted.

-- Batches, the newest first: those before p_before (NULL: from the newest on), or one alone.
CREATE OR REPLACE FUNCTION analysis.list_batches(p_batch bigint, p_before bigint, p_limit int)
RETURNS TABLE (o_batch bigint, o_name text, o_created_at timestamptz, o_login name, o_refused int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_submitter smallint := analysis.own_submitter('{operator,clinician}');
BEGIN
  PERFORM analysis.require_argument(
    p_limit BETWEEN 1 AND 1000, 'a list has from 1 to 1000 batches');
  RETURN QUERY
  SELECT b.id, b.name, b.created_at, s.login, CASE WHEN v_seen IS NULL THEN
      (SELECT count(*)::int FROM analysis.batch_refusal f WHERE f.batch_id = b.id) END
  FROM analysis.batch b
  LEFT JOIN analysis.submitter s ON s.id = b.submitter
  WHERE (p_batch IS NULL OR b.id = p_batch) AND (p_before IS NULL OR b.id < p_before)
    AND (v_submitter IS NULL OR b.submitter = v_submitter)
    AND (v_seen IS NULL OR EXISTS (
      SELECT FROM analysis.all_shards() h
      CROSS JOIN LATERAL (
        SELECT l.user_id FROM analysis.job_label l WHERE l.shard = h.o_shard AND l.batch_id = b.id OFFSET 0) l
      WHERE analysis.is_seen(v_seen, h.o_shard, l.user_id)))
  ORDER BY b.id DESC LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.list_batches IS
  'Answers batches, the newest first, that the caller may see.';

-- How far batches are in one shard: their jobs, and those of them that have ended, and how; how many ended
-- in the last minute, and when the last did. A batch that the caller may not see has no row.
CREATE OR REPLACE FUNCTION analysis.batch_counts(p_shard smallint, p_batches bigint[])
RETURNS TABLE (
  o_batch bigint, o_jobs bigint, o_succeeded bigint, o_dead bigint, o_cancelled bigint, o_lately bigint,
  o_last_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
  v_since timestamptz := clock_timestamp() - interval '1 minute';
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_submitter smallint := analysis.own_submitter('{operator,clinician}');
BEGIN
  PERFORM analysis.require_argument(
    coalesce(cardinality(p_batches), 0) <= 1000, 'at most 1000 batches are named in a call');
  RETURN QUERY
  SELECT b.id, count(*), count(*) FILTER (WHERE r.outcome = 1), count(d.failed_at),
    count(*) FILTER (WHERE r.outcome = 2),
    count(*) FILTER (WHERE coalesce(r.finished_at, d.failed_at) > v_since),
    max(coalesce(r.finished_at, d.failed_at))
  FROM (SELECT DISTINCT i AS id FROM unnest(p_batches) i) b
  CROSS JOIN LATERAL (
    SELECT l.period, l.job_id, l.user_id FROM analysis.job_label l
    WHERE l.shard = p_shard AND l.batch_id = b.id OFFSET 0) l
  LEFT JOIN LATERAL (
    SELECT f.outcome, f.finished_at FROM analysis.result f
    WHERE f.shard = p_shard AND f.period = l.period AND f.job_id = l.job_id OFFSET 0) r ON true
  LEFT JOIN LATERAL (
    SELECT x.failed_at FROM analysis.dead x
    WHERE r.outcome IS NULL AND x.shard = p_shard AND x.job_id = l.job_id OFFSET 0) d ON true
  WHERE (v_submitter IS NULL
      OR (SELECT t.submitter FROM analysis.batch t WHERE t.id = b.id) = v_submitter)
    AND (v_seen IS NULL OR analysis.is_seen(v_seen, p_shard, l.user_id))
  GROUP BY b.id;
END $$;
COMMENT ON FUNCTION analysis.batch_counts IS
  'Answers how many jobs of each of some batches one shard has, and how they ended.';

-- Why jobs of a batch in one shard are dead, the most frequent cause first, with the last job of each.
CREATE OR REPLACE FUNCTION analysis.batch_causes(p_shard smallint, p_batch bigint, p_limit int)
RETURNS TABLE (o_class text, o_code text, o_count bigint, o_job bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET enable_seqscan = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_submitter smallint := analysis.own_submitter('{operator,clinician}');
BEGIN
  PERFORM analysis.require_argument(p_limit BETWEEN 1 AND 1000, 'from 1 to 1000 causes are answered');
  RETURN QUERY
  SELECT d.class, d.code, count(*), max(d.job_id)
  FROM analysis.job_label l
  CROSS JOIN LATERAL (
    SELECT x.class, x.code, x.job_id FROM analysis.dead x
    WHERE x.shard = p_shard AND x.job_id = l.job_id OFFSET 0) d
  WHERE l.shard = p_shard AND l.batch_id = p_batch
    AND (v_submitter IS NULL
      OR (SELECT t.submitter FROM analysis.batch t WHERE t.id = p_batch) = v_submitter)
    AND (v_seen IS NULL OR analysis.is_seen(v_seen, p_shard, l.user_id))
  GROUP BY d.class, d.code ORDER BY 3 DESC, 1, 2 LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.batch_causes IS
  'Answers why jobs of a batch are dead in one shard, the most frequent cause first.';

-- A page of the jobs of a batch, or of those with a reference, the latest month and the latest job first, in
-- the form of list_jobs. p_looks jobs are looked at; if that is not all of them, the last row has a
-- position and no state. A back-end finds what it has submitted itself.
CREATE OR REPLACE FUNCTION analysis.find_jobs(
  p_shard smallint, p_batch bigint, p_reference text, p_user text, p_state text, p_kind smallint,
  p_period smallint, p_before_period smallint, p_before_job bigint, p_limit int, p_looks int)
RETURNS TABLE (
  o_job bigint, o_period smallint, o_user text, o_kind smallint, o_lane smallint, o_state text,
  o_created_at timestamptz, o_run_at timestamptz, o_expires_at timestamptz, o_finished_at timestamptz,
  o_attempts int, o_source_name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET enable_seqscan = off AS $$
DECLARE
  v_limit int := least(greatest(p_limit, 1), 10001);
  v_looks int := least(greatest(p_looks, 1), 10000);
  v_submitter smallint := analysis.own_submitter('{operator,clinician}');
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_month smallint;
  v_found int;
  v_job bigint[];
  v_in smallint[];
BEGIN
  PERFORM analysis.require_argument(
    num_nonnulls(p_batch, p_reference) > 0, 'jobs are found by a batch or a reference');
  SELECT array_agg(t.job_id), array_agg(t.period) INTO v_job, v_in
  FROM (
    SELECT l.job_id, l.period FROM analysis.job_label l
    WHERE l.shard = p_shard AND (p_batch IS NULL OR l.batch_id = p_batch)
      AND (p_reference IS NULL OR l.reference = p_reference)
      AND (p_period IS NULL OR l.period = p_period)
      AND (p_before_period IS NULL OR (l.period, l.job_id) < (p_before_period, p_before_job))
      AND (v_submitter IS NULL OR v_submitter = (
        SELECT k.submitter FROM analysis.job k
        WHERE k.shard = p_shard AND k.period = l.period AND k.id = l.job_id))
      AND (v_seen IS NULL OR analysis.is_seen(v_seen, p_shard, l.user_id))
    ORDER BY l.period DESC, l.job_id DESC LIMIT v_looks) t;
  FOR v_month IN SELECT DISTINCT t.period FROM unnest(v_in) t(period) ORDER BY 1 DESC LOOP
    RETURN QUERY
    SELECT s.o_job, s.o_period, s.o_user, s.o_kind, s.o_lane, s.o_state, s.o_created_at, s.o_run_at,
      s.o_expires_at, s.o_finished_at, s.o_attempts::int, s.o_source_name
    FROM analysis.jobs_shown(
      p_shard, v_month,
      ARRAY(SELECT t.id FROM unnest(v_job, v_in) t(id, period) WHERE t.period = v_month)) s
    WHERE (p_user IS NULL OR s.o_user = p_user) AND (p_kind IS NULL OR s.o_kind = p_kind)
      AND (p_state IS NULL OR s.o_state = p_state)
    ORDER BY s.o_job DESC LIMIT v_limit;
    GET DIAGNOSTICS v_found = ROW_COUNT;
    v_limit := v_limit - v_found;
    IF v_limit <= 0 THEN
      RETURN;
    END IF;
  END LOOP;
  IF cardinality(v_job) = v_looks THEN
    o_job := v_job[v_looks];
    o_period := v_in[v_looks];
    o_user := NULL;
    RETURN NEXT;
  END IF;
END $$;
COMMENT ON FUNCTION analysis.find_jobs IS
  'Answers a page of the jobs of a batch or with a reference, of one shard, the latest first.';

-- The batch and the reference of a job.
CREATE OR REPLACE FUNCTION analysis.job_label_of(p_shard smallint, p_period smallint, p_job bigint)
RETURNS TABLE (o_batch bigint, o_reference text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  RETURN QUERY
  SELECT l.batch_id, l.reference FROM analysis.job_label l
  WHERE l.shard = p_shard AND l.period = p_period AND l.job_id = p_job
    AND (v_seen IS NULL OR analysis.is_seen(v_seen, l.shard, l.user_id));
END $$;
COMMENT ON FUNCTION analysis.job_label_of IS
  'Answers the batch and the reference of a job.';
