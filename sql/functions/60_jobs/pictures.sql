-- The picture of a job, for whoever may see the images of persons or reviews its analysis, and for its user.

-- The picture of a job, as it is stored, with what is needed to decrypt it. No row: there is no such job, or
-- its image has been removed.
CREATE OR REPLACE FUNCTION analysis.stored_picture(p_shard smallint, p_job bigint)
RETURNS TABLE (
  user_id bigint, id bigint, bytes bytea, sha256 bytea, unsanitized boolean, encrypted_by bigint,
  wrapped_key bytea, user_sha256 bytea, object_key text)
LANGUAGE sql STABLE AS $$
  SELECT j.user_id, i.id, i.bytes, i.sha256, i.unsanitized, i.encrypted_by, i.wrapped_key,
    coalesce(i.user_sha256, sha256(convert_to(u.user_ref, 'UTF8'))), i.object_key
  FROM analysis.locate_of(p_shard, ARRAY[p_job], NULL) l
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.image_period, k.image_id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = p_job OFFSET 0) j
  CROSS JOIN LATERAL (
    SELECT a.user_ref FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_id = j.user_id OFFSET 0) u
  CROSS JOIN LATERAL (
    SELECT m.* FROM analysis.image m
    WHERE m.shard = p_shard AND m.period = j.image_period AND m.id = j.image_id OFFSET 0) i
$$;

-- Records that the picture of a job is read, beside by whom the caller says it is (p_detail).
CREATE OR REPLACE FUNCTION analysis.open_picture_reading(
  p_shard smallint, p_job bigint, p_user_id bigint, p_image bigint, p_detail jsonb) RETURNS text
LANGUAGE sql AS $$
  SELECT analysis.open_reading(
    'read_image', 'job:' || p_job,
    p_detail || jsonb_build_object(
      'shard', p_shard, 'jobs', jsonb_build_array(p_job), 'users', jsonb_build_array(p_user_id),
      'images', jsonb_build_array(p_image)))
$$;

-- The picture of a job that the caller may see: of the clinics that it sees, for whoever exports persons that
-- of every job, and for a reviewer that of an analysis that it may review. For others there is none.
CREATE OR REPLACE FUNCTION analysis.picture_seen(p_shard smallint, p_job bigint)
RETURNS TABLE (
  user_id bigint, id bigint, bytes bytea, sha256 bytea, unsanitized boolean, encrypted_by bigint,
  wrapped_key bytea, user_sha256 bytea, object_key text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  IF analysis.login_has('{privacy}') OR analysis.is_reviewable(p_shard, p_job) THEN
    RETURN QUERY
    SELECT i.* FROM analysis.stored_picture(p_shard, p_job) i
    WHERE analysis.is_seen(v_seen, p_shard, i.user_id);
  END IF;
END $$;

-- Records that the picture of a job is read, and answers what picture_of asks for once that is committed.
-- NULL: there is no such job, or none that the caller may see, or its image has been removed.
CREATE OR REPLACE FUNCTION analysis.open_picture(p_shard smallint, p_job bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
BEGIN
  RETURN (
    SELECT analysis.open_picture_reading(p_shard, p_job, i.user_id, i.id, '{}')
    FROM analysis.picture_seen(p_shard, p_job) i);
END $$;
COMMENT ON FUNCTION analysis.open_picture IS
  'Records that the picture of a job is read; answers what picture_of asks for.';

-- The picture that a reading has opened, as it is stored, with what is needed to decrypt it. No row: it has
-- been removed since, or may not be seen any more.
CREATE OR REPLACE FUNCTION analysis.picture_of(p_shard smallint, p_job bigint, p_reading text)
RETURNS TABLE (
  o_image bigint, o_bytes bytea, o_sha256 bytea, o_unsanitized boolean, o_encrypted_by bigint,
  o_wrapped_key bytea, o_user_sha256 bytea, o_object text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
BEGIN
  PERFORM analysis.require_reading('read_image', 'job:' || p_job, p_reading);
  RETURN QUERY
  SELECT i.id, i.bytes, i.sha256, i.unsanitized, i.encrypted_by, i.wrapped_key, i.user_sha256,
    i.object_key
  FROM analysis.picture_seen(p_shard, p_job) i;
END $$;
COMMENT ON FUNCTION analysis.picture_of IS
  'Answers the picture of a job whose reading open_picture has recorded.';
