-- Reading the audit. Whether it is whole analysisctl judges itself, from the tables.

-- Entries of the chain, the latest first. p_user is what the operator calls a user, or # and the internal
-- number of one who was erased; with it come the entries about them and about jobs of theirs. p_role is the
-- role, as the server knows it; p_by that or a user of the operating system, which is what the client said.
-- p_before is an entry's number, for the next page.
CREATE OR REPLACE FUNCTION analysis.audit_list(
  p_since timestamptz, p_until timestamptz, p_action text, p_user text, p_by text, p_role text,
  p_object text, p_before bigint, p_limit int)
RETURNS TABLE (
  o_id bigint, o_at timestamptz, o_role text, o_os_user text, o_host text, o_address text, o_action text,
  o_object text,
  o_reason text, o_detail jsonb, o_hash text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_user bigint
    := (SELECT a.user_id FROM analysis.account a
      WHERE a.shard = analysis.shard_of(p_user) AND a.user_ref = normalize(p_user));
  v_job bigint := substring(p_object FROM '^job:([0-9]{1,18})$')::bigint;
BEGIN
  PERFORM analysis.require_argument(
    p_limit BETWEEN 1 AND 100000, 'a page of the audit has 1 to 100000 entries');
  v_user := coalesce(v_user, substring(p_user FROM '^#([0-9]{1,18})$')::bigint);
  IF p_user IS NOT NULL AND v_user IS NULL THEN
    RAISE EXCEPTION 'there is no such user; one who was erased is found by # and the internal number'
    USING ERRCODE = '22023';
  END IF;
  RETURN QUERY
  SELECT a.id, a.at, a.role, a.os_user, a.host, a.address, a.action, a.object, a.reason, a.detail,
    encode(a.hash, 'hex')
  FROM analysis.audit a
  WHERE (p_since IS NULL OR a.at >= p_since) AND (p_until IS NULL OR a.at < p_until)
    AND (p_action IS NULL OR a.action = p_action)
    AND (p_by IS NULL OR a.role = p_by OR a.os_user = p_by)
    AND (p_role IS NULL OR a.role = p_role)
    AND (p_before IS NULL OR a.id < p_before)
    AND (p_object IS NULL OR a.object = p_object OR a.detail -> 'jobs' @> to_jsonb(v_job))
    AND (p_user IS NULL OR a.object = 'user:' || v_user OR a.detail -> 'users' @> to_jsonb(v_user))
  ORDER BY a.id DESC
  LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.audit_list IS
  'Answers entries of the audit, the latest first.';

-- Where the chain begins and ends; kept elsewhere, the end shows later whether anything before it was
-- touched. Any login that adds entries may ask, so that it can keep the end.
CREATE OR REPLACE FUNCTION analysis.audit_ends()
RETURNS TABLE (o_installation text, o_first bigint, o_first_at timestamptz, o_id bigint, o_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT h.installation::text, h.first_id, a.at, h.id, encode(h.hash, 'hex')
  FROM analysis.audit_head h LEFT JOIN analysis.audit a ON a.id = h.first_id
$$;
COMMENT ON FUNCTION analysis.audit_ends IS
  'Answers where the chain of the audit begins and ends.';
