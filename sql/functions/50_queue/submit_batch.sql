-- Submitting in a batch, or with references. What is common to all submits is done by `submit`; here its
-- created jobs get their labels, in the same transaction.

-- Makes a batch and answers its number. A second call by the same login with the same key is answered with
-- the first one's batch: a run that is carried on stays one batch. It waits where the first is not committed.
CREATE OR REPLACE FUNCTION analysis.open_batch(p_name text DEFAULT NULL, p_key text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
  v_hash bytea := sha256(convert_to(p_key, 'UTF8'));
  v_batch bigint;
BEGIN
  PERFORM analysis.require_argument(
    (length(p_name) BETWEEN 1 AND 100 AND p_name !~ analysis.hidden_characters()) IS NOT FALSE,
    'a batch''s name has 1 to 100 characters, and none that cannot be seen');
  PERFORM analysis.require_argument(analysis.is_key(p_key), 'a batch''s key has 1 to 200 characters');
  PERFORM analysis.refuse_repeatable_read();
  LOOP
    SELECT b.id INTO v_batch FROM analysis.batch b
    WHERE b.key_hash = v_hash
      AND b.submitter IN (SELECT s.id FROM analysis.submitter s WHERE s.login = session_user);
    IF NOT FOUND THEN
      INSERT INTO analysis.batch (created_at, submitter, login, key_hash, name)
      VALUES (clock_timestamp(), analysis.new_submitter(), session_user, v_hash, p_name)
      ON CONFLICT DO NOTHING
      RETURNING id INTO v_batch;
    END IF;
    EXIT WHEN v_batch IS NOT NULL;
  END LOOP;
  RETURN v_batch;
END $$;
COMMENT ON FUNCTION analysis.open_batch IS
  'Makes a batch, or finds the one that this login made under the key before; answers its number.';

-- Whether a job can be called so by its submitter.
CREATE OR REPLACE FUNCTION analysis.is_reference(p_reference text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT (length(p_reference) BETWEEN 1 AND 200 AND p_reference !~ analysis.hidden_characters()) IS NOT FALSE
$$;

-- Refuses a batch that the login has not made itself, and holds it while it is used.
CREATE OR REPLACE FUNCTION analysis.require_own_batch(p_batch bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM analysis.batch b
  WHERE b.id = p_batch
    AND b.submitter IN (SELECT s.id FROM analysis.submitter s WHERE s.login = session_user)
  FOR KEY SHARE OF b;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'this login has made no batch %', p_batch USING ERRCODE = '22023',
      HINT = 'Make one with analysis.open_batch, and give the number that it answers.';
  END IF;
END $$;

-- By what a refused submit is counted once in its batch: its user and key. Without a key each is another.
CREATE OR REPLACE FUNCTION analysis.refusal_mark(p_salt uuid, p_user text, p_key text) RETURNS bytea
LANGUAGE sql VOLATILE AS $$
  SELECT sha256(
    convert_to(p_salt || coalesce(p_user, '') || E'\n' || coalesce(p_key, gen_random_uuid()::text), 'UTF8'))
$$;

-- Counts for a batch what was refused: by its users and keys, in one order, so that two who count the same
-- do not wait for each other in turn.
CREATE OR REPLACE FUNCTION analysis.note_refusals(p_batch bigint, p_users text[], p_keys text[])
RETURNS void
LANGUAGE sql AS $$
  INSERT INTO analysis.batch_refusal (batch_id, mark)
  SELECT DISTINCT b.id, analysis.refusal_mark(b.salt, t.user_ref, t.key) AS mark
  FROM analysis.batch b
  CROSS JOIN unnest(p_users, p_keys) t(user_ref, key)
  WHERE b.id = p_batch
  ORDER BY mark
  ON CONFLICT DO NOTHING
$$;

-- Takes back what was counted of submits that are taken now, under the keys under which they were refused.
CREATE OR REPLACE FUNCTION analysis.forget_refusals(p_batch bigint, p_users text[], p_keys text[])
RETURNS void
LANGUAGE sql AS $$
  DELETE FROM analysis.batch_refusal f
  USING (
    SELECT analysis.refusal_mark(b.salt, t.user_ref, t.key) AS mark
    FROM analysis.batch b
    CROSS JOIN unnest(p_users, p_keys) t(user_ref, key)
    WHERE b.id = p_batch AND t.key IS NOT NULL) g
  WHERE f.batch_id = p_batch AND f.mark = g.mark
$$;

-- Labels the jobs that a submit has created, and counts for the batch (NULL: there is none) what it refused.
-- A statement apart from the submit's sees the jobs: each says whose it is.
CREATE OR REPLACE FUNCTION analysis.label_jobs(
  p_batch bigint, p_shard smallint, p_users text[], p_keys text[], p_references text[],
  p_answers analysis.submit_answer[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id, reference)
  SELECT p_shard, s.period, s.job_id, j.user_id, p_batch, p_references[s.index]
  FROM unnest(p_answers) s
  CROSS JOIN LATERAL (
    SELECT k.user_id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = s.period AND k.id = s.job_id OFFSET 0) j
  WHERE s.outcome = 'created' AND (p_batch IS NOT NULL OR p_references[s.index] IS NOT NULL)
  ORDER BY s.job_id;
  IF p_batch IS NOT NULL THEN
    PERFORM analysis.note_refusals(p_batch, array_agg(p_users[s.index]), array_agg(p_keys[s.index]))
    FROM unnest(p_answers) s
    WHERE s.outcome = 'refused'
    HAVING count(*) > 0;
    PERFORM analysis.forget_refusals(p_batch, array_agg(p_users[s.index]), array_agg(p_keys[s.index]))
    FROM unnest(p_answers) s
    WHERE s.outcome = 'created' AND p_keys[s.index] IS NOT NULL
    HAVING count(*) > 0;
  END IF;
END $$;

-- Submits as `submit` does, with the same answer, in a batch (NULL: in none) and with a reference for each
-- job (NULL for one, or as a whole: none). p_wakes: the workers are woken when it is committed; o_woken says
-- whether they are. Where p_jobs has lengths of objects, p_images has their keys: see submit_objects.
CREATE OR REPLACE FUNCTION analysis.submit_in_batch(
  p_batch bigint, p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_max_attempts smallint,
  p_wakes boolean)
RETURNS TABLE (
  o_index int, o_outcome text, o_reason text, o_job bigint, o_period smallint, o_limit int, o_used int,
  o_woken boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s' AS $$
DECLARE
  v_user text[] := analysis.composed(p_jobs."user");
  v_answer analysis.submit_answer[];
BEGIN
  PERFORM analysis.require_argument(
    p_jobs.reference IS NULL OR array_dims(p_jobs.reference) = array_dims(v_user) AND NOT EXISTS (
      SELECT FROM unnest(p_jobs.reference) r(reference) WHERE NOT analysis.is_reference(r.reference)),
    'there is a reference for each job, and it has 1 to 200 characters, and none that cannot be seen');
  IF p_batch IS NOT NULL THEN
    PERFORM analysis.require_own_batch(p_batch);
  END IF;
  IF p_jobs.object_bytes IS NOT NULL THEN
    p_jobs."user" := v_user;
    v_answer := analysis.submit_objects(p_shard, p_jobs, p_images, p_max_attempts);
  ELSE
    v_answer := ARRAY(
      SELECT ROW(s.o_index, s.o_outcome, s.o_reason, s.o_job, s.o_period, s.o_limit, s.o_used)
        ::analysis.submit_answer
      FROM analysis.submit(
        p_shard, v_user, p_jobs.kind, p_jobs.priority, p_jobs.sha256, p_images, p_jobs.width, p_jobs.height,
        p_jobs.unsanitized, p_jobs.key, p_jobs.at, p_jobs.expires, p_jobs.source, p_max_attempts,
        p_jobs.encrypted_by, p_jobs.wrapped_key) s);
  END IF;
  PERFORM analysis.label_jobs(p_batch, p_shard, v_user, p_jobs.key, p_jobs.reference, v_answer);
  o_woken := CASE WHEN p_wakes AND cardinality(v_answer) > 0 THEN analysis.wake_workers(p_shard) END;
  RETURN QUERY SELECT a.*, o_woken FROM unnest(v_answer) a;
END $$;
COMMENT ON FUNCTION analysis.submit_in_batch IS
  'Submits many jobs of one shard in one transaction, in a batch or with references; answers as submit does.';

-- Counts for a batch what was refused before it came to the database, such as a file that is no image: by
-- its user, and by its key if it has one.
CREATE OR REPLACE FUNCTION analysis.add_refusals(p_batch bigint, p_users text[], p_keys text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_users) BETWEEN 1 AND 100000 AND analysis.is_list(p_users, cardinality(p_users))
      AND analysis.is_list(p_keys, cardinality(p_users)) AND NOT EXISTS (
        SELECT FROM unnest(p_users, p_keys) t(user_ref, key)
        WHERE length(t.user_ref) > 200 OR length(t.key) > 200),
    'from 1 to 100000 refusals are added in a call, each with a user and a key of at most 200 characters');
  PERFORM analysis.require_own_batch(p_batch);
  PERFORM analysis.note_refusals(p_batch, p_users, p_keys);
END $$;
COMMENT ON FUNCTION analysis.add_refusals IS
  'Counts for a batch what was refused before it came to the database.';

-- The users of a shard who have these names, with their present months.
CREATE OR REPLACE FUNCTION analysis.users_now(p_shard smallint, p_users text[], p_now timestamptz)
RETURNS TABLE (user_ref text, user_id bigint, key_salt bytea, period smallint)
LANGUAGE sql STABLE AS $$
  SELECT a.user_ref, a.user_id, a.key_salt, analysis.period_at(p_now, a.zone, a.anchors)
  FROM unnest(p_users) d(user_ref)
  CROSS JOIN LATERAL (
    SELECT k.user_ref, k.user_id, k.key_salt, k.zone, k.anchors FROM analysis.account k
    WHERE k.shard = p_shard AND k.user_ref = d.user_ref AND k.erased_at IS NULL OFFSET 0) a
$$;

-- Which of some pictures would be paid for again: the user has a job of this month, or of the last day, that
-- the same login has submitted with the same picture and type and that has an analysis or may still get one,
-- and the key is not known, so that a submit would make another. A picture by the hash under which it would
-- be stored; NULL: any one of that type. Jobs that died or were cancelled cost nothing, and do not count.
CREATE OR REPLACE FUNCTION analysis.billed_before(
  p_shard smallint, p_user text[], p_kind smallint[], p_key text[], p_sha256 bytea[])
RETURNS TABLE (o_index int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_count int := coalesce(cardinality(p_user), 0);
  v_submitters smallint[] := analysis.own_submitters('{}');
  v_mark bytea[];                      -- of the pictures, each once
BEGIN
  IF v_count = 0 THEN
    RETURN;
  END IF;
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND v_count <= 100000 AND analysis.is_list(p_user, v_count)
      AND analysis.is_list(p_kind, v_count) AND (p_key IS NULL OR analysis.is_list(p_key, v_count))
      AND (p_sha256 IS NULL OR analysis.is_list(p_sha256, v_count)),
    'the arrays have one element for each picture, at most 100000');
  p_user := analysis.composed(p_user);
  v_mark := ARRAY(
    SELECT DISTINCT substr(h.sha256, 1, 16) FROM unnest(p_sha256) h(sha256) WHERE h.sha256 IS NOT NULL);
  RETURN QUERY
  WITH asked AS MATERIALIZED (
    SELECT t.i, t.user_ref, t.kind, t.key, substr(t.sha256, 1, 16) AS mark FROM (
      SELECT generate_series(1, v_count) AS i, unnest(p_user) AS user_ref, unnest(p_kind) AS kind,
        unnest(p_key) AS key, unnest(p_sha256) AS sha256) t),
  known AS MATERIALIZED (
    SELECT k.* FROM analysis.users_now(p_shard, ARRAY(SELECT DISTINCT t.user_ref FROM asked t), v_now) k),
  -- Most jobs of a month show other pictures, and are passed over before anything else is looked up. Here and
  -- below the order asks for the index of users: see make_partition.
  shown AS MATERIALIZED (
    SELECT n.user_ref, j.kind, j.image_mark AS mark
    FROM known n
    CROSS JOIN LATERAL analysis.months_of_day(p_shard, n.user_id, v_now) m
    CROSS JOIN LATERAL (
      SELECT k.id, k.period, k.kind, k.image_mark FROM analysis.job k
      WHERE k.shard = p_shard AND k.user_id BETWEEN n.user_id AND n.user_id AND k.period = m.o_period
        AND (k.period = n.period OR k.created_at > v_now - interval '1 day')
        AND k.image_mark = ANY (v_mark)
        AND (v_submitters IS NULL OR k.submitter = ANY (v_submitters))
      ORDER BY k.user_id) j
    WHERE cardinality(v_mark) > 0 AND analysis.is_paid(p_shard, j.period, j.id)),
  kinds AS MATERIALIZED (
    SELECT n.user_ref, d.kind
    FROM (SELECT DISTINCT t.user_ref, t.kind FROM asked t WHERE t.mark IS NULL) d
    JOIN known n ON n.user_ref = d.user_ref
    WHERE EXISTS (
      SELECT FROM analysis.months_of_day(p_shard, n.user_id, v_now) m
      CROSS JOIN LATERAL (
        SELECT k.id FROM analysis.job k
        WHERE k.shard = p_shard AND k.user_id BETWEEN n.user_id AND n.user_id AND k.period = m.o_period
          AND k.kind = d.kind AND (k.period = n.period OR k.created_at > v_now - interval '1 day')
          AND (v_submitters IS NULL OR k.submitter = ANY (v_submitters))
        ORDER BY k.user_id) j
      WHERE analysis.is_paid(p_shard, m.o_period, j.id)))
  SELECT t.i
  FROM asked t
  JOIN known n ON n.user_ref = t.user_ref
  WHERE CASE WHEN t.mark IS NULL
      THEN (t.user_ref, t.kind) IN (SELECT d.user_ref, d.kind FROM kinds d)
      ELSE (t.user_ref, t.kind, t.mark) IN (SELECT s.user_ref, s.kind, s.mark FROM shown s) END
    AND NOT EXISTS (
      SELECT FROM analysis.job_of_key(
        p_shard, n.user_id, analysis.key_hash(n.key_salt, t.key), analysis.old_key_hash(n.key_salt, t.key)))
  ORDER BY t.i;
END $$;
COMMENT ON FUNCTION analysis.billed_before IS
  'Answers which of some pictures a submit would pay for again this month.';
