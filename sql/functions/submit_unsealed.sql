-- The submit of clients and back-ends that encrypt nothing, as it was before images could come encrypted. It comes
-- after the group of `submit_single` by its name, so that a migration meets no moment at which it calls what is not there.
CREATE OR REPLACE FUNCTION analysis.submit(
  p_shard smallint, p_user text[], p_kind smallint[], p_priority smallint[], p_sha256 bytea[], p_image bytea[],
  p_width int[], p_height int[], p_raw boolean[], p_key text[], p_at timestamptz[], p_expires timestamptz[],
  p_source text[], p_max_attempts smallint)
RETURNS TABLE (o_index int, o_outcome text, o_reason text, o_job bigint, o_period smallint, o_limit int, o_used int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT s.* FROM analysis.submit(
    p_shard, p_user, p_kind, p_priority, p_sha256, p_image, p_width, p_height, p_raw, p_key, p_at, p_expires, p_source,
    p_max_attempts, NULL::bigint[], NULL::bytea[]) s;
END $$;

-- What the submit of before called.
DROP FUNCTION IF EXISTS analysis.submit_single(
  smallint, text, smallint, smallint, bytea, bytea, int, int, boolean, text, timestamptz, text, smallint, bigint, timestamptz);
