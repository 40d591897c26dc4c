-- For back-ends that submit by SQL, inside transactions of their own.

-- Submits one image as it is: it is marked unsanitized, and the worker cleans it before it leaves. The
-- shard is found from the user.
CREATE OR REPLACE FUNCTION analysis.submit_image(
  p_user text, p_kind text, p_image bytea, p_key text DEFAULT NULL, p_priority text DEFAULT 'normal',
  p_at timestamptz DEFAULT NULL, p_expires timestamptz DEFAULT NULL)
RETURNS TABLE (outcome text, reason text, job_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_user IS NULL OR p_image IS NULL OR octet_length(p_image) > analysis.max_image_bytes(false) THEN
    RETURN QUERY SELECT 'refused', 'bad_argument', NULL::bigint;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT s.o_outcome, s.o_reason, s.o_job
  FROM analysis.submit(
    analysis.shard_of(p_user), ARRAY[p_user],
    ARRAY[CASE p_kind WHEN 'throat' THEN 1 WHEN 'ear' THEN 2 END::smallint],
    ARRAY[CASE p_priority WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END::smallint],
    ARRAY[sha256(p_image)], ARRAY[p_image], NULL, NULL, ARRAY[true], ARRAY[p_key], ARRAY[p_at],
      ARRAY[p_expires],
    NULL, 10::smallint, NULL, NULL) s;
END $$;
COMMENT ON FUNCTION analysis.submit_image IS
  'Submits one image of a user; answers the job, or why it was refused.';

-- The same in a batch that open_batch has made (NULL: in none), or with a reference, by which the job is
-- found again.
CREATE OR REPLACE FUNCTION analysis.submit_image_in_batch(
  p_batch bigint, p_reference text, p_user text, p_kind text, p_image bytea, p_key text DEFAULT NULL,
  p_priority text DEFAULT 'normal', p_at timestamptz DEFAULT NULL, p_expires timestamptz DEFAULT NULL)
RETURNS TABLE (outcome text, reason text, job_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_user IS NULL OR p_image IS NULL OR octet_length(p_image) > analysis.max_image_bytes(false) THEN
    RETURN QUERY SELECT 'refused', 'bad_argument', NULL::bigint;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT s.o_outcome, s.o_reason, s.o_job
  FROM analysis.submit_in_batch(
    p_batch, ARRAY[p_reference], analysis.shard_of(p_user), ARRAY[p_user],
    ARRAY[CASE p_kind WHEN 'throat' THEN 1 WHEN 'ear' THEN 2 END::smallint],
    ARRAY[CASE p_priority WHEN 'urgent' THEN 0 WHEN 'normal' THEN 1 WHEN 'bulk' THEN 2 END::smallint],
    ARRAY[sha256(p_image)], ARRAY[p_image], NULL, NULL, ARRAY[true], ARRAY[p_key], ARRAY[p_at],
      ARRAY[p_expires],
    NULL, 10::smallint, NULL, NULL) s;
END $$;
COMMENT ON FUNCTION analysis.submit_image_in_batch IS
  'Submits one image of a user in a batch or with a reference; answers as submit_image does.';
