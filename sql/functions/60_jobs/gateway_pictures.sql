-- What analysis-gateway calls for the photos of users. Tokens are passed and refused as in gateway.sql.
--
--   gateway_open_picture(p_shard smallint, p_token bytea, p_job bigint) -> text
--   gateway_picture(p_shard smallint, p_token bytea, p_job bigint, p_reading text)
--     -> the columns of picture_of

-- Where a picture is that the user of a token may see, and by which share (NULL: it is their own): of their
-- own jobs, and of analyses that are shared with them. p_shard: of this user.
CREATE OR REPLACE FUNCTION analysis.picture_shown(p_shard smallint, p_user_id bigint, p_job bigint)
RETURNS TABLE (o_shard smallint, o_share bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  SELECT h.shard, h.share
  FROM (
    SELECT p_shard AS shard, NULL::bigint AS share, p_user_id AS user_id
    UNION ALL
    SELECT s.shard, s.id, s.user_id FROM analysis.shares_of_carer(p_shard, p_user_id) s) h
  CROSS JOIN LATERAL analysis.stored_picture(h.shard, p_job) i
  WHERE i.user_id = h.user_id AND (h.share IS NULL OR EXISTS (
    SELECT FROM analysis.readable_jobs(h.shard, ARRAY[h.user_id], ARRAY[p_job])))
  ORDER BY h.share NULLS FIRST
  LIMIT 1;
END $$;

-- Records that the user of a token sees the photo of a job, their own or one that is shared with them, and
-- answers what gateway_picture asks for once that is committed. NULL: there is none for them, or it has been
-- removed.
CREATE OR REPLACE FUNCTION analysis.gateway_open_picture(p_shard smallint, p_token bytea, p_job bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  RETURN (
    SELECT analysis.open_picture_reading(
      h.o_shard, p_job, i.user_id, i.id,
      jsonb_strip_nulls(jsonb_build_object(
        'share', h.o_share, 'by', v_token.o_user_id,
        'tokens', jsonb_build_array(format('%s/%s', v_token.o_user_id, v_token.o_number)))))
    FROM analysis.picture_shown(p_shard, v_token.o_user_id, p_job) h
    CROSS JOIN LATERAL analysis.stored_picture(h.o_shard, p_job) i);
END $$;
COMMENT ON FUNCTION analysis.gateway_open_picture IS
  'Records that a photo is seen by the user of a token; answers what gateway_picture asks for.';

-- The photo that such a reading has opened, while it may still be seen.
CREATE OR REPLACE FUNCTION analysis.gateway_picture(
  p_shard smallint, p_token bytea, p_job bigint, p_reading text)
RETURNS TABLE (
  o_image bigint, o_bytes bytea, o_sha256 bytea, o_unsanitized boolean, o_encrypted_by bigint,
  o_wrapped_key bytea, o_user_sha256 bytea, o_object text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_detail jsonb := analysis.require_reading('read_image', 'job:' || p_job, p_reading);
BEGIN
  RETURN QUERY
  SELECT i.id, i.bytes, i.sha256, i.unsanitized, i.encrypted_by, i.wrapped_key, i.user_sha256,
    i.object_key
  FROM analysis.picture_shown(p_shard, v_token.o_user_id, p_job) h
  CROSS JOIN LATERAL analysis.stored_picture(h.o_shard, p_job) i
  WHERE v_detail -> 'by' = to_jsonb(v_token.o_user_id) AND v_detail -> 'shard' = to_jsonb(h.o_shard)
    AND v_detail -> 'images' @> to_jsonb(i.id);
END $$;
COMMENT ON FUNCTION analysis.gateway_picture IS
  'Answers a photo whose reading was recorded, to the user of the token.';
