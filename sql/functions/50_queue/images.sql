-- The images as workers read them, which keys they are encrypted under, and changing those. The keys
-- themselves are nowhere in the database.

-- One image of a month as a worker reads it: with its hash, the user's number, and of an encrypted one under
-- which key it is, its own key under that one, and the hash of the user's reference, to which it is bound.
-- It is inlined, so it has no settings of its own, and the bytes are fetched as each row is sent. Images and
-- users are looked up in the order of their keys, as make_partition says why.
CREATE OR REPLACE FUNCTION analysis.stored_image(p_shard smallint, p_period smallint, p_image bigint)
RETURNS TABLE (
  image_id bigint, bytes bytea, sha256 bytea, encrypted_by bigint, wrapped_key bytea, user_sha256 bytea,
  user_id bigint)
LANGUAGE sql STABLE AS $$
  SELECT k.id, k.bytes, k.sha256, k.encrypted_by, k.wrapped_key, coalesce(k.user_sha256, a.user_sha256),
    k.user_id
  FROM (
    SELECT i.id, i.bytes, i.sha256, i.encrypted_by, i.wrapped_key, i.user_id, i.user_sha256
    FROM analysis.image i
    WHERE i.shard = p_shard AND i.period = p_period AND i.id BETWEEN p_image AND p_image
    ORDER BY i.shard, i.period, i.id LIMIT 1) k
  LEFT JOIN LATERAL (
    SELECT sha256(convert_to(c.user_ref, 'UTF8')) AS user_sha256 FROM analysis.account c
    WHERE k.encrypted_by IS NOT NULL AND c.shard = p_shard AND c.user_id BETWEEN k.user_id AND k.user_id
    ORDER BY c.shard, c.user_id LIMIT 1) a ON true
$$;

-- The images of one month of jobs that a worker has under a lease, each once. No row: there is no such
-- image. That is final for a job, so it is said only where the leases are known: not by a server that was
-- the primary once, and not of a lease that is lost.
CREATE OR REPLACE FUNCTION analysis.images_of_jobs(
  p_shard smallint, p_worker bytea, p_period smallint, p_leases bigint[], p_jobs bigint[])
RETURNS TABLE (
  o_image bigint, o_bytes bytea, o_sha256 bytea, o_encrypted_by bigint, o_wrapped_key bytea,
  o_user_sha256 bytea, o_user bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off
SET enable_memoize = off
AS $$
DECLARE
  v_worker bigint := analysis.worker_number(p_worker);
  v_job bigint[];
  v_period smallint[];
  v_oldest smallint;
  v_newest smallint;
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND octet_length(p_worker) = 32 AND p_period IS NOT NULL
      AND cardinality(p_jobs) <= 100000 AND cardinality(p_leases) <= 100000,
    'images are read for jobs of a shard and a month, and their leases');
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'images are read where leases are written' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
  SELECT array_agg(h.job_id), array_agg(h.period), min(h.period), max(h.period)
  INTO v_job, v_period, v_oldest, v_newest
  FROM analysis.leased_jobs(p_shard, p_leases) h
  WHERE h.worker_id = v_worker AND h.job_id = ANY (p_jobs);
  IF coalesce(cardinality(v_job), 0) < cardinality(p_jobs) THEN
    RAISE EXCEPTION 'a lease of the jobs is lost, or not known here' USING ERRCODE = 'serialization_failure';
  END IF;
  -- The months of the jobs bound the search, as in a claim.
  RETURN QUERY
  SELECT i.*
  FROM (
    SELECT DISTINCT j.image_id
    FROM (SELECT unnest(v_job) AS job_id, unnest(v_period) AS period) u
    CROSS JOIN LATERAL (
      SELECT w.image_id FROM analysis.job w
      WHERE w.shard = p_shard AND w.period = u.period AND w.id = u.job_id
        AND w.period BETWEEN v_oldest AND v_newest AND w.image_period = p_period OFFSET 0) j) g
  CROSS JOIN LATERAL analysis.stored_image(p_shard, p_period, g.image_id) i;
END $$;
COMMENT ON FUNCTION analysis.images_of_jobs IS
  'Answers the images of jobs that a worker holds.';

-- The images of a claim's first jobs, sent behind the claim in the same write, so that the first job of an
-- idle worker costs one round trip. It names the numbers that the claim had for its leases: p_lease and so
-- many. Of the first p_images jobs it answers the images up to p_bytes together, of the first one's month.
-- What is not here is read by images_of_jobs: no row says nothing of an image. The jobs are looked up one
-- by one, since they are few and mostly one: what that costs is to set up a plan.
CREATE OR REPLACE FUNCTION analysis.images_of_claim(
  p_shard smallint, p_worker bytea, p_lease bigint, p_leases int, p_images int, p_bytes int)
RETURNS TABLE (
  o_image_period smallint, o_image bigint, o_bytes bytea, o_sha256 bytea, o_encrypted_by bigint,
  o_wrapped_key bytea, o_user_sha256 bytea, o_user bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off
SET enable_memoize = off
AS $$
DECLARE
  v_jobs bigint[];
  v_periods smallint[];
  v_left int := p_bytes;               -- so many bytes may still come
  v_image bigint;
  v_images bigint[] := '{}';
  v_image_period smallint;
  v_period smallint;                   -- of the first image
  v_bytes int;
BEGIN
  IF (p_shard IS NOT NULL AND octet_length(p_worker) = 32 AND p_lease BETWEEN 0 AND 9223372036854775707
      AND p_leases BETWEEN 0 AND 100 AND p_images BETWEEN 0 AND 1000
      AND p_bytes BETWEEN 0 AND 100000000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'images of a claim are read by its shard, worker and leases, up to a number and size');
  END IF;
  SELECT array_agg(u.job_id), array_agg(u.period) INTO v_jobs, v_periods
  FROM (
    SELECT unnest(k.job_ids) AS job_id, unnest(k.periods) AS period FROM analysis.lease k
    WHERE k.shard = p_shard AND k.id >= p_lease AND k.id < p_lease + p_leases
      AND k.worker_id = analysis.worker_number(p_worker)
    ORDER BY k.shard, k.id LIMIT p_images) u;
  FOR i IN 1 .. coalesce(cardinality(v_jobs), 0) LOOP
    SELECT k.image_id, k.image_period, k.image_bytes INTO v_image, v_image_period, v_bytes
    FROM analysis.job k WHERE k.shard = p_shard AND k.period = v_periods[i] AND k.id = v_jobs[i];
    CONTINUE WHEN NOT FOUND;
    v_left := v_left - v_bytes;
    EXIT WHEN v_left < 0;
    v_period := coalesce(v_period, v_image_period);
    IF v_image_period = v_period AND v_image <> ALL (v_images) THEN
      v_images := v_images || v_image;
    END IF;
  END LOOP;
  IF v_images = '{}' THEN
    RETURN;  -- others were faster, or the first image is a large one
  END IF;
  RETURN QUERY
  SELECT v_period, i.*
  FROM unnest(v_images) g(id)
  CROSS JOIN LATERAL analysis.stored_image(p_shard, v_period, g.id) i;
END $$;
COMMENT ON FUNCTION analysis.images_of_claim IS
  'Answers the images of the first jobs that a claim took.';

-- Makes room for images that come encrypted: what is there of the same hash in plaintext, or under another
-- key, is not used again. It stays as it is for the jobs that show it, whose picture nobody can swap so. An
-- image in plaintext (NULL) takes nobody's place. The caller holds the users' months, so that nobody else
-- submits for them. Called by `submit` alone, whose settings hold.
CREATE OR REPLACE FUNCTION analysis.replace_images(
  p_shard smallint, p_user bigint[], p_period smallint[], p_sha256 bytea[], p_encrypted_by bigint[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_image bigint[];
  v_period smallint[];
BEGIN
  SELECT array_agg(m.id), array_agg(m.period) INTO v_image, v_period
  FROM (SELECT unnest(p_user) AS user_id, unnest(p_period) AS period, unnest(p_sha256) AS sha256,
               unnest(p_encrypted_by) AS encrypted_by) g
  CROSS JOIN LATERAL (
    SELECT k.id, k.period FROM analysis.image k
    WHERE k.shard = p_shard AND k.period = g.period AND k.user_id = g.user_id
      AND k.sha256 BETWEEN g.sha256 AND g.sha256
      AND k.reusable AND k.encrypted_by IS DISTINCT FROM g.encrypted_by
    ORDER BY k.sha256 LIMIT 1) m
  WHERE g.encrypted_by IS NOT NULL;
  FOR i IN 1 .. coalesce(cardinality(v_image), 0) LOOP
    UPDATE analysis.image k SET reusable = false
    WHERE k.shard = p_shard AND k.period = v_period[i] AND k.id = v_image[i];
  END LOOP;
END $$;

-- Images that a worker found to be not what was submitted: the next submit of such a picture stores it
-- anew. One that a submit holds just now is left as it is, until the next job finds it so. Called by `fail`
-- alone, whose settings hold.
CREATE OR REPLACE FUNCTION analysis.set_changed_images_aside(p_shard smallint, p_ended analysis.ended[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_image record;
BEGIN
  FOR v_image IN
    SELECT m.id, m.period
    FROM unnest(p_ended) e
    CROSS JOIN LATERAL (
      SELECT j.image_period, j.image_id FROM analysis.job j
      WHERE j.shard = p_shard AND j.period = e.period AND j.id = e.job_id OFFSET 0) w
    CROSS JOIN LATERAL (
      SELECT k.id, k.period FROM analysis.image k
      WHERE k.shard = p_shard AND k.period = w.image_period AND k.id = w.image_id AND k.reusable
      FOR NO KEY UPDATE SKIP LOCKED) m
    WHERE e.code = 'image_tampered' AND e.outcome = 'dead'
  LOOP
    UPDATE analysis.image k SET reusable = false
    WHERE k.shard = p_shard AND k.period = v_image.period AND k.id = v_image.id;
  END LOOP;
END $$;

-- How many images of a shard are under each key; NULL: in plaintext. It reads every image's row, and no
-- image.
CREATE OR REPLACE FUNCTION analysis.image_keys(p_shard smallint)
RETURNS TABLE (o_encrypted_by bigint, o_images bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY SELECT k.encrypted_by, count(*) FROM analysis.image k WHERE k.shard = p_shard
  GROUP BY k.encrypted_by;
END $$;
COMMENT ON FUNCTION analysis.image_keys IS
  'Answers how many images of a shard are under each key.';

-- Waits until all that stores an image at this moment has ended, for two seconds at most. It takes no lock,
-- so that nobody ever waits for the caller: whoever stores an image has the table's lock until the end of
-- its transaction, and who has it can be seen.
CREATE OR REPLACE FUNCTION analysis.await_submits() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_until timestamptz := clock_timestamp() + interval '2 seconds';
  v_open text[];                       -- the transactions that store images
  v_now_open text[];
BEGIN
  LOOP
    v_now_open := ARRAY(
      SELECT l.virtualtransaction FROM pg_locks l
      WHERE l.locktype = 'relation' AND l.relation = 'analysis.image'::regclass
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.mode = 'RowExclusiveLock' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid());
    v_open := ARRAY(SELECT unnest(coalesce(v_open, v_now_open)) INTERSECT SELECT unnest(v_now_open));
    EXIT WHEN cardinality(v_open) = 0;
    IF clock_timestamp() > v_until THEN
      RAISE EXCEPTION 'a submit has been open for two seconds' USING ERRCODE = 'lock_not_available';
    END IF;
    PERFORM pg_sleep(0.02);
  END LOOP;
END $$;
COMMENT ON FUNCTION analysis.await_submits IS
  'Waits until every submit that stores images just now has ended, for two seconds at most; locks nothing.';

-- The next encrypted images of a month that are not under a key, in the order of their numbers, with where
-- each row is and what it is bound to. Without a user an image belongs to nobody and cannot be put under
-- another key. The rows are gone through in the order of the primary key, so that the pages together are
-- one walk through the month.
CREATE OR REPLACE FUNCTION analysis.images_to_rewrap(
  p_shard smallint, p_period smallint, p_after bigint, p_key bigint, p_count int)
RETURNS TABLE (
  o_image bigint, o_row_id text, o_encrypted_by bigint, o_wrapped_key bytea, o_sha256 bytea,
  o_user_sha256 bytea)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT k.id, k.row_id::text, k.encrypted_by, k.wrapped_key, k.sha256,
    CASE WHEN a.user_sha256 IS NOT NULL THEN coalesce(k.user_sha256, a.user_sha256) END
  FROM (
    SELECT i.shard, i.user_id, i.id, i.ctid AS row_id, i.encrypted_by, i.wrapped_key, i.sha256, i.user_sha256
    FROM analysis.image i
    WHERE i.shard = p_shard AND i.period = p_period AND i.id > p_after AND i.encrypted_by <> p_key
    ORDER BY i.shard, i.period, i.id LIMIT p_count) k
  LEFT JOIN LATERAL (
    SELECT sha256(convert_to(c.user_ref, 'UTF8')) AS user_sha256 FROM analysis.account c
    WHERE c.shard = k.shard AND c.user_id = k.user_id OFFSET 0) a ON true;
END $$;

-- Puts images under another key: each has its own key as it is under that one, and as it was before.
-- Answers how many were changed. They are reached by their rows' addresses and nothing else: by their
-- keys, a plan that was made while the month was empty would go through all of it. An image whose own key
-- or row id is not what it was any more was changed by somebody else meanwhile, and one that a submit holds
-- just now is left out rather than waited for, since both hold many; they are found again when the caller
-- looks for what is left. Each call is an entry of the audit: how many were under which key before.
CREATE OR REPLACE FUNCTION analysis.rewrap_images(
  p_shard smallint, p_period smallint, p_images bigint[], p_row_ids text[], p_before bytea[], p_key bigint,
  p_after bytea[])
RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  v_count int;
  v_from jsonb;
BEGIN
  PERFORM analysis.require_argument(
    p_key > 0 AND (72 = ALL (ARRAY(SELECT octet_length(w) FROM unnest(p_after) w))) IS TRUE,
    'images are put under a key with a number above 0, each with 72 bytes of its own key');
  WITH held AS MATERIALIZED (
    SELECT g.id, g.row_id, g.after, h.encrypted_by
    FROM (SELECT unnest(p_images) AS id, unnest(p_row_ids::tid[]) AS row_id, unnest(p_before) AS before,
      unnest(p_after) AS after) g
    CROSS JOIN LATERAL (
      SELECT k.encrypted_by FROM analysis.image k
      WHERE k.shard = p_shard AND k.period = p_period AND k.ctid = g.row_id AND k.id = g.id
        AND k.wrapped_key = g.before
      FOR NO KEY UPDATE SKIP LOCKED) h),
  changed AS (
    UPDATE analysis.image i SET encrypted_by = p_key, wrapped_key = h.after
    FROM held h
    WHERE i.shard = p_shard AND i.period = p_period AND i.ctid = ANY (ARRAY(SELECT x.row_id FROM held x))
      AND i.id = h.id
    RETURNING h.encrypted_by)
  SELECT coalesce(sum(c.images), 0), jsonb_object_agg(analysis.key_text(c.encrypted_by), c.images)
  INTO v_count, v_from
  FROM (SELECT d.encrypted_by, count(*) AS images FROM changed d GROUP BY d.encrypted_by) c;
  IF v_count > 0 THEN
    PERFORM analysis.audit_add(
      'rotate_keys', 'key:' || analysis.key_text(p_key),
      jsonb_build_object(
        'shard', p_shard, 'month', analysis.period_text(p_period), 'images', v_count, 'from', v_from));
  END IF;
  RETURN v_count;
END $$;
COMMENT ON FUNCTION analysis.rewrap_images IS
  'Puts images of a month under another key; answers how many were changed.';
