-- For back-ends that submit by SQL, inside transactions of their own. Images are submitted as they are: they
-- are marked unsanitized, and the worker cleans them before they leave. The shard is found from the user.

-- Whether bytes begin as a JPEG or a PNG does. Nothing else is looked at here: what is in them the worker
-- finds out, where it decodes them.
CREATE OR REPLACE FUNCTION analysis.has_image_signature(p_image bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT substr(p_image, 1, 3) = '\xffd8ff' OR substr(p_image, 1, 8) = '\x89504e470d0a1a0a'
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
    WHEN p_user IS NULL OR (octet_length(p_image) <= analysis.max_image_bytes(false)) IS NOT TRUE
      THEN 'bad_argument'
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
  SELECT s.o_outcome, s.o_reason, s.o_job
  FROM analysis.submit(
    analysis.shard_of(p_user), ARRAY[p_user], ARRAY[analysis.kind_named(p_kind)],
    ARRAY[analysis.priority_named(p_priority)], ARRAY[sha256(p_image)], ARRAY[p_image], NULL, NULL,
    ARRAY[true], ARRAY[p_key], ARRAY[p_at], ARRAY[p_expires], NULL, analysis.usual_attempts(), NULL, NULL) s;
END $$;
COMMENT ON FUNCTION analysis.submit_image IS
  'Submits one image of a user; answers the job, or why it was refused.';

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
           WHEN (octet_length(p_image) <= analysis.max_image_bytes(false)) IS NOT TRUE THEN 'p_images'
           WHEN NOT analysis.is_reference(p_reference) THEN 'p_references'
           WHEN NOT (length(p_key) BETWEEN 1 AND 200) THEN 'p_keys'
           WHEN NOT (p_at < timestamptz '2600-01-01 00:00:00+00' AND p_at > '-infinity') THEN 'p_at'
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

-- Submits many images, of one user or of several, each with its own type; what is NULL as a whole has its
-- default for all. The answers come in the order of the images. One that is refused does not stop the
-- others, unless p_errors is true: then the first refusal is an error, and nothing is submitted. They are in
-- the batch p_batch, which open_batch has made, and each has the reference by which it is found again.
CREATE OR REPLACE FUNCTION analysis.submit_images(
  p_users text[], p_kinds text[], p_images bytea[], p_keys text[] DEFAULT NULL,
  p_priorities text[] DEFAULT NULL, p_at timestamptz[] DEFAULT NULL, p_expires timestamptz[] DEFAULT NULL,
  p_errors boolean DEFAULT false, p_batch bigint DEFAULT NULL, p_references text[] DEFAULT NULL)
RETURNS TABLE ("position" int, outcome text, reason text, argument text, job_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
  v_count int := coalesce(cardinality(p_users), 0);
  v_reason text[];
  v_shard smallint[];
  v_outcome text[];
  v_job bigint[];
  v_of smallint;
  v_index int[];                       -- the images of a shard, in order
  v_first int;
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
  p_priorities := coalesce(p_priorities, array_fill('normal'::text, ARRAY[v_count]));

  -- 1. What each image says by itself is checked here; submit checks the rest.
  SELECT array_agg(t.reason ORDER BY t.i), array_agg(analysis.shard_of(t.user_ref) ORDER BY t.i)
  INTO v_reason, v_shard
  FROM (
    SELECT g.i, p_users[g.i] AS user_ref,
      CASE WHEN analysis.kind_named(p_kinds[g.i]) IS NULL
             OR analysis.priority_named(p_priorities[g.i]) IS NULL
             OR NOT analysis.is_reference(p_references[g.i]) THEN 'bad_argument'
           ELSE analysis.image_refusal(p_users[g.i], p_images[g.i]) END AS reason
    FROM generate_series(1, v_count) g(i)) t;
  v_outcome := array_fill('refused'::text, ARRAY[v_count]);
  v_job := array_fill(NULL::bigint, ARRAY[v_count]);
  IF p_batch IS NOT NULL THEN
    PERFORM analysis.require_own_batch(p_batch);
    PERFORM analysis.note_refusals(p_batch, array_agg(p_users[t.i]), array_agg(p_keys[t.i]))
    FROM unnest(v_reason) WITH ORDINALITY t(reason, i)
    WHERE t.reason IS NOT NULL
    HAVING count(*) > 0;
  END IF;

  -- 2. One call of submit for each shard, in order.
  FOR v_of, v_index IN
    SELECT t.shard, array_agg(t.i ORDER BY t.i)
    FROM unnest(v_shard, v_reason) WITH ORDINALITY t(shard, reason, i)
    WHERE t.reason IS NULL GROUP BY t.shard ORDER BY t.shard
  LOOP
    FOR v_first, outcome, reason, job_id IN
      SELECT v_index[s.o_index], s.o_outcome, s.o_reason, s.o_job
      FROM (
        SELECT array_agg(p_users[x.i] ORDER BY x.i) AS users,
          array_agg(analysis.kind_named(p_kinds[x.i]) ORDER BY x.i) AS kinds,
          array_agg(analysis.priority_named(p_priorities[x.i]) ORDER BY x.i) AS priorities,
          array_agg(sha256(p_images[x.i]) ORDER BY x.i) AS hashes,
          array_agg(p_images[x.i] ORDER BY x.i) AS images, array_agg(true) AS unsanitized,
          array_agg(p_keys[x.i] ORDER BY x.i) AS keys, array_agg(p_at[x.i] ORDER BY x.i) AS at,
          array_agg(p_expires[x.i] ORDER BY x.i) AS expires,
          array_agg(p_references[x.i] ORDER BY x.i) AS labels
        FROM unnest(v_index) x(i)) g
      CROSS JOIN LATERAL analysis.submit_in_batch(
        p_batch, g.labels, v_of, g.users, g.kinds, g.priorities, g.hashes, g.images, NULL, NULL,
        g.unsanitized, g.keys, g.at, g.expires, NULL, analysis.usual_attempts(), NULL, NULL) s
    LOOP
      v_outcome[v_first] := outcome;
      v_reason[v_first] := reason;
      v_job[v_first] := job_id;
    END LOOP;
  END LOOP;

  -- 3. The answers, in the order of the images.
  FOR i IN 1 .. v_count LOOP
    "position" := i;
    outcome := v_outcome[i];
    reason := v_reason[i];
    job_id := v_job[i];
    argument := CASE WHEN outcome = 'refused' THEN
      analysis.refused_argument(
        reason, p_users[i], p_kinds[i], p_images[i], p_keys[i], p_priorities[i], p_at[i],
        p_references[i]) END;
    IF p_errors AND outcome = 'refused' THEN
      PERFORM analysis.raise_refusal(i, reason, argument);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
COMMENT ON FUNCTION analysis.submit_images IS
  'Submits images of users; answers for each the job, or why it was refused and for which argument.';
