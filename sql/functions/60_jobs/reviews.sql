-- What clinicians say of analyses: whether they agree with what was found, and comments.
--
-- Locks: the account, as an erasure begins with it; then the job's row, which a purge takes or passes over.
-- So of two reviews of a job the second waits for the first, and none is added to what is being removed.

-- The name of a verdict by its number, and the other way round.
CREATE OR REPLACE FUNCTION analysis.verdict_name(p_verdict smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (ARRAY['agree', 'disagree', 'unsure'])[p_verdict]
$$;

CREATE OR REPLACE FUNCTION analysis.verdict_of(p_verdict text) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_position(ARRAY['agree', 'disagree', 'unsure'], p_verdict)::smallint
$$;

-- The month and the user of a job that the caller may review, locked. One that the caller does not see is
-- refused as one that there is not.
CREATE OR REPLACE FUNCTION analysis.lock_reviewed_job(
  p_shard smallint, p_job bigint, OUT o_period smallint, OUT o_user bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_is_erased boolean;
BEGIN
  PERFORM analysis.refuse_repeatable_read();
  SELECT j.period, j.user_id INTO o_period, o_user
  FROM analysis.locate_of(p_shard, ARRAY[p_job], NULL) l
  CROSS JOIN LATERAL (
    SELECT k.period, k.user_id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job OFFSET 0) j;
  SELECT a.erased_at IS NOT NULL INTO v_is_erased FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_id = o_user AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))
  FOR KEY SHARE;
  IF FOUND THEN
    PERFORM FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = o_period AND k.id = p_job FOR NO KEY UPDATE;
  END IF;
  PERFORM analysis.require_argument(
    FOUND, format('there is no job %s, or login %s may not see it', p_job, session_user));
  PERFORM analysis.require_argument(
    NOT v_is_erased, format('the person of job %s was erased, and the analysis with them', p_job));
  PERFORM analysis.require_feature_of(p_shard, o_user, 'reviews');
  PERFORM analysis.require_argument(
    EXISTS (
      SELECT FROM analysis.result r
      WHERE r.shard = p_shard AND r.period = o_period AND r.job_id = p_job AND r.outcome = 1
        AND r.condition_count IS NOT NULL),
    format('job %s has no analysis: only one that has succeeded can be reviewed', p_job));
END $$;

-- Adds the verdict of the login that calls, or changes it: the one before is kept. p_verdict NULL: only a
-- comment; p_comment NULL: none. Answers the number of the present version (0: there is none), what the
-- verdict was before, and the number of the comment. The same verdict again, without a comment, changes
-- nothing and is no entry.
CREATE OR REPLACE FUNCTION analysis.add_review(
  p_shard smallint, p_job bigint, p_verdict text, p_comment text,
  OUT o_version smallint, OUT o_before text, OUT o_comment smallint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET lock_timeout = '5s' AS $$
DECLARE
  v_verdict smallint := analysis.verdict_of(p_verdict);
  v_period smallint;
  v_user bigint;
  v_before smallint;
  v_now timestamptz;
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_job IS NOT NULL AND num_nonnulls(p_verdict, p_comment) > 0,
    'a review is of a job, and has a verdict or a comment');
  PERFORM analysis.require_argument(
    p_verdict IS NULL OR v_verdict IS NOT NULL, 'a verdict is agree, disagree or unsure');
  PERFORM analysis.require_argument(
    length(p_comment) > 4000 IS NOT TRUE
      AND (p_comment IS NULL OR analysis.audit_text(p_comment, 4000) IS NOT NULL),
    'a comment has 1 to 4000 characters that can be seen');
  SELECT l.* INTO v_period, v_user FROM analysis.lock_reviewed_job(p_shard, p_job) l;
  v_now := clock_timestamp();

  SELECT r.version, r.verdict INTO o_version, v_before FROM analysis.review r
  WHERE r.shard = p_shard AND r.period = v_period AND r.job_id = p_job AND r.reviewer = session_user
    AND r.replaced_at IS NULL;
  o_version := coalesce(o_version, 0);
  o_before := analysis.verdict_name(v_before);
  IF v_verdict <> coalesce(v_before, 0) THEN
    PERFORM analysis.require_argument(o_version < 1000, 'a verdict is changed at most 999 times');
    UPDATE analysis.review r SET replaced_at = v_now
    WHERE r.shard = p_shard AND r.period = v_period AND r.job_id = p_job AND r.reviewer = session_user
      AND r.replaced_at IS NULL;
    o_version := o_version + 1;
    INSERT INTO analysis.review (
      shard, period, version, verdict, job_id, user_id, at, reviewer, primary_id, primary_name,
      primary_confidence, primary_band, primary_normal)
    SELECT p_shard, v_period, o_version, v_verdict, p_job, v_user, v_now, session_user, r.primary_id,
      r.primary_name, r.primary_confidence, r.primary_band, r.primary_normal
    FROM analysis.result r WHERE r.shard = p_shard AND r.period = v_period AND r.job_id = p_job;
  ELSIF p_comment IS NULL THEN
    RETURN;
  END IF;

  IF p_comment IS NOT NULL THEN
    o_comment := coalesce(
      (SELECT max(c.number) FROM analysis.review_comment c
       WHERE c.shard = p_shard AND c.period = v_period AND c.job_id = p_job), 0) + 1;
    PERFORM analysis.require_argument(o_comment <= 1000, 'a job has at most 1000 comments');
    INSERT INTO analysis.review_comment (shard, period, number, job_id, user_id, at, author, body)
    VALUES (p_shard, v_period, o_comment, p_job, v_user, v_now, session_user, p_comment);
  END IF;
  -- Neither the verdict nor a word of the comment: they go with the person, and the audit stays.
  PERFORM analysis.audit_jobs('review', p_shard, ARRAY[p_job], ARRAY[v_user]);
END $$;
COMMENT ON FUNCTION analysis.add_review IS
  'Adds or changes the caller''s verdict of a job''s analysis, and adds a comment.';

-- The product of the clinic whose patient a job's user is; NULL: none, or the caller does not see the job.
-- By it the programs know whether reviews are switched off.
CREATE OR REPLACE FUNCTION analysis.product_of_job(p_shard smallint, p_job bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.product
  FROM analysis.locate_of(p_shard, ARRAY[p_job], NULL) l
  CROSS JOIN LATERAL (
    SELECT k.user_id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job OFFSET 0) j
  JOIN analysis.account a ON a.shard = p_shard AND a.user_id = j.user_id
  JOIN analysis.clinic c ON c.id = a.clinic_id
  WHERE analysis.is_seen(analysis.clinics_seen(analysis.caller()), a.shard, a.user_id)
$$;
COMMENT ON FUNCTION analysis.product_of_job IS
  'Answers the product of the clinic whose patient a job''s user is.';

-- What was said of the jobs of a reading that open_results has recorded, in the order in which it was said:
-- each version of each verdict, and each comment.
CREATE OR REPLACE FUNCTION analysis.reviews_of(p_user text, p_reading text)
RETURNS TABLE (
  o_job bigint, o_at timestamptz, o_by text, o_version smallint, o_verdict text, o_replaced_at timestamptz,
  o_number smallint, o_comment text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint := analysis.shard_of(p_user);
  v_detail jsonb := analysis.require_reading('read_result', NULL, p_reading);
  v_job bigint[] := ARRAY(SELECT j::bigint FROM jsonb_array_elements_text(v_detail -> 'jobs') j);
  v_user bigint;
BEGIN
  SELECT a.user_id INTO v_user FROM analysis.account a
  WHERE a.shard = v_shard AND a.user_ref = normalize(p_user)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen));
  RETURN QUERY
  SELECT s.*
  FROM (
    SELECT r.job_id, r.at, r.reviewer, r.version, analysis.verdict_name(r.verdict), r.replaced_at,
      NULL::smallint AS number, NULL::text
    FROM analysis.review r
    WHERE r.shard = v_shard AND r.user_id = v_user AND r.job_id = ANY (v_job)
    UNION ALL
    SELECT c.job_id, c.at, c.author, NULL, NULL, NULL, c.number, c.body
    FROM analysis.review_comment c
    WHERE c.shard = v_shard AND c.user_id = v_user AND c.job_id = ANY (v_job)) s
  ORDER BY s.job_id, s.at, s.number NULLS FIRST;
END $$;
COMMENT ON FUNCTION analysis.reviews_of IS
  'Answers what clinicians said of the jobs whose reading open_results has recorded.';

-- Records that verdicts are listed, and answers what list_reviews asks for once that is committed.
CREATE OR REPLACE FUNCTION analysis.open_review_list(p_user text, p_verdict text, p_period smallint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_user bigint := analysis.user_seen(analysis.shard_of(p_user), p_user);
BEGIN
  PERFORM analysis.require_argument(
    p_verdict IS NULL OR analysis.verdict_of(p_verdict) IS NOT NULL,
    'a verdict is agree, disagree or unsure');
  PERFORM analysis.require_argument(
    (p_period BETWEEN 24000 AND 32399) IS NOT FALSE, 'reviews are of a month of the years 2000 to 2699');
  RETURN analysis.open_reading(
    'list_reviews', 'reviews', jsonb_strip_nulls(jsonb_build_object(
      'users', CASE WHEN v_user IS NOT NULL THEN jsonb_build_array(v_user) END,
      'verdict', p_verdict, 'month', analysis.period_text(p_period))));
END $$;
COMMENT ON FUNCTION analysis.open_review_list IS
  'Records that verdicts are listed; answers what list_reviews asks for.';

-- The present verdicts of one shard that the caller sees, the latest first, without the comments but for
-- their number: of a user, with a verdict, of a month, and behind a place in the list; each NULL: whatever.
CREATE OR REPLACE FUNCTION analysis.list_reviews(
  p_shard smallint, p_user text, p_verdict text, p_period smallint, p_before timestamptz,
  p_before_job bigint, p_limit int, p_reading text)
RETURNS TABLE (
  o_job bigint, o_period smallint, o_user text, o_verdict text, o_version smallint, o_by text,
  o_at timestamptz, o_comments bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_verdict smallint := analysis.verdict_of(p_verdict);
  v_user bigint := analysis.user_seen(analysis.shard_of(p_user), p_user);
  v_detail jsonb;
BEGIN
  PERFORM analysis.require_argument(
    p_verdict IS NULL OR v_verdict IS NOT NULL, 'a verdict is agree, disagree or unsure');
  v_detail := analysis.require_reading('list_reviews', 'reviews', p_reading);
  -- The entry says what was listed. Of a user who is not there nothing is.
  PERFORM analysis.require_argument(
    v_detail ->> 'verdict' IS NOT DISTINCT FROM p_verdict
      AND v_detail ->> 'month' IS NOT DISTINCT FROM analysis.period_text(p_period)
      AND CASE WHEN v_user IS NOT NULL
        THEN v_detail -> 'users' IS NOT DISTINCT FROM jsonb_build_array(v_user)
        ELSE p_user IS NOT NULL OR v_detail -> 'users' IS NULL END,
    'reviews are listed of the user, the verdict and the month of which open_review_list has recorded it');
  RETURN QUERY
  SELECT r.job_id, r.period, a.user_ref, analysis.verdict_name(r.verdict), r.version, r.reviewer, r.at,
    (SELECT count(*) FROM analysis.review_comment c
     WHERE c.shard = r.shard AND c.period = r.period AND c.job_id = r.job_id)
  FROM analysis.review r
  JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id
  WHERE r.shard = p_shard AND r.replaced_at IS NULL
    AND (p_user IS NULL OR a.user_ref = normalize(p_user))
    AND (p_verdict IS NULL OR r.verdict = v_verdict)
    AND (p_period IS NULL OR r.period = p_period)
    AND (p_before IS NULL OR (r.at, r.job_id) < (p_before, p_before_job))
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))
  ORDER BY r.at DESC, r.job_id DESC
  LIMIT least(greatest(p_limit, 1), 10001);
END $$;
COMMENT ON FUNCTION analysis.list_reviews IS
  'Answers the present verdicts of a shard, the latest first.';
