-- Reading the audit, and judging whether it is whole.

-- Entries, the latest first. p_user is what the operator calls a user, or # and the internal number of one who was
-- erased; with it come the entries about them and about jobs of theirs. p_by is a role or a user of the operating
-- system; p_before an entry's number, for the next page.
CREATE OR REPLACE FUNCTION analysis.audit_list(
  p_since timestamptz, p_until timestamptz, p_action text, p_user text, p_by text, p_object text, p_before bigint, p_limit int)
RETURNS TABLE (
  o_id bigint, o_at timestamptz, o_role text, o_os_user text, o_host text, o_address text, o_action text, o_object text,
  o_reason text, o_detail jsonb, o_hash text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_user bigint := (SELECT a.user_id FROM analysis.account a WHERE a.shard = analysis.shard_of(p_user) AND a.user_ref = p_user);
  v_job bigint := substring(p_object FROM '^job:([0-9]{1,18})$')::bigint;
BEGIN
  v_user := coalesce(v_user, substring(p_user FROM '^#([0-9]{1,18})$')::bigint);
  IF p_user IS NOT NULL AND v_user IS NULL THEN
    RAISE EXCEPTION 'there is no such user; one who was erased is found by # and the internal number' USING ERRCODE = '22023';
  END IF;
  RETURN QUERY
  SELECT a.id, a.at, a.role, a.os_user, a.host, a.address, a.action, a.object, a.reason, a.detail, encode(a.hash, 'hex')
  FROM analysis.audit a
  WHERE (p_since IS NULL OR a.at >= p_since) AND (p_until IS NULL OR a.at < p_until)
    AND (p_action IS NULL OR a.action = p_action)
    AND (p_by IS NULL OR p_by IN (a.role, a.os_user))
    AND (p_before IS NULL OR a.id < p_before)
    AND (p_object IS NULL OR a.object = p_object OR a.detail -> 'jobs' @> to_jsonb(v_job))
    AND (p_user IS NULL OR a.object = 'user:' || v_user OR a.detail -> 'users' @> to_jsonb(v_user))
  ORDER BY a.id DESC
  LIMIT p_limit;
END $$;

-- Where the chain begins and ends; kept elsewhere, the end shows later whether anything before it was touched.
CREATE OR REPLACE FUNCTION analysis.audit_ends() RETURNS TABLE (o_first bigint, o_id bigint, o_hash text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT h.first_id, h.id, encode(h.hash, 'hex') FROM analysis.audit_head h
$$;

-- What is wrong with the chain, the oldest first, at most so much: no row means that it is whole. p_id and p_hash are
-- an end that was kept elsewhere, or NULL. Somebody who may do everything can write the whole chain anew with all its
-- hashes; only an end that was kept elsewhere shows that.
CREATE OR REPLACE FUNCTION analysis.audit_verify(p_id bigint, p_hash text, p_limit int)
RETURNS TABLE (o_id bigint, o_fault text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH head AS (SELECT h.* FROM analysis.audit_head h),
  -- 1. Each entry beside the one before it; the first beside what the head says came before.
  chained AS (
    SELECT a.id, a.previous, a.hash, a.hash = analysis.audit_hash(a) AS is_intact,
           lag(a.id) OVER w AS id_before, lag(a.hash) OVER w AS hash_before,
           CASE WHEN a.action = 'purge' AND a.object = 'audit' THEN a.detail END AS purge
    FROM analysis.audit a WINDOW w AS (ORDER BY a.id)),
  placed AS (
    SELECT c.*, coalesce(c.id_before + 1, h.first_id) AS id_due, coalesce(c.hash_before, h.first_previous) AS hash_due
    FROM chained c LEFT JOIN head h ON true),
  ends AS (SELECT max(c.id) AS last_id FROM chained c),
  faults AS (
    SELECT p.id, 'the entry was changed: its hash is not that of what it says' AS fault FROM placed p WHERE p.is_intact IS NOT TRUE
    UNION ALL
    SELECT p.id_due, CASE WHEN p.id = p.id_due + 1 THEN 'the entry is missing'
                          ELSE format('the entries %s to %s are missing', p.id_due, p.id - 1) END
    FROM placed p WHERE p.id > p.id_due
    UNION ALL
    SELECT p.id, 'the entry was put in: the chain begins at ' || p.id_due FROM placed p WHERE p.id < p.id_due
    UNION ALL
    SELECT p.id, 'the entry does not follow the one before it' FROM placed p WHERE p.id = p.id_due AND p.previous <> p.hash_due
    UNION ALL
    -- 2. The head: it names the last entry, and its beginning is what the last purge recorded.
    SELECT NULL, 'the head of the chain is missing' WHERE NOT EXISTS (SELECT 1 FROM head)
    UNION ALL
    SELECT coalesce(e.last_id, h.first_id - 1) + 1, format('the entries from here to %s are missing: the head names them', h.id)
    FROM head h, ends e WHERE coalesce(e.last_id, h.first_id - 1) < h.id
    UNION ALL
    SELECT p.id, 'the entry was put in: the head ends at ' || h.id FROM placed p, head h WHERE p.id > h.id
    UNION ALL
    SELECT h.id, 'the head has another hash than the last entry'
    FROM head h LEFT JOIN chained c ON c.id = h.id
    WHERE h.hash <> CASE WHEN h.id = h.first_id - 1 THEN h.first_previous ELSE c.hash END
    UNION ALL
    SELECT h.first_id, 'no purge recorded that the entries before this one were removed'
    FROM head h
    WHERE h.first_id <> 1 AND NOT EXISTS (
      SELECT 1 FROM chained c
      WHERE c.purge ->> 'first' = h.first_id::text AND c.purge ->> 'previous' = encode(h.first_previous, 'hex'))
    UNION ALL
    -- 3. The end that was kept elsewhere.
    SELECT p_id, CASE WHEN p_id > h.id THEN format('the entry that was kept is not there: the chain ends at %s', h.id)
                      WHEN p_id < h.first_id - 1 THEN 'the entry that was kept has been purged: nothing can be said of it'
                      ELSE 'the entry is another than the one that was kept' END
    FROM head h LEFT JOIN chained c ON c.id = p_id
    WHERE p_id IS NOT NULL
      AND encode(CASE WHEN p_id = h.first_id - 1 THEN h.first_previous ELSE c.hash END, 'hex') IS DISTINCT FROM lower(p_hash))
  SELECT f.id, f.fault FROM faults f ORDER BY f.id NULLS FIRST, f.fault LIMIT p_limit
$$;
