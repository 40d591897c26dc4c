-- The usual submit: one job, of a known user, that may run at once and of which nothing speaks against.
--
-- For one job the set-based steps of `submit` cost mostly the setting up of their plans. Here each step is a
-- statement about one row. What is not usual (a refusal of any kind, a key that is there already, an image of
-- another month) is answered with NULL, with nothing written but perhaps an empty counter of the month, and
-- goes the general way: there alone stands what becomes of it.

-- Whether what a submit says of a job can be true at all.
CREATE OR REPLACE FUNCTION analysis.is_sound(
  p_user text, p_kind smallint, p_priority smallint, p_sha256 bytea, p_image_bytes int, p_width int,
  p_height int, p_key text, p_source text, p_at timestamptz)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_user IS NOT NULL AND p_kind IN (1, 2)
    AND p_priority BETWEEN 0 AND 2 AND octet_length(p_sha256) = 32
          AND coalesce(p_image_bytes BETWEEN 1 AND analysis.max_image_bytes(true), true)
          AND coalesce(p_width BETWEEN 1 AND 100000, true) AND coalesce(p_height BETWEEN 1 AND 100000, true)
          AND analysis.is_key(p_key) AND coalesce(length(p_source) <= 500, true)
          AND analysis.is_start(p_at)) IS TRUE
$$;

-- Whether an image can be encrypted as a submit says: under which key, how long its own key under that one
-- is, and how long it is itself. NULL for all that is not: as plaintext, which is no longer than a file
-- may be, or not given.
CREATE OR REPLACE FUNCTION analysis.is_soundly_encrypted(
  p_encrypted_by bigint, p_wrapped_key_bytes int, p_image_bytes int)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_encrypted_by IS NULL
              THEN p_wrapped_key_bytes IS NULL
                AND coalesce(p_image_bytes <= analysis.max_image_bytes(false), true)
              ELSE p_encrypted_by > 0 AND p_wrapped_key_bytes = 72 AND p_image_bytes > 40 END IS TRUE
$$;

-- The number of the login that submits, by which its jobs know it, made where there is none: one that is
-- free, since a number that is drawn from a sequence is used up by a submit that is undone. Sessions of a
-- login whose first submits are open at the same time take one each, so that none waits for another.
CREATE OR REPLACE FUNCTION analysis.new_submitter() RETURNS smallint
LANGUAGE plpgsql AS $$
DECLARE
  v_id smallint;
BEGIN
  FOR v_try IN 1 .. 100 LOOP
    v_id := (SELECT min(s.id) FROM analysis.submitter s WHERE s.login = session_user);
    IF v_id IS NOT NULL THEN
      RETURN v_id;
    END IF;
    -- Any of them, so that two who submit for the first time hardly ever meet.
    INSERT INTO analysis.submitter (id, login)
    SELECT g.id, session_user FROM generate_series(1, 32767) g(id)
    WHERE NOT EXISTS (SELECT FROM analysis.submitter s WHERE s.id = g.id)
    ORDER BY random() LIMIT 1
    ON CONFLICT DO NOTHING;
  END LOOP;
  RAISE EXCEPTION 'no number is left for login %, which submits for the first time', session_user
    USING ERRCODE = 'configuration_limit_exceeded',
      HINT = 'The owner removes from analysis.submitter logins that are gone and have no jobs.';
END $$;

DROP FUNCTION IF EXISTS analysis.submit_single(
  smallint, text, smallint, smallint, bytea, bytea, int, int, boolean, text, timestamptz, text, smallint,
  bigint, bytea, bigint, timestamptz, smallint);

-- How a user's key is kept: with the login that submits, so that a key belongs to it alone; and how all keys
-- were kept by version 1.0. They are stable as convert_to is, so that they become a part of what calls them.
-- No text has the byte between login and key.
CREATE OR REPLACE FUNCTION analysis.key_hash(p_salt bytea, p_key text) RETURNS bytea
LANGUAGE sql STABLE AS $$
  SELECT sha256(p_salt || convert_to(session_user, 'UTF8') || '\x00' || convert_to(p_key, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION analysis.old_key_hash(p_salt bytea, p_key text) RETURNS bytea
LANGUAGE sql STABLE AS $$
  SELECT sha256(p_salt || convert_to(p_key, 'UTF8'))
$$;

-- The job of a key of this login. One that is kept as by version 1.0 is of the login that submitted the job;
-- where the job was removed after its time, of whoever repeats it.
CREATE OR REPLACE FUNCTION analysis.job_of_key(
  p_shard smallint, p_user bigint, p_hash bytea, p_old_hash bytea)
RETURNS TABLE (o_job bigint, o_content bytea, o_period smallint)
LANGUAGE sql STABLE AS $$
  SELECT k.job_id, k.content_hash, k.period FROM analysis.idem k
  WHERE k.shard = p_shard AND k.user_id = p_user AND k.key_hash = p_hash
  UNION ALL
  SELECT k.job_id, k.content_hash, k.period FROM analysis.idem k
  WHERE k.shard = p_shard AND k.user_id = p_user AND k.key_hash = p_old_hash AND NOT EXISTS (
    SELECT FROM analysis.job j
    WHERE j.shard = k.shard AND j.period = k.period AND j.id = k.job_id AND j.submitter NOT IN (
      SELECT s.id FROM analysis.submitter s WHERE s.login = session_user))
  LIMIT 1
$$;

-- Why an image in plaintext is refused where the setting require_encryption is yes.
CREATE OR REPLACE FUNCTION analysis.plaintext_refusal() RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT 'plaintext_refused: use analysisctl submit --key-file'
$$;

-- Whether a single job is sound in all that most jobs say nothing of.
CREATE OR REPLACE FUNCTION analysis.is_sound_in_full(
  p_one analysis.submission, p_image_bytes int, p_now timestamptz)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN coalesce(p_one.expires > p_now, true) AND analysis.is_expiry(p_one.expires)
    AND analysis.is_sound(
      p_one."user", p_one.kind, p_one.priority, p_one.sha256, p_image_bytes, p_one.width, p_one.height,
      p_one.key, p_one.source, NULL)
    AND analysis.is_soundly_encrypted(p_one.encrypted_by, octet_length(p_one.wrapped_key), p_image_bytes);
END $$;

-- The months in which a user's jobs of the day before a moment count: one, or two where a month has begun.
CREATE OR REPLACE FUNCTION analysis.months_of_day(p_shard smallint, p_user bigint, p_now timestamptz)
RETURNS TABLE (o_period smallint)
LANGUAGE sql STABLE AS $$
  SELECT DISTINCT analysis.period_at(p_now - d.ago, a.zone, a.anchors)
  FROM analysis.account a, (VALUES (interval '0'), (interval '1 day')) d(ago)
  WHERE a.shard = p_shard AND a.user_id = p_user
$$;

-- Whether a user can have submitted an image in the day before: it is stored. As in the other looks for a
-- hash, the order asks for the index of hashes: see make_partition.
CREATE OR REPLACE FUNCTION analysis.is_photo_stored(
  p_shard smallint, p_user bigint, p_sha256 bytea, p_now timestamptz)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM analysis.months_of_day(p_shard, p_user, p_now) m
    CROSS JOIN LATERAL (
      SELECT FROM analysis.image i
      WHERE i.shard = p_shard AND i.period = m.o_period AND i.user_id = p_user
        AND i.sha256 BETWEEN p_sha256 AND p_sha256 AND i.reusable
      ORDER BY i.sha256 LIMIT 1) i);
END $$;

-- Whether a job's unit is used, or will be: it has an analysis, or may still get one.
CREATE OR REPLACE FUNCTION analysis.is_paid(p_shard smallint, p_period smallint, p_job bigint)
RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT NOT EXISTS (
      SELECT FROM analysis.result r
      WHERE r.shard = p_shard AND r.period = p_period AND r.job_id = p_job AND r.outcome = 2)
    AND NOT EXISTS (SELECT FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = p_job)
$$;

-- The jobs that this login has submitted for a user in the day before, with one of these images, and that
-- have an analysis or may still get one. Of each month the newest 10,000 are looked at: most show others. The
-- order asks for the index of users: see make_partition.
CREATE OR REPLACE FUNCTION analysis.jobs_of_day(
  p_shard smallint, p_user bigint, p_marks bytea[], p_now timestamptz)
RETURNS TABLE (o_job bigint, o_period smallint, o_kind smallint, o_mark bytea)
LANGUAGE sql STABLE AS $$
  SELECT j.id, j.period, j.kind, j.image_mark
  FROM analysis.months_of_day(p_shard, p_user, p_now) m
  CROSS JOIN LATERAL (
    SELECT k.id, k.period, k.kind, k.image_mark, k.created_at, k.submitter FROM analysis.job k
    WHERE k.shard = p_shard AND k.user_id BETWEEN p_user AND p_user AND k.period = m.o_period
    ORDER BY k.user_id DESC, k.id DESC LIMIT 10000) j
  WHERE j.image_mark = ANY (p_marks) AND j.created_at > p_now - interval '1 day'
    AND j.submitter IN (SELECT s.id FROM analysis.submitter s WHERE s.login = session_user)
    AND analysis.is_paid(p_shard, j.period, j.id)
$$;

-- Whether a single job may be one that is there already, by what is seldom asked: its key as version 1.0 kept
-- it, or its photo where one is one job a day.
CREATE OR REPLACE FUNCTION analysis.may_be_repeat(
  p_shard smallint, p_is_stored boolean, p_one analysis.submission, p_job analysis.single_job)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN p_job.has_old_keys AND EXISTS (
      SELECT FROM analysis.idem k
      WHERE k.shard = p_shard AND k.user_id = p_job.user_id
        AND k.key_hash = analysis.old_key_hash(p_job.key_salt, p_one.key))
    OR p_job.once AND p_one.key IS NULL AND (
      p_is_stored OR analysis.is_photo_stored(p_shard, p_job.user_id, p_one.sha256, p_job.now));
END $$;

-- Submits one job; called by functions whose settings hold. Locks are taken in the order of the general way.
-- A number is drawn where the job is likely to come: who reads the numbers should not meet a gap at each
-- user's first job. Each call of another function would cost as much as a step does.
CREATE OR REPLACE FUNCTION analysis.submit_single(
  p_shard smallint, p_image bytea, p_one analysis.submission, p_max_attempts smallint, p_now timestamptz)
RETURNS analysis.submit_answer
LANGUAGE plpgsql AS $$
DECLARE
  v_job analysis.single_job;
  v_lane smallint;
  v_image bigint;
  v_bytes int;
  v_is_unsanitized boolean;
  v_vt bigint;
BEGIN
  IF (p_shard IS NOT NULL AND p_max_attempts BETWEEN 1 AND 100 AND p_one."user" IS NFC NORMALIZED
      AND p_one.kind IN (1, 2) AND p_one.priority BETWEEN 0 AND 2 AND octet_length(p_one.sha256) = 32
      AND coalesce(length(p_one.key) BETWEEN 1 AND 200, true) AND p_one.at IS NULL
      AND (num_nonnulls(p_image, p_one.width, p_one.height, p_one.expires, p_one.source, p_one.encrypted_by,
          p_one.wrapped_key) = 0
        OR analysis.is_sound_in_full(p_one, octet_length(p_image), p_now))
      AND current_setting('transaction_isolation') = 'read committed') IS NOT TRUE THEN
    RETURN NULL;
  END IF;
  v_lane := analysis.lane_of(p_one.kind, p_one.priority);
  -- What binds everybody, and the user's terms where they are kept.
  SELECT NULL::bigint, t.user_id, t.period, t.quota, NULL::int, t.cost, t.key_salt,
    analysis.key_hash(t.key_salt, p_one.key), r.has_old_keys, r.once, r.max_waiting, r.submitter, p_now,
    t.most, t.made_at, r.version
  INTO v_job
  FROM analysis.admission_at(p_now) r
  LEFT JOIN LATERAL (
    SELECT k.* FROM analysis.terms k
    WHERE k.shard = p_shard AND k.user_ref = p_one."user" AND k.version = r.version
      AND k.made_at <= p_now AND k.valid_until > p_now OFFSET 0) t ON true
  WHERE (p_one.encrypted_by IS NOT NULL OR NOT r.only_encrypted) AND (r.waiting >= r.max_all) IS NOT TRUE
    AND (r.max_bytes IS NULL OR analysis.bytes_at(p_now) < r.max_bytes) AND r.submitter IS NOT NULL;
  -- The lock, with a unit that is free by them.
  IF v_job.terms_at IS NOT NULL THEN
    UPDATE analysis.usage u SET used = u.used + 1
    WHERE u.shard = p_shard AND u.user_id = v_job.user_id AND u.period = v_job.period
      AND u.terms_at = v_job.terms_at AND u.used < v_job.most
    RETURNING u.used INTO v_job.used;
  END IF;
  IF v_job.used IS NULL THEN
    v_job := analysis.find_terms(p_shard, p_one, v_job);
    IF v_job.used IS NULL THEN
      RETURN NULL;
    END IF;
  END IF;
  v_job.id := nextval('analysis.job_id');

  -- The key, if it is new, and more jobs of the user may wait: in a statement of its own, which sees what was
  -- committed until the lock was there.
  IF v_job.most IS NULL OR (v_job.has_old_keys OR v_job.once)
      AND analysis.may_be_repeat(p_shard, p_image IS NULL, p_one, v_job) THEN
    v_job.id := NULL;
  ELSIF v_job.key_hash IS NOT NULL THEN
    INSERT INTO analysis.idem (shard, user_id, key_hash, content_hash, job_id, period, at)
    SELECT p_shard, v_job.user_id, v_job.key_hash,
      sha256(p_one.sha256 || convert_to(p_one.kind::text, 'UTF8')), v_job.id, v_job.period, p_now
    FROM analysis.marked_waiting(p_shard, v_job.user_id, v_job.cost) w
    WHERE (w.waiting >= v_job.max_waiting) IS NOT TRUE
    ON CONFLICT (shard, user_id, key_hash) DO NOTHING
    RETURNING job_id INTO v_job.id;
  ELSE
    SELECT v_job.id INTO v_job.id FROM analysis.marked_waiting(p_shard, v_job.user_id, v_job.cost) w
    WHERE (w.waiting >= v_job.max_waiting) IS NOT TRUE;
  END IF;
  -- The image, if it is there. Where one comes encrypted, one that the user has in plaintext or under another
  -- key is not used (see replace_images).
  IF v_job.id IS NOT NULL AND p_image IS NULL THEN
    SELECT i.id, i.byte_count, i.unsanitized INTO v_image, v_bytes, v_is_unsanitized FROM analysis.image i
    WHERE i.shard = p_shard AND i.period = v_job.period AND i.user_id = v_job.user_id
      AND i.sha256 BETWEEN p_one.sha256 AND p_one.sha256 AND i.reusable
    ORDER BY i.sha256 LIMIT 1 FOR KEY SHARE;
  ELSIF v_job.id IS NOT NULL THEN
    INSERT INTO analysis.image AS k (
      shard, period, user_id, sha256, bytes, byte_count, width, height, unsanitized, created_at, used_at,
      encrypted_by, wrapped_key)
    VALUES (p_shard, v_job.period, v_job.user_id, p_one.sha256, p_image, octet_length(p_image), p_one.width,
      p_one.height, coalesce(p_one.unsanitized, false), p_now, p_now, p_one.encrypted_by, p_one.wrapped_key)
    ON CONFLICT (shard, period, user_id, sha256) WHERE reusable DO UPDATE SET used_at = EXCLUDED.used_at
      WHERE EXCLUDED.encrypted_by IS NULL OR k.encrypted_by IS NOT DISTINCT FROM EXCLUDED.encrypted_by
    RETURNING k.id, k.byte_count, k.unsanitized INTO v_image, v_bytes, v_is_unsanitized;
  END IF;
  IF v_image IS NULL THEN
    -- It goes the general way.
    UPDATE analysis.usage u SET used = u.used - 1
    WHERE u.shard = p_shard AND u.user_id = v_job.user_id AND u.period = v_job.period;
    DELETE FROM analysis.idem k
    WHERE k.shard = p_shard AND k.user_id = v_job.user_id AND k.key_hash = v_job.key_hash
      AND k.job_id = v_job.id;
    RETURN NULL;
  END IF;

  -- The place in the lane, unless it is the user's first there, or some were given back.
  UPDATE analysis.fair_share f SET
    last_vt = greatest(f.last_vt, n.now_vt) + v_job.cost, step = v_job.cost,
    tail_vt = greatest(f.last_vt, n.now_vt), tail_job = v_job.id
  FROM (
    SELECT coalesce(
      (SELECT c.now_vt FROM analysis.lane_clock c WHERE c.shard = p_shard AND c.lane = v_lane), 0) AS now_vt
    OFFSET 0) n
  WHERE f.shard = p_shard AND f.user_id = v_job.user_id AND f.lane = v_lane AND f.source = 0
    AND f.last_vt >= f.tail_vt AND NOT EXISTS (
      SELECT FROM analysis.freed_place p
      WHERE p.shard = p_shard AND p.user_id = v_job.user_id AND p.source = 0)
  RETURNING f.last_vt - f.step INTO v_vt;
  IF NOT FOUND THEN
    SELECT t.o_first INTO v_vt FROM analysis.take_places(
      p_shard, 0::smallint, ARRAY[v_job.user_id], ARRAY[v_lane], ARRAY[v_job.cost], '{1}', ARRAY[v_job.id]) t;
  END IF;
  INSERT INTO analysis.job (
    shard, period, kind, lane, id, user_id, image_id, vt, created_at, expires_at, image_bytes, image_period,
    max_attempts, image_unsanitized, image_mark, key_hash, source_name, submitter)
  VALUES (p_shard, v_job.period, p_one.kind, v_lane, v_job.id, v_job.user_id, v_image, v_vt, p_now,
    p_one.expires, v_bytes, v_job.period, p_max_attempts, v_is_unsanitized, substr(p_one.sha256, 1, 16),
    v_job.key_hash, p_one.source, v_job.submitter);
  INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
  VALUES (p_shard, v_lane, 0, v_job.period, v_vt, v_job.id);
  IF v_job.terms_at IS NULL THEN
    IF analysis.limit_level(v_job.used, v_job.quota) > analysis.limit_level(v_job.used - 1, v_job.quota) THEN
      PERFORM analysis.note_limit(p_shard, v_job.user_id, v_job.period, v_job.quota);
    END IF;
    -- To keep terms costs what a submit by them saves: who sends a photo or two a month has none.
    IF v_job.used > 2 AND v_job.used < v_job.most THEN
      PERFORM analysis.keep_terms(p_shard, p_one."user", v_job);
    END IF;
  END IF;
  RETURN ROW(1, 'created', NULL, v_job.id, v_job.period, v_job.quota, v_job.used)::analysis.submit_answer;
END $$;
