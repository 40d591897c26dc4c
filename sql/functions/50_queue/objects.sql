-- Images in an object store. The object is written before the submit, so that a row always names one that
-- is there: a crash leaves objects that no row names, which a sweep removes a day later. The bytes are
-- those that would be here, so the store sees no picture. Where an image is says its own row, whatever the
-- setting image_store says of new ones.

-- Where new images go, and with what the keys of this installation's objects begin.
CREATE OR REPLACE FUNCTION analysis.image_store(OUT o_store text, OUT o_prefix text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT s.value FROM analysis.setting s WHERE s.name = 'image_store'), 'database'),
    h.installation || '/'
  FROM analysis.audit_head h
$$;
COMMENT ON FUNCTION analysis.image_store IS
  'Answers where new images go, and with what the keys of objects begin.';

-- Whether keys are of this installation's objects: its number, the month of the writing, the beginning of
-- the image's hash, and a random number. All of them are matched at once, which is five times cheaper than
-- each alone; the length keeps one key from being two.
CREATE OR REPLACE FUNCTION analysis.are_objects(p_keys bytea[]) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    bool_and(octet_length(k.key) = 79)
      AND encode(string_agg(',' || k.key, ''), 'escape')
        ~ ('^(,' || min(h.installation::text) || '/[0-9]{6}/[0-9a-f]{2}/[0-9a-f]{32})+$'), true)
  FROM unnest(p_keys) k(key), analysis.audit_head h
$$;

-- Submits jobs whose images are objects, in the general way: p_images has their keys, p_jobs their lengths;
-- NULL in both is an image that is there already. Objects in plaintext are refused unless image_store says
-- so. What no job came of leaves its object to be removed.
CREATE OR REPLACE FUNCTION analysis.submit_objects(
  p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_max_attempts smallint)
RETURNS analysis.submit_answer[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off AS $$
DECLARE
  v_count int := coalesce(cardinality(p_jobs."user"), 0);
  v_rules analysis.submit_rules;
  v_answer analysis.submit_answer[];
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND v_count BETWEEN 1 AND 100000 AND p_max_attempts BETWEEN 1 AND 100
      AND p_images IS NOT NULL AND analysis.are_submissions(p_jobs, p_images, '[1:' || v_count || ']')
      AND analysis.is_list(p_jobs.object_bytes, v_count)
      AND NOT EXISTS (
        SELECT FROM unnest(p_images, p_jobs.object_bytes) o(key, bytes)
        WHERE (o.key IS NULL) <> (o.bytes IS NULL))
      AND analysis.are_objects(p_images),
    'images that are objects have a key of this installation and a length each, and the arrays an '
    'element for each');
  v_rules := analysis.rules_of_submit(
    p_shard, p_jobs."user", p_jobs.key, clock_timestamp(), p_max_attempts);
  v_rules.only_encrypted := v_rules.only_encrypted
    OR analysis.setting_value('image_store') IS DISTINCT FROM 's3-plaintext';
  v_answer := ARRAY(SELECT a FROM analysis.submit_jobs(p_shard, p_jobs, p_images, v_rules) a);
  IF EXISTS (SELECT FROM unnest(v_answer) a WHERE a.outcome <> 'created') THEN
    PERFORM analysis.lose_objects(ARRAY(
      SELECT convert_from(p_images[a.index], 'UTF8') FROM unnest(v_answer) a
      WHERE a.outcome <> 'created' AND p_images[a.index] IS NOT NULL));
  END IF;
  RETURN v_answer;
END $$;

-- Notes objects of which no image is left, so that they are removed.
CREATE OR REPLACE FUNCTION analysis.lose_objects(p_keys text[]) RETURNS void
LANGUAGE sql SET enable_seqscan = off AS $$
  INSERT INTO analysis.lost_object (object_key)
  SELECT DISTINCT k.key FROM unnest(p_keys) k(key)
  WHERE k.key IS NOT NULL
    AND NOT EXISTS (SELECT FROM analysis.image i WHERE i.object_key = k.key COLLATE "C" OFFSET 0)
  ORDER BY k.key
  ON CONFLICT DO NOTHING
$$;

-- The keys of the objects that some images of a month are. Of an image that is in the database there is no
-- row.
CREATE OR REPLACE FUNCTION analysis.image_objects(p_shard smallint, p_period smallint, p_images bigint[])
RETURNS TABLE (o_image bigint, o_object text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_period IS NOT NULL AND cardinality(p_images) <= 100000,
    'objects are asked for of a shard, a month, and at most 100000 images');
  RETURN QUERY
  SELECT i.id, i.object_key
  FROM (SELECT DISTINCT unnest(p_images) AS id) g
  CROSS JOIN LATERAL (
    SELECT k.id, k.object_key FROM analysis.image k
    WHERE k.shard = p_shard AND k.period = p_period AND k.id = g.id AND k.object_key IS NOT NULL OFFSET 0) i;
END $$;
COMMENT ON FUNCTION analysis.image_objects IS
  'Answers the keys of the objects that some images are.';

-- Takes note that objects are gone from the store, and answers the next that are to be removed, after a key
-- and by their keys. None that an image names is among them.
CREATE OR REPLACE FUNCTION analysis.lost_objects(p_gone text[], p_after text, p_limit int)
RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_after IS NOT NULL AND length(p_after) <= 200 AND p_limit BETWEEN 0 AND 1000
      AND coalesce(cardinality(p_gone) <= 1000, true),
    'at most 1000 objects are gone, and asked for, in a call');
  PERFORM analysis.refuse_repeatable_read();
  DELETE FROM analysis.lost_object l
  WHERE l.object_key = ANY (ARRAY(
    SELECT k.object_key FROM analysis.lost_object k
    WHERE k.object_key = ANY (p_gone) FOR UPDATE SKIP LOCKED));
  RETURN QUERY
  SELECT l.object_key FROM analysis.lost_object l
  WHERE l.object_key > p_after COLLATE "C"
    AND NOT EXISTS (SELECT FROM analysis.image i WHERE i.object_key = l.object_key OFFSET 0)
  ORDER BY l.object_key LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.lost_objects IS
  'Takes note that objects are gone from the store; answers the next that are to be removed.';

-- Those of some objects that no image names. Of an object that was written lately that says nothing: its
-- submit may not be committed yet.
CREATE OR REPLACE FUNCTION analysis.unnamed_objects(p_keys text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_keys) <= 1000, 'at most 1000 objects are asked for in a call');
  RETURN QUERY
  SELECT DISTINCT k.key FROM unnest(p_keys) k(key)
  WHERE NOT EXISTS (SELECT FROM analysis.image i WHERE i.object_key = k.key COLLATE "C" OFFSET 0);
END $$;
COMMENT ON FUNCTION analysis.unnamed_objects IS
  'Answers those of some objects that no image names.';

-- Where the images between two keys and a list of the objects there disagree: an image whose object is
-- missing or has another length, and an object that no image names. Answers the first of each kind, and with
-- each how many there are.
CREATE OR REPLACE FUNCTION analysis.objects_compared(
  p_after text, p_upto text, p_keys text[], p_bytes int[], p_limit int)
RETURNS TABLE (o_trouble text, o_object text, o_image bigint, o_period smallint, o_count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_after IS NOT NULL AND cardinality(p_keys) <= 1000 AND cardinality(p_bytes) = cardinality(p_keys)
      AND p_limit BETWEEN 0 AND 1000,
    'at most 1000 objects are compared in a call, each with its length');
  PERFORM analysis.require_unrestricted();
  RETURN QUERY
  WITH named AS (
    -- Every key begins with a UUID, so before g.
    SELECT i.object_key, i.id, i.period, i.byte_count FROM analysis.image i
    WHERE i.object_key IS NOT NULL AND i.object_key COLLATE "C" > p_after
      AND i.object_key COLLATE "C" <= coalesce(p_upto, 'g')),
  trouble AS (
    SELECT CASE WHEN n.id IS NULL THEN 'unnamed' WHEN o.key IS NULL THEN 'missing' ELSE 'changed' END AS kind,
      coalesce(n.object_key, o.key) COLLATE "C" AS key, n.id, n.period
    FROM named n FULL JOIN unnest(p_keys, p_bytes) o(key, bytes) ON o.key = n.object_key
    WHERE o.bytes IS DISTINCT FROM n.byte_count),
  counted AS (
    SELECT t.*, count(*) OVER (PARTITION BY t.kind) AS total,
      row_number() OVER (PARTITION BY t.kind ORDER BY t.key) AS place
    FROM trouble t)
  SELECT c.kind, c.key, c.id, c.period, c.total FROM counted c WHERE c.place <= p_limit
  ORDER BY c.kind, c.place;
END $$;
COMMENT ON FUNCTION analysis.objects_compared IS
  'Answers where images and a list of their objects disagree.';

-- The next images of a month that are to go to an object store, or back, in the order of their numbers; with
-- the bytes of those that are here. One in plaintext goes there only where image_store says so.
CREATE OR REPLACE FUNCTION analysis.images_to_move(
  p_shard smallint, p_period smallint, p_after bigint, p_out boolean, p_limit int)
RETURNS TABLE (o_image bigint, o_bytes bytea, o_object text, o_sha256 bytea, o_byte_count int)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
  SELECT i.id, i.bytes, i.object_key, i.sha256, i.byte_count FROM analysis.image i
  WHERE i.shard = p_shard AND i.period = p_period AND i.id > p_after AND (i.object_key IS NULL) = p_out
    AND (NOT p_out OR i.encrypted_by IS NOT NULL OR analysis.setting_value('image_store') = 's3-plaintext')
  ORDER BY i.shard, i.period, i.id LIMIT p_limit;
END $$;

-- Has images be where they were brought: out to their objects (p_bytes NULL), or back with their bytes. One
-- that was moved or removed meanwhile is left as it is. What no image names then is removed later. Answers
-- how many.
CREATE OR REPLACE FUNCTION analysis.move_images(
  p_shard smallint, p_period smallint, p_images bigint[], p_keys text[], p_bytes bytea[]) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
SET enable_seqscan = off AS $$
DECLARE
  v_count int := 0;
BEGIN
  FOR i IN 1 .. coalesce(cardinality(p_images), 0) LOOP
    IF p_bytes IS NULL THEN
      UPDATE analysis.image k SET bytes = NULL, object_key = p_keys[i]
      WHERE k.shard = p_shard AND k.period = p_period AND k.id = p_images[i] AND k.object_key IS NULL;
    ELSE
      UPDATE analysis.image k SET bytes = p_bytes[i], object_key = NULL
      WHERE k.shard = p_shard AND k.period = p_period AND k.id = p_images[i] AND k.object_key = p_keys[i];
    END IF;
    v_count := v_count + FOUND::int;
  END LOOP;
  PERFORM analysis.lose_objects(p_keys);
  IF v_count > 0 THEN
    PERFORM analysis.audit_add(
      'move_images', 'store:' || CASE WHEN p_bytes IS NULL THEN 's3' ELSE 'database' END,
      jsonb_build_object('shard', p_shard, 'month', analysis.period_text(p_period), 'images', v_count));
  END IF;
  RETURN v_count;
END $$;
COMMENT ON FUNCTION analysis.move_images IS
  'Has images be in an object store, or in the database again; answers how many.';
