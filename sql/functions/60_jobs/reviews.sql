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

-- Adds a comment of the caller to a locked job; answers its number.
CREATE OR REPLACE FUNCTION analysis.add_comment(
  p_shard smallint, p_period smallint, p_job bigint, p_user bigint, p_at timestamptz, p_comment text)
RETURNS smallint
LANGUAGE plpgsql AS $$
DECLARE
  v_number smallint := coalesce(
    (SELECT max(c.number) FROM analysis.review_comment c
     WHERE c.shard = p_shard AND c.period = p_period AND c.job_id = p_job), 0) + 1;
BEGIN
  PERFORM analysis.require_argument(v_number <= 1000, 'a job has at most 1000 comments');
  INSERT INTO analysis.review_comment (shard, period, number, job_id, user_id, at, author, body)
  VALUES (p_shard, p_period, v_number, p_job, p_user, p_at, session_user, p_comment);
  RETURN v_number;
END $$;

-- Adds the verdict of the login that calls, or changes it: the one before is kept. p_verdict NULL: only a
-- comment; p_comment NULL: none. p_instead: with disagree, the condition that it is instead; NULL: not said.
-- Answers the number of the present version (0: there is none), what the verdict and that condition were
-- before, and the number of the comment. The same verdict again, without a comment, changes nothing and is
-- no entry.
CREATE OR REPLACE FUNCTION analysis.add_review(
  p_shard smallint, p_job bigint, p_verdict text, p_instead text, p_comment text,
  OUT o_version smallint, OUT o_before text, OUT o_before_instead text, OUT o_comment smallint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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
    p_instead IS NULL OR (v_verdict = 2) IS TRUE AND length(p_instead) <= 200
      AND analysis.audit_text(p_instead, 200) IS NOT NULL,
    'the condition that it is instead goes with disagree, and has 1 to 200 characters that can be seen');
  PERFORM analysis.require_argument(
    length(p_comment) > 4000 IS NOT TRUE
      AND (p_comment IS NULL OR analysis.audit_text(p_comment, 4000) IS NOT NULL),
    'a comment has 1 to 4000 characters that can be seen');
  SELECT l.* INTO v_period, v_user FROM analysis.lock_reviewed_job(p_shard, p_job) l;
  v_now := clock_timestamp();

  SELECT r.version, r.verdict, r.instead INTO o_version, v_before, o_before_instead FROM analysis.review r
  WHERE r.shard = p_shard AND r.period = v_period AND r.job_id = p_job AND r.reviewer = session_user
    AND r.replaced_at IS NULL;
  o_version := coalesce(o_version, 0);
  o_before := analysis.verdict_name(v_before);
  IF v_verdict IS NOT NULL
     AND (v_verdict <> coalesce(v_before, 0) OR p_instead IS DISTINCT FROM o_before_instead) THEN
    PERFORM analysis.require_argument(o_version < 1000, 'a verdict is changed at most 999 times');
    UPDATE analysis.review r SET replaced_at = v_now
    WHERE r.shard = p_shard AND r.period = v_period AND r.job_id = p_job AND r.reviewer = session_user
      AND r.replaced_at IS NULL;
    o_version := o_version + 1;
    INSERT INTO analysis.review (
      shard, period, version, verdict, job_id, user_id, at, reviewer, instead, primary_id, primary_name,
      primary_confidence, primary_band, primary_normal)
    SELECT p_shard, v_period, o_version, v_verdict, p_job, v_user, v_now, session_user, p_instead,
      r.primary_id, r.primary_name, r.primary_confidence, r.primary_band, r.primary_normal
    FROM analysis.result r WHERE r.shard = p_shard AND r.period = v_period AND r.job_id = p_job;
  ELSIF p_comment IS NULL THEN
    RETURN;
  END IF;
  IF p_comment IS NOT NULL THEN
    o_comment := analysis.add_comment(p_shard, v_period, p_job, v_user, v_now, p_comment);
  END IF;
  -- Neither the verdict nor a word of the rest: they go with the person, and the audit stays.
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
  o_job bigint, o_at timestamptz, o_by text, o_version smallint, o_verdict text, o_instead text,
  o_replaced_at timestamptz, o_number smallint, o_comment text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
    SELECT r.job_id, r.at, r.reviewer, r.version, analysis.verdict_name(r.verdict), r.instead,
      r.replaced_at, NULL::smallint AS number, NULL::text
    FROM analysis.review r
    WHERE r.shard = v_shard AND r.user_id = v_user AND r.job_id = ANY (v_job)
    UNION ALL
    SELECT c.job_id, c.at, c.author, NULL, NULL, NULL, NULL, c.number, c.body
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
  o_job bigint, o_period smallint, o_user text, o_verdict text, o_instead text, o_version smallint,
  o_by text, o_at timestamptz, o_comments bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
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
  SELECT r.job_id, r.period, a.user_ref, analysis.verdict_name(r.verdict), r.instead, r.version, r.reviewer,
    r.at,
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

-- The clinics whose product has reviews switched off: their analyses are in no list of what is to be
-- reviewed, and no reviewer sees a picture of theirs.
CREATE OR REPLACE FUNCTION analysis.clinics_without_reviews() RETURNS int[]
LANGUAGE sql STABLE AS $$
  SELECT ARRAY(
    SELECT c.id FROM analysis.clinic c JOIN analysis.product p ON p.name = c.product
    WHERE 'reviews' = ANY (p.off))
$$;

-- Whether there is an analysis of a job that can be reviewed: its person was not erased, and their clinic's
-- product has reviews.
CREATE OR REPLACE FUNCTION analysis.is_reviewable(p_shard smallint, p_job bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM analysis.locate_of(p_shard, ARRAY[p_job], NULL) l
    CROSS JOIN LATERAL (
      SELECT k.user_id FROM analysis.result k
      WHERE k.shard = p_shard AND k.period = l.o_period AND k.job_id = p_job AND k.outcome = 1
        AND k.condition_count IS NOT NULL OFFSET 0) r
    JOIN analysis.account a ON a.shard = p_shard AND a.user_id = r.user_id
    WHERE a.erased_at IS NULL
      AND (a.clinic_id = ANY ((SELECT analysis.clinics_without_reviews())::int[])) IS NOT TRUE)
$$;

-- The analyses among which those to review are looked for: the newest 10,000 of a shard; of clinics
-- (p_clinics; NULL: whatever the user's) the newest 10,000 of the month p_month and the one before. Of an
-- erased person, or where reviews are off, there is none.
CREATE OR REPLACE FUNCTION analysis.newest_analyses(p_shard smallint, p_clinics int[], p_month smallint)
RETURNS TABLE (
  period smallint, job_id bigint, user_id bigint, kind smallint, serious boolean, confidence float8,
  band smallint, normal boolean, name text, second_name text, finished_at timestamptz, user_ref text,
  clinic_id int)
LANGUAGE sql STABLE AS $$
  SELECT r.period, r.job_id, r.user_id, r.kind, coalesce(r.serious, false), r.primary_confidence,
    r.primary_band, r.primary_normal, r.primary_name, r.secondary_name, r.finished_at, a.user_ref, a.clinic_id
  FROM (
    (SELECT k.period, k.job_id, k.user_id, k.kind, k.outcome, k.condition_count, k.serious,
       k.primary_confidence, k.primary_band, k.primary_normal, k.primary_name, k.secondary_name, k.finished_at
     FROM analysis.result k
     WHERE p_clinics IS NULL AND k.shard = p_shard
     ORDER BY k.shard DESC, k.period DESC, k.job_id DESC LIMIT 10000)
    UNION ALL
    (SELECT f.period, f.job_id, f.user_id, f.kind, f.outcome, f.condition_count, f.serious,
       f.primary_confidence, f.primary_band, f.primary_normal, f.primary_name, f.secondary_name, f.finished_at
     FROM analysis.result f
     -- One scan of each month's index by user: a loop over the users takes longer. `shard + 0` keeps it to
     -- that index, also where the planner thinks the months empty.
     WHERE p_clinics IS NOT NULL AND f.shard + 0 = p_shard AND f.period >= p_month - 1
       AND f.user_id = ANY (ARRAY(
         SELECT o.user_id FROM analysis.account o
         WHERE o.shard = p_shard AND o.clinic_id = ANY (p_clinics)))
     ORDER BY f.period DESC, f.job_id DESC LIMIT 10000)) r
  CROSS JOIN LATERAL (
    SELECT o.user_ref, o.clinic_id, o.erased_at FROM analysis.account o
    WHERE o.shard = p_shard AND o.user_id = r.user_id OFFSET 0) a
  WHERE r.outcome = 1 AND r.condition_count IS NOT NULL AND a.erased_at IS NULL
    AND (a.clinic_id = ANY ((SELECT analysis.clinics_without_reviews())::int[])) IS NOT TRUE
$$;

-- The clinics that are meant where one is named: those that the caller sees, or of them the one; none where
-- it is not among them. NULL: all, and the users of none.
CREATE OR REPLACE FUNCTION analysis.clinics_meant(p_clinic text) RETURNS int[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  IF p_clinic IS NULL THEN
    RETURN v_seen;
  END IF;
  RETURN ARRAY(
    SELECT c.id FROM analysis.clinic c
    WHERE c.name = normalize(p_clinic) AND (v_seen IS NULL OR c.id = ANY (v_seen)));
END $$;

-- Records that what is to be reviewed is listed; answers what review_queue and review_choices ask for once
-- that is committed. By which condition is not said: beside the entries of what is read next, it would tell
-- whose it is.
CREATE OR REPLACE FUNCTION analysis.open_review_queue(p_clinic text, p_kind smallint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(
    (p_kind IN (1, 2)) IS NOT FALSE, 'the type of an analysis is 1 (throat) or 2 (ear)');
  RETURN analysis.open_reading(
    'list_reviews', 'to_review', jsonb_strip_nulls(jsonb_build_object(
      'clinics', CASE WHEN p_clinic IS NOT NULL THEN to_jsonb(analysis.clinics_meant(p_clinic)) END,
      'type', p_kind)));
END $$;
COMMENT ON FUNCTION analysis.open_review_queue IS
  'Records that analyses to review are listed; answers what review_queue asks for.';

-- Of a shard the analyses without a present verdict of the caller's, among those of newest_analyses: the
-- serious ones first, of these the least certain, and those without a condition last. Of a clinic, of a type
-- and with a primary condition; each NULL: whatever. Behind a place: an analysis that is serious or not, with
-- a confidence (NULL: without a condition), of a job; the job NULL: from the beginning. o_left: how many
-- there are from the row on.
CREATE OR REPLACE FUNCTION analysis.review_queue(
  p_shard smallint, p_clinic text, p_kind smallint, p_condition text, p_after_serious boolean,
  p_after_confidence float8, p_after_job bigint, p_limit int, p_reading text)
RETURNS TABLE (
  o_job bigint, o_user text, o_clinic text, o_kind smallint, o_condition text, o_confidence float8,
  o_band smallint, o_normal boolean, o_serious boolean, o_at timestamptz, o_left bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_clinics int[] := analysis.clinics_meant(p_clinic);
  v_month smallint := analysis.current_month();
  v_detail jsonb := analysis.require_reading('list_reviews', 'to_review', p_reading);
BEGIN
  PERFORM analysis.require_argument(
    (v_detail ->> 'type')::smallint IS NOT DISTINCT FROM p_kind
      AND v_detail -> 'clinics'
        IS NOT DISTINCT FROM CASE WHEN p_clinic IS NOT NULL THEN to_jsonb(v_clinics) END,
    'what is to be reviewed is listed of the clinic and type of which open_review_queue has recorded it');
  RETURN QUERY
  WITH unsaid AS MATERIALIZED (
    SELECT n.*, NOT n.serious AS is_mild, coalesce(n.confidence, 2) AS certainty
    FROM analysis.newest_analyses(p_shard, v_clinics, v_month) n
    WHERE (p_kind IS NULL OR n.kind = p_kind) AND (p_condition IS NULL OR n.name = p_condition)
      AND (p_after_job IS NULL OR n.job_id <> p_after_job
        AND (NOT n.serious, coalesce(n.confidence, 2), n.job_id)
          > (NOT coalesce(p_after_serious, false), coalesce(p_after_confidence, 2), p_after_job))
      AND NOT EXISTS (
        SELECT FROM analysis.review v
        WHERE v.shard = p_shard AND v.period = n.period AND v.job_id = n.job_id AND v.reviewer = session_user
          AND v.replaced_at IS NULL))
  SELECT q.job_id, q.user_ref, (SELECT c.name FROM analysis.clinic c WHERE c.id = q.clinic_id), q.kind,
    q.name, q.confidence, q.band, q.normal, q.serious, q.finished_at,
    (SELECT count(*) FROM unsaid) - row_number() OVER (ORDER BY q.is_mild, q.certainty, q.job_id) + 1
  FROM (
    SELECT u.* FROM unsaid u ORDER BY u.is_mild, u.certainty, u.job_id
    LIMIT least(greatest(p_limit, 1), 1001)) q
  ORDER BY q.is_mild, q.certainty, q.job_id;
END $$;
COMMENT ON FUNCTION analysis.review_queue IS
  'Answers the analyses of a shard that the caller has given no verdict of.';

-- What a list of what is to be reviewed is narrowed by, and what is said instead of a condition: the clinics
-- and the conditions of newest_analyses, of whom the caller sees; at most 500 of each.
CREATE OR REPLACE FUNCTION analysis.review_choices(p_shard smallint, p_reading text)
RETURNS TABLE (o_clinic text, o_kind smallint, o_condition text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_clinics int[] := analysis.clinics_meant(NULL);
  v_month smallint := analysis.current_month();
BEGIN
  PERFORM analysis.require_reading('list_reviews', 'to_review', p_reading);
  RETURN QUERY
  -- Few clinics and conditions of many analyses: each is looked up once.
  WITH newest AS MATERIALIZED (
    SELECT n.clinic_id, n.kind, n.name, n.second_name
    FROM analysis.newest_analyses(p_shard, v_clinics, v_month) n
    GROUP BY n.clinic_id, n.kind, n.name, n.second_name)
  (SELECT c.name, NULL::smallint, NULL::text
   FROM (SELECT DISTINCT n.clinic_id FROM newest n) i
   CROSS JOIN LATERAL (SELECT k.name FROM analysis.clinic k WHERE k.id = i.clinic_id OFFSET 0) c
   ORDER BY 1 LIMIT 500)
  UNION ALL
  (SELECT DISTINCT NULL::text, n.kind, o.name
   FROM newest n CROSS JOIN LATERAL (VALUES (n.name), (n.second_name)) o(name)
   WHERE o.name IS NOT NULL
   ORDER BY 3, 2 LIMIT 500);
END $$;
COMMENT ON FUNCTION analysis.review_choices IS
  'Answers the clinics and conditions by which what is to be reviewed is narrowed.';
