-- Erasing a person: everything that is theirs goes, and the counts that bills stand on stay under a number.

-- The jobs of a user: those that have ended, by the index on results and the dead; those that have not, in
-- the months whose counter says that there are any (p_open: only these).
CREATE OR REPLACE FUNCTION analysis.jobs_of_user(p_shard smallint, p_user_id bigint, p_open boolean)
RETURNS TABLE (o_period smallint, o_job bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_month smallint;
BEGIN
  IF NOT p_open THEN
    RETURN QUERY
    SELECT r.period, r.job_id FROM analysis.result r WHERE r.shard = p_shard AND r.user_id = p_user_id
    UNION ALL
    SELECT d.period, d.job_id FROM analysis.dead d WHERE d.shard = p_shard AND d.user_id = p_user_id;
  END IF;
  FOR v_month IN
    SELECT u.period FROM analysis.usage u JOIN analysis.partition_made m ON m.period = u.period
    WHERE u.shard = p_shard AND u.user_id = p_user_id
      AND u.used
            - (SELECT count(*) FROM analysis.refund f
               WHERE f.shard = p_shard AND f.user_id = p_user_id AND f.period = u.period)
            <> (SELECT count(*) FROM analysis.result r
                WHERE r.shard = p_shard AND r.user_id = p_user_id AND r.period = u.period AND r.outcome = 1)
    ORDER BY u.period
  LOOP
    RETURN QUERY
    SELECT j.period, j.id FROM analysis.job j
    WHERE j.shard = p_shard AND j.period = v_month AND j.user_id = p_user_id
      AND NOT EXISTS (
        SELECT 1 FROM analysis.result r WHERE r.shard = p_shard AND r.period = v_month AND r.job_id = j.id)
      AND NOT EXISTS (SELECT 1 FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = j.id);
  END LOOP;
END $$;

-- Removes who a person is: profile, tokens, codes, shares and keys; account and closed statements have a
-- number instead of the name. Answers whether they had not been erased before.
CREATE OR REPLACE FUNCTION analysis.erase_identity(
  p_shard smallint, p_user_id bigint, OUT o_is_first boolean, OUT o_profile bigint, OUT o_keys bigint,
  OUT o_lines bigint,
  OUT o_photo text)
LANGUAGE plpgsql AS $$
DECLARE
  v_label text := 'erased-' || p_user_id;
BEGIN
  DELETE FROM analysis.profile p WHERE p.shard = p_shard AND p.user_id = p_user_id RETURNING p.photo_url
  INTO o_photo;
  GET DIAGNOSTICS o_profile = ROW_COUNT;
  DELETE FROM analysis.renamed r WHERE r.shard = p_shard AND r.user_id = p_user_id;
  DELETE FROM analysis.user_token t WHERE t.shard = p_shard AND t.user_id = p_user_id;
  DELETE FROM analysis.login_code c WHERE c.shard = p_shard AND c.user_id = p_user_id;
  PERFORM analysis.erase_shares(p_shard, p_user_id);
  DELETE FROM analysis.idem i WHERE i.shard = p_shard AND i.user_id = p_user_id;
  GET DIAGNOSTICS o_keys = ROW_COUNT;
  WHILE EXISTS (
    SELECT 1 FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_ref = v_label AND a.user_id <> p_user_id) LOOP
    v_label := v_label || '-';
  END LOOP;
  UPDATE analysis.account a
  SET user_ref = v_label, key_salt = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
    erased_at = coalesce(a.erased_at, clock_timestamp())
  WHERE a.shard = p_shard AND a.user_id = p_user_id
    AND (a.erased_at IS NULL OR a.user_ref !~ ('^erased-' || p_user_id || '-*$'));
  o_is_first := FOUND;
  UPDATE analysis.statement_line t SET user_ref = a.user_ref
  FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_id = p_user_id AND t.shard = a.shard AND t.user_id = a.user_id
    AND t.user_ref <> a.user_ref;
  GET DIAGNOSTICS o_lines = ROW_COUNT;
END $$;

-- Removes what the submitter called a person's jobs; they stay in their batches, which are counted by them. A
-- batch in which everybody was erased loses its name and the hash of its key too: in order, since another
-- erasure may have the same batches.
CREATE OR REPLACE FUNCTION analysis.erase_labels(p_shard smallint, p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_month smallint[] := ARRAY(SELECT m.period FROM analysis.partition_made m);
  v_batch bigint[];
BEGIN
  DELETE FROM analysis.job_label l
  WHERE l.shard = p_shard AND l.period = ANY (v_month) AND l.job_id = ANY (p_jobs) AND l.batch_id IS NULL;
  UPDATE analysis.job_label l SET reference = NULL
  WHERE l.shard = p_shard AND l.period = ANY (v_month) AND l.job_id = ANY (p_jobs)
    AND l.reference IS NOT NULL;
  v_batch := ARRAY(
    SELECT DISTINCT l.batch_id FROM analysis.job_label l
    WHERE l.shard = p_shard AND l.period = ANY (v_month) AND l.job_id = ANY (p_jobs));
  PERFORM FROM analysis.batch b WHERE b.id = ANY (v_batch) ORDER BY b.id FOR NO KEY UPDATE;
  UPDATE analysis.batch b SET name = NULL, key_hash = NULL, salt = gen_random_uuid()
  WHERE b.id = ANY (v_batch) AND (b.name IS NOT NULL OR b.key_hash IS NOT NULL) AND NOT EXISTS (
    SELECT FROM analysis.all_shards() h
    CROSS JOIN LATERAL (
      SELECT l.user_id FROM analysis.job_label l WHERE l.shard = h.o_shard AND l.batch_id = b.id OFFSET 0) l
    CROSS JOIN LATERAL (
      SELECT FROM analysis.account a
      WHERE a.shard = h.o_shard AND a.user_id = l.user_id AND a.erased_at IS NULL OFFSET 0) a);
END $$;

-- Removes images of a person's month, and empties what was found and what went wrong in it: each partition
-- by its own keys, jobs before their results as a purge takes them. p_jobs may be of other months: one that
-- was retried has left its attempts in the months before. p_images: NULL for all of the month.
CREATE OR REPLACE FUNCTION analysis.erase_month(
  p_shard smallint, p_user_id bigint, p_period smallint, p_jobs bigint[], p_images bigint[],
  OUT o_images bigint, OUT o_image_bytes bigint, OUT o_results bigint, OUT o_attempts bigint,
    OUT o_jobs bigint)
LANGUAGE plpgsql AS $$
BEGIN
  -- Planned with the month, of which alone they take a lock, and with how many jobs there are.
  EXECUTE
    'WITH gone AS (
       DELETE FROM analysis.image i
       WHERE i.shard = $1 AND i.period = $2 AND i.user_id = $3 AND ($4 IS NULL OR i.id = ANY ($4))
       RETURNING i.byte_count, i.object_key),
     lost AS (
       INSERT INTO analysis.lost_object (object_key)
       SELECT DISTINCT g.object_key FROM gone g WHERE g.object_key IS NOT NULL
       ON CONFLICT DO NOTHING)
     SELECT count(*), coalesce(sum(g.byte_count), 0) FROM gone g'
  INTO o_images, o_image_bytes USING p_shard, p_period, p_user_id, p_images;
  o_jobs := 0;
  o_results := 0;
  IF EXISTS (
    SELECT FROM analysis.job j
    WHERE j.shard = p_shard AND j.user_id = p_user_id AND j.period = p_period)
     OR EXISTS (
    SELECT FROM analysis.result r
    WHERE r.shard = p_shard AND r.user_id = p_user_id AND r.period = p_period) THEN
    EXECUTE
      'UPDATE analysis.job j SET source_name = NULL, key_hash = NULL, image_mark = $4
       WHERE j.shard = $1 AND j.period = $2 AND j.id = ANY ($3)
         AND (j.source_name IS NOT NULL OR j.key_hash IS NOT NULL OR j.image_mark <> $4)'
    USING p_shard, p_period, p_jobs, ''::bytea;
    GET DIAGNOSTICS o_jobs = ROW_COUNT;
    EXECUTE
      'UPDATE analysis.result r
       SET analysis_id = $4, conditions = $5, condition_count = NULL, serious = NULL, consult = NULL,
           endpoint_serious = NULL, endpoint_consult = NULL, answered_at = NULL,
           primary_id = NULL, primary_name = NULL, primary_confidence = NULL, primary_band = NULL,
           primary_normal = NULL,
           secondary_id = NULL, secondary_name = NULL, secondary_confidence = NULL, secondary_band = NULL,
           secondary_normal = NULL
       WHERE r.shard = $1 AND r.period = $2 AND r.job_id = ANY ($3) AND r.outcome = 1
         AND r.condition_count IS NOT NULL'
    USING p_shard, p_period, p_jobs, 'erased', '[]'::jsonb;
    GET DIAGNOSTICS o_results = ROW_COUNT;
  END IF;

  EXECUTE
    'UPDATE analysis.attempt_error e SET code = NULL, message = $4, error_id = NULL
     WHERE e.shard = $1 AND e.period = $2 AND e.job_id = ANY ($3)
       AND (e.message <> $4 OR e.code IS NOT NULL OR e.error_id IS NOT NULL)'
  USING p_shard, p_period, p_jobs, 'erased';
  GET DIAGNOSTICS o_attempts = ROW_COUNT;
END $$;
DROP FUNCTION IF EXISTS analysis.erase_month(smallint, bigint, smallint, bigint[]);

-- The same in all months, and what the submitter called the jobs. p_images: each with its month; NULL: all.
CREATE OR REPLACE FUNCTION analysis.erase_months(
  p_shard smallint, p_user_id bigint, p_jobs bigint[], p_images bigint[], p_image_months smallint[],
  OUT o_images bigint, OUT o_image_bytes bigint, OUT o_results bigint, OUT o_attempts bigint,
    OUT o_jobs bigint)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT coalesce(sum(e.o_images), 0), coalesce(sum(e.o_image_bytes), 0), coalesce(sum(e.o_results), 0),
    coalesce(sum(e.o_attempts), 0), coalesce(sum(e.o_jobs), 0)
  INTO o_images, o_image_bytes, o_results, o_attempts, o_jobs
  FROM analysis.partition_made m
  CROSS JOIN LATERAL analysis.erase_month(p_shard, p_user_id, m.period, p_jobs, CASE
    WHEN p_images IS NOT NULL THEN ARRAY(
      SELECT i.id FROM unnest(p_images, p_image_months) i(id, month) WHERE i.month = m.period) END) e;
  PERFORM analysis.erase_labels(p_shard, p_jobs);
END $$;

-- Empties why jobs died; answers of how many.
CREATE OR REPLACE FUNCTION analysis.erase_dead(p_shard smallint, p_jobs bigint[]) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_rows bigint;
BEGIN
  UPDATE analysis.dead d SET code = NULL, message = 'erased'
  WHERE d.shard IS NOT DISTINCT FROM p_shard AND (d.message <> 'erased' OR d.code IS NOT NULL)
    AND d.ctid = ANY (ARRAY(
      SELECT x.ctid FROM unnest(p_jobs) t(id)
      CROSS JOIN LATERAL (
        SELECT y.ctid FROM analysis.dead y WHERE y.shard = p_shard AND y.job_id = t.id OFFSET 0) x));
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END $$;

-- Closes the account of a person who has more than p_limit jobs, for an erasure in parts: nothing is
-- submitted for them any more. Not while jobs of theirs are open, unless they are to be cancelled.
CREATE OR REPLACE FUNCTION analysis.begin_erasure(
  p_shard smallint, p_user_id bigint, p_cancel boolean, p_limit int)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT sum(u.used + u.refunded) > p_limit FROM analysis.usage u
      WHERE u.shard = p_shard AND u.user_id = p_user_id) IS NOT TRUE THEN
    RETURN false;
  END IF;
  PERFORM analysis.lock_months(p_shard, p_user_id);
  IF NOT p_cancel AND EXISTS (SELECT FROM analysis.jobs_of_user(p_shard, p_user_id, true)) THEN
    RETURN false;
  END IF;
  UPDATE analysis.account a SET erased_at = clock_timestamp()
  WHERE a.shard = p_shard AND a.user_id = p_user_id AND a.erased_at IS NULL;
  RETURN true;
END $$;

-- Cancels those of a person's jobs, which the caller has locked, that have not ended; answers how many.
CREATE OR REPLACE FUNCTION analysis.cancel_open(p_shard smallint, p_jobs bigint[], p_months smallint[])
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_cancelled bigint;
  v_busy bigint;
BEGIN
  SELECT count(*) FILTER (WHERE c.o_outcome = 'cancelled'), count(*) FILTER (WHERE c.o_outcome = 'busy')
  INTO v_cancelled, v_busy
  FROM analysis.cancel(p_shard, ARRAY(
    SELECT t.id FROM unnest(p_jobs, p_months) t(id, month)
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM analysis.result r
      WHERE r.shard = p_shard AND r.period = t.month AND r.job_id = t.id OFFSET 0) r ON true
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = t.id OFFSET 0) d
      ON true
    WHERE r.is_there IS NULL AND d.is_there IS NULL)) c;
  IF v_busy > 0 THEN
    RAISE EXCEPTION 'somebody else is changing % of the user''s jobs', v_busy
      USING ERRCODE = 'lock_not_available', HINT = 'Erase again in a moment.';
  END IF;
  RETURN v_cancelled;
END $$;

-- Erases what there is of the next p_limit jobs of a person who has more than that, of whom one transaction
-- would have to do too much: from the first on, or behind the job that the call before has answered. The
-- open ones are cancelled. No row: no such person, or nothing is left to be done ahead: erase_user does the
-- rest. What is erased already counts for nothing, so that all calls can be repeated from the first on.
CREATE OR REPLACE FUNCTION analysis.erase_part(
  p_shard smallint, p_user text, p_user_id bigint, p_cancel boolean, p_period smallint, p_job bigint,
  p_limit int)
RETURNS TABLE (
  o_user bigint, o_period smallint, o_job bigint, o_cancelled bigint, o_images bigint, o_image_bytes bigint,
  o_results bigint, o_dead bigint, o_attempts bigint, o_jobs bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '20s' AS $$
DECLARE
  v_job bigint[];
  v_month smallint[];
  v_image bigint[];
  v_image_month smallint[];
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_cancel IS NOT NULL AND p_limit BETWEEN 1 AND 100000
      AND (p_period IS NULL) = (p_job IS NULL),
    'a part of an erasure names a shard, whether jobs are cancelled, behind which job, and at most 100000');
  PERFORM analysis.refuse_repeatable_read();
  SELECT a.user_id INTO o_user FROM analysis.account a
  WHERE a.shard = p_shard
    AND (a.user_ref = normalize(p_user) OR p_user IS NULL AND a.user_id = p_user_id)
    AND (p_job IS NULL OR a.erased_at IS NOT NULL) FOR UPDATE;
  IF NOT FOUND OR p_job IS NULL AND NOT analysis.begin_erasure(p_shard, o_user, p_cancel, p_limit) THEN
    RETURN;
  END IF;
  SELECT array_agg(n.id), array_agg(n.period), array_agg(n.image_id), array_agg(n.image_period)
  INTO v_job, v_month, v_image, v_image_month
  FROM (SELECT j.period, j.id, j.image_id, j.image_period FROM analysis.job j
        WHERE j.shard = p_shard AND j.user_id = o_user
          AND (j.period, j.id) > (coalesce(p_period, 0::smallint), coalesce(p_job, 0))
        ORDER BY j.period, j.id LIMIT p_limit) n;
  IF v_job IS NULL THEN
    RETURN;
  END IF;
  o_period := v_month[cardinality(v_month)];
  o_job := v_job[cardinality(v_job)];

  -- The dead before the jobs, and both by their numbers, as everybody locks them.
  PERFORM FROM analysis.dead d
  WHERE d.shard = p_shard AND d.job_id = ANY (v_job) ORDER BY d.job_id FOR UPDATE;
  PERFORM FROM (SELECT * FROM unnest(v_job, v_month) t(id, month) ORDER BY 1) t
  CROSS JOIN LATERAL (
    SELECT FROM analysis.job j
    WHERE j.shard = p_shard AND j.period = t.month AND j.id = t.id FOR UPDATE) j;
  o_cancelled := analysis.cancel_open(p_shard, v_job, v_month);
  o_dead := analysis.erase_dead(p_shard, v_job);
  SELECT e.* INTO o_images, o_image_bytes, o_results, o_attempts, o_jobs
  FROM analysis.erase_months(p_shard, o_user, v_job, v_image, v_image_month) e;
  PERFORM analysis.audit_add(
    'erase', 'user:' || o_user, jsonb_build_object(
      'part', true, 'cancelled', o_cancelled, 'images', o_images, 'results', o_results, 'dead', o_dead,
      'attempts', o_attempts, 'jobs', o_jobs));
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.erase_part IS
  'Erases what there is of the next jobs of a person who has too many for one transaction.';

-- In how many persons of a clinic's closed month each condition was found. They are counted by the
-- statement's lines: the clinic has others by now. Results that were removed after their time count for
-- nobody, since whose they were is not known any more.
CREATE OR REPLACE FUNCTION analysis.persons_found(p_report text, p_period smallint, p_clinic_id int)
RETURNS TABLE (o_id text, o_normal boolean, o_persons bigint)
LANGUAGE sql STABLE AS $$
  SELECT c.id, coalesce(c.normal, false), count(DISTINCT (w.shard, w.user_id))
  FROM (
    SELECT DISTINCT l.shard, l.user_id
    FROM analysis.statement_segment s
    JOIN analysis.statement_line l ON l.report = s.report AND l.period = s.period AND l.line = s.line
    WHERE s.report = p_report AND s.period = p_period AND s.clinic_id = p_clinic_id) w
  JOIN analysis.result r ON r.shard = w.shard AND r.user_id = w.user_id AND r.period = p_period
  CROSS JOIN LATERAL jsonb_to_recordset(r.conditions) AS c(id text, normal boolean)
  WHERE r.outcome = 1
  GROUP BY 1, 2
$$;

-- Takes from closed months of the clinics of which the person was what was found in fewer persons than
-- report_threshold: beside a statement with few lines it would say what one of them had.
CREATE OR REPLACE FUNCTION analysis.erase_few(p_shard smallint, p_user_id bigint) RETURNS void
LANGUAGE sql AS $$
  WITH few AS MATERIALIZED (
    SELECT DISTINCT s.report, s.period, s.clinic_id
    FROM analysis.statement_line l
    JOIN analysis.statement_segment s USING (report, period, line)
    WHERE l.shard = p_shard AND l.user_id = p_user_id AND s.clinic_id IS NOT NULL),
  counted AS MATERIALIZED (
    SELECT m.report, m.period, m.clinic_id, f.o_id, f.o_normal, f.o_persons
    FROM few m CROSS JOIN LATERAL analysis.persons_found(m.report, m.period, m.clinic_id) f)
  DELETE FROM analysis.statement_condition k
  USING few m
  WHERE k.report = m.report AND k.period = m.period AND k.clinic_id = m.clinic_id
    AND NOT EXISTS (
      SELECT FROM counted c
      WHERE c.report = k.report AND c.period = k.period AND c.clinic_id = k.clinic_id
        AND c.o_id = k.id AND c.o_normal = k.normal AND c.o_persons >= coalesce(
          (SELECT s.value::int FROM analysis.setting s WHERE s.name = 'report_threshold'), 5))
$$;

-- Locks all that a person has of dead jobs and of jobs, in order. One that somebody else holds for 2 s ends
-- the call.
CREATE OR REPLACE FUNCTION analysis.lock_jobs_of(p_shard smallint, p_user_id bigint) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
DECLARE
  v_all bigint;
BEGIN
  PERFORM FROM analysis.dead d WHERE d.shard = p_shard AND d.user_id = p_user_id ORDER BY d.job_id FOR UPDATE;
  PERFORM FROM analysis.job j WHERE j.shard = p_shard AND j.user_id = p_user_id ORDER BY j.id FOR UPDATE;
EXCEPTION WHEN lock_not_available THEN
  SELECT count(*) INTO v_all FROM analysis.job j WHERE j.shard = p_shard AND j.user_id = p_user_id;
  RAISE EXCEPTION 'somebody else is changing % of the user''s jobs: nothing was erased', v_all - (
      SELECT count(*) FROM (
        SELECT FROM analysis.job j WHERE j.shard = p_shard AND j.user_id = p_user_id
        FOR UPDATE SKIP LOCKED) j)
    USING ERRCODE = 'lock_not_available', HINT = 'Erase again in a moment.';
END $$;

-- Removes the webhooks of a person; events first, as finish_deliveries locks them.
CREATE OR REPLACE FUNCTION analysis.erase_webhooks(p_shard smallint, p_user_id bigint) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM analysis.webhook_event e WHERE e.shard = p_shard AND e.user_id = p_user_id;
  DELETE FROM analysis.webhook w WHERE w.shard = p_shard AND w.user_id = p_user_id
$$;

-- Removes what clinicians said of a person's analyses.
CREATE OR REPLACE FUNCTION analysis.erase_reviews(p_shard smallint, p_user_id bigint) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM analysis.review r WHERE r.shard = p_shard AND r.user_id = p_user_id;
  DELETE FROM analysis.review_comment c WHERE c.shard = p_shard AND c.user_id = p_user_id
$$;

-- Erases a person, who is named by what the operator calls them, or else by their number. While jobs of
-- theirs are open nothing is done, and they are counted, unless they are to be cancelled: a worker that
-- has one drops what it finds. Each kind of what went is counted; what is erased already counts for
-- nothing, so that the call can be repeated. No row: there is no such user. Where their photo was is
-- answered, so that it can be taken out of a cache.
--
-- A job, its result and its failed attempts stay as rows without content: a month's numbers are recounted
-- from them. A result that tells nothing has no number of conditions.
--
-- Locks: the table of names, as a rename begins with it; then the account, the counters (lock_months), the
-- dead, all jobs.
CREATE OR REPLACE FUNCTION analysis.erase_user(
  p_shard smallint, p_user text, p_user_id bigint, p_cancel boolean)
RETURNS TABLE (
  o_user bigint, o_open bigint, o_cancelled bigint, o_profile bigint, o_images bigint, o_image_bytes bigint,
  o_results bigint, o_dead bigint, o_attempts bigint, o_jobs bigint, o_keys bigint, o_lines bigint,
  o_photo text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '20s' AS $$
DECLARE
  v_job bigint[];
  v_is_first boolean;
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_cancel IS NOT NULL,
    'an erasure names a shard and whether open jobs are cancelled');
  PERFORM analysis.refuse_repeatable_read();
  LOCK TABLE analysis.renamed IN ROW EXCLUSIVE MODE;
  SELECT a.user_id INTO o_user FROM analysis.account a
  WHERE a.shard = p_shard
    AND (a.user_ref = normalize(p_user) OR p_user IS NULL AND a.user_id = p_user_id) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM analysis.lock_months(p_shard, o_user);

  -- 1. What is open, and its end.
  SELECT coalesce(array_agg(j.o_job), '{}') INTO v_job FROM analysis.jobs_of_user(p_shard, o_user, true) j;
  o_open := cardinality(v_job);
  o_cancelled := 0;
  IF o_open > 0 AND NOT p_cancel THEN
    RETURN NEXT;
    RETURN;
  END IF;
  PERFORM analysis.lock_jobs_of(p_shard, o_user);
  SELECT count(*) FILTER (WHERE c.o_outcome = 'cancelled') INTO o_cancelled
  FROM generate_series(1, o_open, 100000) n
  CROSS JOIN LATERAL analysis.cancel(p_shard, v_job[n : n + 99999]) c;
  o_open := 0;

  -- 2. Who they are, and the webhooks that receive their jobs.
  PERFORM analysis.erase_webhooks(p_shard, o_user);
  SELECT i.* INTO v_is_first, o_profile, o_keys, o_lines, o_photo
  FROM analysis.erase_identity(p_shard, o_user) i;

  -- 3. What was found, what clinicians said of it, and what went wrong.
  PERFORM analysis.erase_few(p_shard, o_user), analysis.erase_reviews(p_shard, o_user);
  v_job := ARRAY(SELECT j.o_job FROM analysis.jobs_of_user(p_shard, o_user, false) j);
  o_dead := analysis.erase_dead(p_shard, v_job);
  SELECT e.* INTO o_images, o_image_bytes, o_results, o_attempts, o_jobs
  FROM analysis.erase_months(p_shard, o_user, v_job, NULL, NULL) e;
  IF v_is_first OR o_cancelled + o_profile + o_keys + o_lines + o_images + o_results + o_dead + o_attempts
       + o_jobs > 0 THEN
    PERFORM analysis.audit_add(
      'erase', 'user:' || o_user, jsonb_build_object(
        'cancelled', o_cancelled, 'images', o_images, 'results', o_results, 'dead', o_dead,
        'attempts', o_attempts, 'jobs', o_jobs, 'keys', o_keys, 'lines', o_lines));
  END IF;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.erase_user IS
  'Erases a person: all that is kept of them, but for the counts of closed bills.';

-- Where the audit tells of a user's erasure: the latest entry, for the receipt.
CREATE OR REPLACE FUNCTION analysis.erasure_of(p_user_id bigint)
RETURNS TABLE (o_entry bigint, o_at timestamptz, o_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.id, a.at, encode(a.hash, 'hex') FROM analysis.audit a
  WHERE a.action = 'erase' AND a.object = 'user:' || p_user_id
  ORDER BY a.id DESC LIMIT 1
$$;
COMMENT ON FUNCTION analysis.erasure_of IS
  'Answers the entry of the audit that records a person''s erasure.';
