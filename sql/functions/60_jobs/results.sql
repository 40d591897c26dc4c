-- Results of analyses, as back-ends and `jobs show` read them.

-- Records that results of a user are read, and answers what results_of asks for once that is committed.
-- NULL: none of these jobs is this user's and has an analysis, or the caller is a back-end and has submitted
-- none of them, or the user is of no clinic that the caller sees and does not share with the login either.
-- The entry names the share, where there is one. Results of persons who were erased tell nothing.
CREATE OR REPLACE FUNCTION analysis.open_results(p_user text, p_jobs bigint[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint := analysis.shard_of(p_user);
  v_user bigint;
  v_share bigint;
  v_jobs bigint[];
BEGIN
  IF cardinality(p_jobs) > 1000 THEN
    RAISE EXCEPTION 'results of % jobs are more than one entry of the audit names', cardinality(p_jobs)
      USING ERRCODE = '22023', HINT = 'Open at most 1000 at a time.';
  END IF;
  SELECT a.user_id INTO v_user FROM analysis.account a
  WHERE a.shard = v_shard AND a.user_ref = normalize(p_user)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen)
         OR a.user_id = ANY (analysis.users_shared(v_seen, v_shard)));
  v_share := analysis.share_with_login(v_shard, v_user);
  v_jobs := ARRAY(
    SELECT l.o_job
    FROM analysis.locate_of(v_shard, p_jobs, analysis.own_submitters(analysis.result_readers())) l
    CROSS JOIN LATERAL (
      SELECT k.user_id, k.outcome, k.condition_count FROM analysis.result k
      WHERE k.shard = v_shard AND k.period = l.o_period AND k.job_id = l.o_job OFFSET 0) r
    WHERE r.user_id = v_user AND r.outcome = 1 AND r.condition_count IS NOT NULL
    ORDER BY 1);
  IF cardinality(v_jobs) = 0 THEN
    RETURN NULL;
  END IF;
  RETURN analysis.open_reading(
    'read_result', CASE cardinality(v_jobs) WHEN 1 THEN 'job:' || v_jobs[1] ELSE 'jobs' END,
    jsonb_build_object('shard', v_shard, 'jobs', to_jsonb(v_jobs), 'users', jsonb_build_array(v_user))
      || jsonb_strip_nulls(jsonb_build_object('share', v_share)));
END $$;
COMMENT ON FUNCTION analysis.open_results IS
  'Records that results of a user are read; answers what results_of asks for.';

-- The results of a user that a reading has opened.
CREATE OR REPLACE FUNCTION analysis.results_of(p_user text, p_reading text) RETURNS TABLE (
  user_ref text, job_id bigint, period smallint, kind text, analysis_id text, finished_at timestamptz,
  answered_at timestamptz,
  primary_id text, primary_name text, primary_confidence double precision, primary_band text,
  primary_normal boolean,
  secondary_id text, secondary_name text, secondary_confidence double precision, secondary_band text,
  secondary_normal boolean,
  serious boolean, consult boolean, endpoint_serious boolean, endpoint_consult boolean,
  condition_count smallint, conditions jsonb, endpoint text, model text, version text,
  attempt smallint, calls smallint, call_ms int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint := analysis.shard_of(p_user);
  v_detail jsonb := analysis.require_reading('read_result', NULL, p_reading);
  v_user bigint;
BEGIN
  SELECT a.user_id INTO v_user FROM analysis.account a
  WHERE a.shard = v_shard AND a.user_ref = normalize(p_user)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen)
         OR a.user_id = ANY (analysis.users_shared(v_seen, v_shard)));
  RETURN QUERY
  SELECT p_user, r.job_id, r.period, CASE r.kind WHEN 1 THEN 'throat' WHEN 2
    THEN 'ear' END, r.analysis_id, r.finished_at,
    r.answered_at, r.primary_id, r.primary_name, r.primary_confidence,
    (ARRAY['green', 'yellow', 'orange', 'red'])[r.primary_band], r.primary_normal,
    r.secondary_id, r.secondary_name, r.secondary_confidence,
    (ARRAY['green', 'yellow', 'orange', 'red'])[r.secondary_band], r.secondary_normal,
    r.serious, r.consult, r.endpoint_serious, r.endpoint_consult, r.condition_count, r.conditions, r.endpoint,
    r.model, r.version, r.attempt, r.calls, r.call_ms
  FROM analysis.locate_of(
    v_shard, ARRAY(SELECT j::bigint FROM jsonb_array_elements_text(v_detail -> 'jobs') j),
    analysis.own_submitters(analysis.result_readers())) l
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.result k
    WHERE k.shard = v_shard AND k.period = l.o_period AND k.job_id = l.o_job OFFSET 0) r
  WHERE r.user_id = v_user AND r.outcome = 1 AND r.condition_count IS NOT NULL
  ORDER BY r.job_id;
END $$;
COMMENT ON FUNCTION analysis.results_of IS
  'Answers the results whose reading open_results has recorded.';

-- The same for a back-end: what was found, without what only the queue needs; months as they are written,
-- and bands by their names, of all conditions.
CREATE OR REPLACE FUNCTION analysis.analyses_of(p_user text, p_reading text) RETURNS TABLE (
  job_id bigint, kind text, month text, analysis_id text, finished_at timestamptz, answered_at timestamptz,
  primary_id text, primary_name text, primary_confidence double precision, primary_band text,
  primary_normal boolean,
  secondary_id text, secondary_name text, secondary_confidence double precision, secondary_band text,
  secondary_normal boolean,
  serious boolean, consult boolean, endpoint_serious boolean, endpoint_consult boolean, conditions jsonb,
  endpoint text, model text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT r.job_id, r.kind, analysis.period_text(r.period), r.analysis_id, r.finished_at, r.answered_at,
    r.primary_id, r.primary_name, r.primary_confidence, r.primary_band, r.primary_normal,
    r.secondary_id, r.secondary_name, r.secondary_confidence, r.secondary_band, r.secondary_normal,
    r.serious, r.consult, r.endpoint_serious, r.endpoint_consult,
    (SELECT coalesce(
       jsonb_agg(
         c.value || jsonb_build_object(
           'band', (ARRAY['green', 'yellow', 'orange', 'red'])[(c.value ->> 'band')::int])
         ORDER BY c.position), '[]')
     FROM jsonb_array_elements(r.conditions) WITH ORDINALITY c(value, position)),
    r.endpoint, r.model
  FROM analysis.results_of(p_user, p_reading) r
$$;
COMMENT ON FUNCTION analysis.analyses_of IS
  'Answers what was found in jobs whose reading open_results has recorded, with bands by their names.';
