-- For back-ends that submit by SQL, inside transactions of their own. Images are submitted as they are: they
-- are marked unsanitized, and the worker cleans them before they leave. The shard is found from the user.

-- Whether bytes begin as a JPEG or a PNG does. Nothing else is looked at here: what is in them the worker
-- finds out, where it decodes them.
CREATE OR REPLACE FUNCTION analysis.has_image_signature(p_image bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT substr(p_image, 1, 3) = '\xffd8ff' OR substr(p_image, 1, 8) = '\x89504e470d0a1a0a'
$$;

-- Whether there is a file, and it is not too long to be stored in plaintext.
CREATE OR REPLACE FUNCTION analysis.is_short_file(p_image bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT (octet_length(p_image) <= analysis.max_image_bytes(false)) IS TRUE
$$;

-- Types and priorities by their names; NULL for a name that is none.
CREATE OR REPLACE FUNCTION analysis.kind_named(p_name text) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_name WHEN 'throat' THEN 1 WHEN 'ear' THEN 2 END::smallint
$$;

CREATE OR REPLACE FUNCTION analysis.priority_named(p_name text) RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_name WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END::smallint
$$;

-- Why an image that is submitted as it is in its file is refused before submit judges the rest; NULL: it is
-- not.
CREATE OR REPLACE FUNCTION analysis.image_refusal(p_user text, p_image bytea) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN p_user IS NULL OR NOT analysis.is_short_file(p_image) THEN 'bad_argument'
    WHEN NOT analysis.has_image_signature(p_image) THEN 'not_an_image' END
$$;

-- Submits one image.
CREATE OR REPLACE FUNCTION analysis.submit_image(
  p_user text, p_kind text, p_image bytea, p_key text DEFAULT NULL, p_priority text DEFAULT 'normal',
  p_at timestamptz DEFAULT NULL, p_expires timestamptz DEFAULT NULL)
RETURNS TABLE (outcome text, reason text, job_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_refusal text := analysis.image_refusal(p_user, p_image);
BEGIN
  IF v_refusal IS NOT NULL THEN
    RETURN QUERY SELECT 'refused', v_refusal, NULL::bigint;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT s.outcome, s.reason, s.job_id
  FROM analysis.submit_one(
    analysis.shard_of(p_user), p_image,
    ROW(p_user, analysis.kind_named(p_kind), analysis.priority_named(p_priority), sha256(p_image), NULL, NULL,
      true, p_key, p_at, p_expires, NULL, NULL, NULL)::analysis.submission, analysis.usual_attempts()) s;
END $$;
COMMENT ON FUNCTION analysis.submit_image IS
  'Submits one image of a user; answers the job, or why it was refused.';

-- Whether an object may not be submitted: an image of another user or another hash names it, or it is to be
-- removed. Two that name one at the same moment name the same picture, since a worker looks at the hash.
CREATE OR REPLACE FUNCTION analysis.is_object_taken(
  p_object text, p_shard smallint, p_user text, p_sha256 bytea)
RETURNS boolean
LANGUAGE sql STABLE SET enable_seqscan = off AS $$
  SELECT EXISTS (SELECT FROM analysis.lost_object l WHERE l.object_key = p_object)
    OR EXISTS (
      SELECT FROM analysis.image i
      WHERE i.object_key = p_object COLLATE "C" AND NOT (
        i.sha256 = p_sha256 AND i.shard = p_shard AND EXISTS (
          SELECT FROM analysis.account a
          WHERE a.shard = p_shard AND a.user_id = i.user_id AND a.user_ref = normalize(p_user))))
$$;

-- Submits one image that its submitter has put into the object store, under a key as the programs make them.
-- An object that no job comes of is removed.
CREATE OR REPLACE FUNCTION analysis.submit_object(
  p_user text, p_kind text, p_object text, p_sha256 bytea, p_bytes int, p_key text DEFAULT NULL,
  p_priority text DEFAULT 'normal', p_at timestamptz DEFAULT NULL, p_encrypted_by bigint DEFAULT NULL,
  p_wrapped_key bytea DEFAULT NULL)
RETURNS TABLE (outcome text, reason text, job_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_shard smallint := analysis.shard_of(p_user);
  v_store record := analysis.image_store();
  v_key bytea := convert_to(p_object, 'UTF8');
  v_refusal text := CASE
    WHEN v_store.o_store = 'database'
      THEN 'objects_refused: the setting image_store is database: use analysis.submit_image'
    WHEN p_user IS NULL OR p_bytes IS NULL THEN 'bad_argument'
    WHEN v_key IS NULL OR NOT analysis.are_objects(ARRAY[v_key])
      THEN 'bad_argument: p_object is ' || v_store.o_prefix || 'YYYYMM/xx/ and 32 hexadecimal digits'
    WHEN analysis.is_object_taken(p_object, v_shard, p_user, p_sha256) THEN 'object_taken' END;
BEGIN
  IF v_refusal IS NOT NULL THEN
    RETURN QUERY SELECT 'refused', v_refusal, NULL::bigint;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT s.o_outcome, s.o_reason, s.o_job
  FROM analysis.submit_in_batch(
    NULL, v_shard,
    ROW(ARRAY[p_user], ARRAY[analysis.kind_named(p_kind)], ARRAY[analysis.priority_named(p_priority)],
      ARRAY[p_sha256], NULL, NULL, ARRAY[true], ARRAY[p_key], ARRAY[p_at], NULL, NULL,
      ARRAY[p_encrypted_by], ARRAY[p_wrapped_key], NULL, ARRAY[p_bytes])::analysis.submissions,
    ARRAY[v_key], analysis.usual_attempts(), false) s;
END $$;
COMMENT ON FUNCTION analysis.submit_object IS
  'Submits one image of a user that is in the object store; answers the job, or why it was refused.';

-- The argument for which a submit is refused, as far as an argument is the cause.
CREATE OR REPLACE FUNCTION analysis.refused_argument(
  p_reason text, p_user text, p_kind text, p_image bytea, p_key text, p_priority text, p_at timestamptz,
  p_reference text)
RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE p_reason
    WHEN 'unknown_user' THEN 'p_users'
    WHEN 'quota' THEN 'p_users'
    WHEN 'waiting_limit' THEN 'p_users'
    WHEN 'not_an_image' THEN 'p_images'
    WHEN 'plaintext_refused' THEN 'p_images'
    WHEN 'key_conflict' THEN 'p_keys'
    WHEN 'no_partition' THEN 'p_at'
    WHEN 'expired' THEN 'p_expires'
    WHEN 'bad_argument' THEN
      CASE WHEN p_user IS NULL THEN 'p_users'
           WHEN analysis.kind_named(p_kind) IS NULL THEN 'p_kinds'
           WHEN analysis.priority_named(p_priority) IS NULL THEN 'p_priorities'
           WHEN NOT analysis.is_short_file(p_image) THEN 'p_images'
           WHEN NOT analysis.is_reference(p_reference) THEN 'p_references'
           WHEN NOT analysis.is_key(p_key) THEN 'p_keys'
           WHEN NOT analysis.is_start(p_at) THEN 'p_at'
           ELSE 'p_expires' END END
$$;

-- What a refused submit raises where its caller wants errors: a state of the server's own, and what to do.
CREATE OR REPLACE FUNCTION analysis.refusal_advice(p_reason text, OUT o_state text, OUT o_advice text)
LANGUAGE sql IMMUTABLE AS $$
  SELECT r.state, r.advice
  FROM (VALUES
    ('quota', '53400', 'The user''s monthly limit is reached: wait for the next month, or raise the limit.'),
    ('waiting_limit', '53400', 'The user has too many jobs waiting: submit again when some have ended.'),
    ('queue_full', '53400', 'Too many jobs wait in all: submit again later.'),
    ('storage_full', '53100', 'The database has no room: tell the operator.'),
    ('unknown_user', 'P0002', 'Add the user first: analysisctl users add.'),
    ('key_conflict', '23505', 'The key is another image''s or type''s: give each image a key of its own.'),
    ('not_an_image', '22023', 'Give the bytes of a JPEG or a PNG as they are in the file.'),
    ('plaintext_refused', '42501', 'Only encrypted images are taken: use analysisctl submit --key-file.'),
    ('no_partition', '22023', 'Name an earlier time: the month has not been prepared.'),
    ('expired', '22023', 'Name a later expiry, or none.'),
    ('bad_argument', '22023', 'Give a value of the argument''s range: see docs/sql.md.'))
    r(reason, state, advice)
  WHERE r.reason = p_reason
$$;

-- Raises the refusal of an image as an error, which names the reason and the argument for programs.
CREATE OR REPLACE FUNCTION analysis.raise_refusal(p_position int, p_reason text, p_argument text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_advice record := analysis.refusal_advice(p_reason);
BEGIN
  RAISE EXCEPTION 'image % of the call is refused: %', p_position, p_reason
    USING ERRCODE = coalesce(v_advice.o_state, '22023'),
      DETAIL = format(
        'reason: %s; image: %s; argument: %s', p_reason, p_position, coalesce(p_argument, 'none')),
      HINT = coalesce(v_advice.o_advice, 'See docs/sql.md.');
END $$;

-- What a submit of images by SQL says of each: the jobs as submit takes them, why each is refused before
-- submit judges the rest (NULL: it is not), and the shard of its user. Of an image that is refused nothing is
-- computed.
CREATE OR REPLACE FUNCTION analysis.images_judged(
  p_images bytea[], p_jobs analysis.submissions, p_kinds text[], p_priorities text[],
  OUT o_jobs analysis.submissions, OUT o_reasons text[], OUT o_shards smallint[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
  o_jobs := p_jobs;
  SELECT array_agg(t.kind ORDER BY t.i), array_agg(t.priority ORDER BY t.i), array_agg(true),
    array_agg(CASE WHEN t.reason IS NULL THEN sha256(p_images[t.i]) END ORDER BY t.i),
    array_agg(t.reason ORDER BY t.i), array_agg(analysis.shard_of(t.user_ref) ORDER BY t.i)
  INTO o_jobs.kind, o_jobs.priority, o_jobs.unsanitized, o_jobs.sha256, o_reasons, o_shards
  FROM (
    SELECT g.*, CASE WHEN g.kind IS NULL OR g.priority IS NULL OR NOT analysis.is_reference(g.reference)
        THEN 'bad_argument' ELSE analysis.image_refusal(g.user_ref, p_images[g.i]) END AS reason
    FROM (
      SELECT u.i, u.user_ref, u.reference, analysis.kind_named(u.kind) AS kind,
        analysis.priority_named(coalesce(u.priority, CASE WHEN p_priorities IS NULL THEN 'normal' END))
          AS priority
      FROM unnest(p_jobs."user", p_kinds, p_priorities, p_jobs.reference)
        WITH ORDINALITY u(user_ref, kind, priority, reference, i)) g) t;
END $$;

-- Those of some jobs that are at these places, which are in order.
CREATE OR REPLACE FUNCTION analysis.submissions_at(p_jobs analysis.submissions, p_places int[])
RETURNS analysis.submissions
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (
    SELECT ROW(
      array_agg(t."user" ORDER BY t.i), array_agg(t.kind ORDER BY t.i), array_agg(t.priority ORDER BY t.i),
      array_agg(t.sha256 ORDER BY t.i), NULL::int[], NULL::int[], array_agg(t.unsanitized ORDER BY t.i),
      array_agg(t.key ORDER BY t.i), array_agg(t.at ORDER BY t.i), array_agg(t.expires ORDER BY t.i),
      NULL::text[], NULL::bigint[], NULL::bytea[], array_agg(t.reference ORDER BY t.i),
      NULL::int[])::analysis.submissions
    FROM unnest(
      p_jobs."user", p_jobs.kind, p_jobs.priority, p_jobs.sha256, p_jobs.unsanitized, p_jobs.key, p_jobs.at,
      p_jobs.expires, p_jobs.reference)
      WITH ORDINALITY t("user", kind, priority, sha256, unsanitized, key, at, expires, reference, i)
    WHERE t.i = ANY (p_places));
END $$;

-- Submits those images that are not refused already, in one call of submit for each shard, in order. Answers
-- what became of each of all: its outcome, why it is refused, and its job.
CREATE OR REPLACE FUNCTION analysis.submit_judged(
  p_batch bigint, p_images bytea[], p_jobs analysis.submissions, p_reasons text[], p_shards smallint[],
  OUT o_outcomes text[], OUT o_reasons text[], OUT o_jobs bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  v_count int := coalesce(cardinality(p_reasons), 0);
  v_shard smallint;
  v_place int[];                       -- the images of a shard, in order
  v_one record;
BEGIN
  o_outcomes := array_fill('refused'::text, ARRAY[v_count]);
  o_reasons := p_reasons;
  o_jobs := array_fill(NULL::bigint, ARRAY[v_count]);
  FOR v_shard, v_place IN
    SELECT t.shard, array_agg(t.i ORDER BY t.i)
    FROM unnest(p_shards, p_reasons) WITH ORDINALITY t(shard, reason, i)
    WHERE t.reason IS NULL GROUP BY t.shard ORDER BY t.shard
  LOOP
    FOR v_one IN
      SELECT v_place[s.o_index] AS place, s.o_outcome, s.o_reason, s.o_job
      FROM analysis.submit_in_batch(
        p_batch, v_shard, analysis.submissions_at(p_jobs, v_place),
        ARRAY(SELECT p_images[x.i] FROM unnest(v_place) WITH ORDINALITY x(i, n) ORDER BY x.n),
        analysis.usual_attempts(), false) s
    LOOP
      o_outcomes[v_one.place] := v_one.o_outcome;
      o_reasons[v_one.place] := v_one.o_reason;
      o_jobs[v_one.place] := v_one.o_job;
    END LOOP;
  END LOOP;
END $$;

-- Submits many images, of one user or of several, each with its own type; what is NULL as a whole has its
-- default for all. The answers come in the order of the images. One that is refused does not stop the
-- others, unless p_errors is true: then the first refusal is an error, and nothing is submitted. They are in
-- the batch p_batch, which open_batch has made, and each has the reference by which it is found again.
CREATE OR REPLACE FUNCTION analysis.submit_images(
  p_users text[], p_kinds text[], p_images bytea[], p_keys text[] DEFAULT NULL,
  p_priorities text[] DEFAULT NULL, p_at timestamptz[] DEFAULT NULL, p_expires timestamptz[] DEFAULT NULL,
  p_errors boolean DEFAULT false, p_batch bigint DEFAULT NULL, p_references text[] DEFAULT NULL)
RETURNS TABLE ("position" int, outcome text, reason text, argument text, job_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_count int := coalesce(cardinality(p_users), 0);
  v_judged record;
  v_done record;
BEGIN
  PERFORM analysis.require_argument(
    v_count <= 1000 AND p_errors IS NOT NULL AND analysis.is_list(p_users, v_count)
      AND analysis.is_list(p_kinds, v_count) AND analysis.is_list(p_images, v_count)
      AND (p_keys IS NULL OR analysis.is_list(p_keys, v_count))
      AND (p_priorities IS NULL OR analysis.is_list(p_priorities, v_count))
      AND (p_at IS NULL OR analysis.is_list(p_at, v_count))
      AND (p_expires IS NULL OR analysis.is_list(p_expires, v_count))
      AND (p_references IS NULL OR analysis.is_list(p_references, v_count)),
    'p_users, p_kinds and p_images have an element for each image, at most 1000, and the others too or are '
    'NULL');
  -- What each image says by itself is checked here; submit checks the rest.
  v_judged := analysis.images_judged(
    p_images, ROW(p_users, NULL, NULL, NULL, NULL, NULL, NULL, p_keys, p_at, p_expires, NULL, NULL, NULL,
      p_references, NULL)::analysis.submissions, p_kinds, p_priorities);
  IF p_batch IS NOT NULL THEN
    PERFORM analysis.require_own_batch(p_batch);
    PERFORM analysis.note_refusals(p_batch, array_agg(t.user_ref), array_agg(t.key))
    FROM unnest(p_users, p_keys, v_judged.o_reasons) t(user_ref, key, reason)
    WHERE t.reason IS NOT NULL
    HAVING count(*) > 0;
  END IF;
  v_done := analysis.submit_judged(p_batch, p_images, v_judged.o_jobs, v_judged.o_reasons, v_judged.o_shards);
  FOR i IN 1 .. v_count LOOP
    "position" := i;
    outcome := v_done.o_outcomes[i];
    -- Without the advice that submit_image gives after it.
    reason := split_part(v_done.o_reasons[i], ':', 1);
    job_id := v_done.o_jobs[i];
    argument := CASE WHEN outcome = 'refused' THEN
      analysis.refused_argument(
        reason, p_users[i], p_kinds[i], p_images[i], p_keys[i],
        CASE WHEN p_priorities IS NULL THEN 'normal' ELSE p_priorities[i] END, p_at[i], p_references[i]) END;
    IF p_errors AND outcome = 'refused' THEN
      PERFORM analysis.raise_refusal(i, reason, argument);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
COMMENT ON FUNCTION analysis.submit_images IS
  'Submits images of users; answers for each the job, or why it was refused and for which argument.';
