-- Shares: a user (the owner) lets a clinician or a carer read their analyses, from when that one accepts
-- until it expires or is revoked. A clinician is a login with the role analysis_clinician, a carer another
-- user, who comes through the gateway (60_jobs/gateway_shares.sql).
--
--   request_share(p_shard smallint, p_user text, p_login name, p_carer_shard smallint, p_carer text,
--     p_expires timestamptz) -> bigint
--   accept_share(p_share bigint) -> boolean
--   revoke_share(p_share bigint) -> boolean
--   list_shares(p_user text, p_after bigint, p_limit int) -> o_share, o_user, o_clinician, o_carer, o_state,
--     o_requested_at, o_accepted_at, o_expires_at, o_revoked_at
--
-- A clinician who is restricted to clinics reads, beside the users of those, the users who share with the
-- login: users_shared says which, and the functions that show a job and its result ask it. Who is not
-- restricted reads them anyway.

-- Where a share is: requested, active, expired, revoked, or gone, where the clinician's login is not there
-- any more. One of somebody whom there never was (number 0) stays requested.
CREATE OR REPLACE FUNCTION analysis.share_state(p_share analysis.share, p_now timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_share.revoked_at IS NOT NULL THEN 'revoked'
    WHEN p_share.expires_at <= p_now THEN 'expired'
    WHEN p_share.login_id <> 0 AND NOT EXISTS (
      SELECT FROM pg_roles r WHERE r.rolname = p_share.login AND r.oid = p_share.login_id) THEN 'gone'
    WHEN p_share.accepted_at IS NULL THEN 'requested'
    ELSE 'active' END
$$;

-- The shares of a shard by which the login reads now.
CREATE OR REPLACE FUNCTION analysis.shares_of_login(p_shard smallint) RETURNS SETOF analysis.share
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  IF analysis.login_has('{clinician}') THEN
    RETURN QUERY
    SELECT s.* FROM analysis.share s
    WHERE s.shard = p_shard AND s.login = session_user AND analysis.share_state(s, v_now) = 'active';
  END IF;
END $$;

-- The users of a shard who share with the login: whom one that sees some clinics only (p_clinics) reads
-- beside the users of these. NULL for one that sees all.
CREATE OR REPLACE FUNCTION analysis.users_shared(p_clinics int[], p_shard smallint) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN CASE WHEN p_clinics IS NOT NULL THEN ARRAY(
    SELECT s.user_id FROM analysis.shares_of_login(p_shard) s) END;
END $$;

-- By which share the login reads a user; NULL: by none.
CREATE OR REPLACE FUNCTION analysis.share_with_login(p_shard smallint, p_user_id bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT max(s.id) FROM analysis.shares_of_login(p_shard) s WHERE s.user_id = p_user_id);
END $$;

-- A share by its number, in whatever shard its owner is.
CREATE OR REPLACE FUNCTION analysis.share_numbered(p_share bigint) RETURNS analysis.share
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_share analysis.share;
BEGIN
  SELECT s.* INTO v_share
  FROM analysis.all_shards() h
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.share k WHERE k.shard = h.o_shard AND k.id = p_share OFFSET 0) s;
  RETURN v_share;
END $$;

-- Whom the audit names of a share: the owner, and the carer.
CREATE OR REPLACE FUNCTION analysis.audit_share(p_action text, p_share analysis.share, p_detail jsonb)
RETURNS void
LANGUAGE sql AS $$
  SELECT analysis.audit_add(
    p_action, 'share:' || p_share.id,
    p_detail || jsonb_strip_nulls(jsonb_build_object(
      'users', to_jsonb(array_remove(ARRAY[p_share.user_id, nullif(p_share.carer_id, 0)], NULL)),
      'clinician', p_share.login)))
$$;

-- The number of a clinician's login; 0 where there is none, and p_named is what an app calls it. Without that
-- it is refused.
CREATE OR REPLACE FUNCTION analysis.clinician_login(p_login name, p_named text) RETURNS oid
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_login oid := coalesce((
    SELECT r.oid FROM pg_roles r
    JOIN pg_roles g ON g.rolname = analysis.role_prefix() || '_clinician'
    WHERE r.rolname = p_login AND r.rolcanlogin AND pg_has_role(r.oid, g.oid, 'MEMBER')), 0);
BEGIN
  IF v_login = 0 AND p_named IS NULL THEN
    RAISE EXCEPTION 'there is no login % of a clinician', left(p_login, 63) USING ERRCODE = '22023',
      HINT = format(
        'Check the spelling, or have an administrator of the database GRANT %s_clinician TO it.',
        analysis.role_prefix());
  END IF;
  RETURN v_login;
END $$;

-- Makes a request of a user's, who is not erased, and answers its number: to a clinician's login or to a
-- carer. NULL: the user is gone. p_named is what an app calls them: then one who is not there is requested
-- as number 0, and nobody can accept it. Without it that is refused.
CREATE OR REPLACE FUNCTION analysis.make_share(
  p_shard smallint, p_user_id bigint, p_login name, p_carer_shard smallint, p_carer_id bigint,
  p_named text, p_expires timestamptz, p_detail jsonb) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_login oid;
  v_share analysis.share;
BEGIN
  PERFORM analysis.require_date(p_expires);
  PERFORM analysis.require_argument((p_expires > v_now) IS NOT FALSE, 'a share expires at a time to come');
  PERFORM analysis.require_argument(
    (p_carer_shard, p_carer_id) IS DISTINCT FROM (p_shard, p_user_id), 'nobody shares with themselves');
  PERFORM analysis.refuse_repeatable_read();
  IF p_login IS NOT NULL THEN
    v_login := analysis.clinician_login(p_login, p_named);
  END IF;
  -- Neither is erased meanwhile.
  PERFORM FROM analysis.account a
  WHERE a.shard = p_carer_shard AND a.user_id = p_carer_id AND a.erased_at IS NULL FOR KEY SHARE;
  p_carer_id := CASE WHEN p_carer_shard IS NOT NULL THEN CASE WHEN FOUND THEN p_carer_id ELSE 0 END END;
  PERFORM analysis.require_argument(
    p_carer_id <> 0 OR p_named IS NOT NULL OR p_carer_shard IS NULL, 'there is no such carer');
  PERFORM FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_id = p_user_id AND a.erased_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  PERFORM analysis.require_feature_of(p_shard, p_user_id, 'sharing');
  -- One after the other; what follows sees what another requested while this one waited.
  PERFORM analysis.require_argument(
    NOT EXISTS (
      SELECT FROM analysis.share s
      WHERE s.shard = p_shard AND s.user_id = p_user_id
        AND (s.login = p_login OR p_login IS NULL AND s.carer_named = p_named
             OR s.carer_shard = p_carer_shard AND s.carer_id = p_carer_id AND p_carer_id <> 0)
        AND analysis.share_state(s, v_now) IN ('requested', 'active')),
    'the user shares with this one already: revoke that share first');
  PERFORM analysis.require_argument(
    (SELECT count(*) FROM analysis.share s
     WHERE s.shard = p_shard AND s.user_id = p_user_id
       AND analysis.share_state(s, v_now) IN ('requested', 'active')) < 100,
    'a user has at most 100 shares: revoke those that are not used');
  INSERT INTO analysis.share (
    shard, carer_shard, login_id, user_id, carer_id, requested_at, expires_at, login, requested_by,
    carer_named)
  VALUES (
    p_shard, p_carer_shard, v_login, p_user_id, p_carer_id, v_now, p_expires, p_login, session_user,
    CASE WHEN p_login IS NULL THEN p_named END)
  RETURNING * INTO v_share;
  -- Those that ended long ago go, or nobody would find the others among them.
  DELETE FROM analysis.share s
  WHERE s.shard = p_shard AND s.user_id = p_user_id
    AND least(s.revoked_at, s.expires_at) < v_now - interval '1 year';
  PERFORM analysis.audit_share(
    'request_share', v_share,
    p_detail || jsonb_strip_nulls(jsonb_build_object('expires', analysis.audit_time(p_expires))));
  RETURN v_share.id;
END $$;

-- Requests for a user that a clinician's login, or a carer, reads their analyses. NULL: there is no such
-- user.
CREATE OR REPLACE FUNCTION analysis.request_share(
  p_shard smallint, p_user text, p_login name, p_carer_shard smallint, p_carer text, p_expires timestamptz)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_user bigint := analysis.user_seen(p_shard, p_user);
  v_carer bigint := analysis.user_seen(p_carer_shard, p_carer);
BEGIN
  PERFORM analysis.require_argument(
    (p_login IS NULL) <> (p_carer IS NULL) AND (p_carer IS NULL) = (p_carer_shard IS NULL),
    'a share is with a clinician''s login or with a carer');
  IF v_user IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM analysis.require_argument(p_carer IS NULL OR v_carer IS NOT NULL, 'there is no such carer');
  RETURN analysis.make_share(p_shard, v_user, p_login, p_carer_shard, v_carer, NULL, p_expires, '{}');
END $$;
COMMENT ON FUNCTION analysis.request_share IS
  'Requests that a clinician or a carer reads a user''s analyses; answers the share''s number.';

-- Refuses to accept a share that is not open any more; answers whether it is accepted already.
CREATE OR REPLACE FUNCTION analysis.is_accepted(p_share analysis.share) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_state text := analysis.share_state(p_share, clock_timestamp());
BEGIN
  IF v_state NOT IN ('requested', 'active') THEN
    RAISE EXCEPTION 'share S% cannot be accepted any more: it is %', p_share.id, v_state
      USING ERRCODE = '22023', HINT = 'Have it requested anew.';
  END IF;
  RETURN v_state = 'active';
END $$;

-- Whether a share is with the caller's own login: one that was made again under the name is somebody else.
CREATE OR REPLACE FUNCTION analysis.is_own_share(p_share analysis.share) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT coalesce(p_share.login = session_user
    AND p_share.login_id = (SELECT r.oid FROM pg_roles r WHERE r.rolname = session_user), false)
$$;

-- Accepts a share that was requested of this login. False: no such share is this login's.
CREATE OR REPLACE FUNCTION analysis.accept_share(p_share bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_share analysis.share := analysis.share_numbered(p_share);
BEGIN
  IF NOT analysis.is_own_share(v_share) THEN
    RETURN false;
  END IF;
  SELECT s.* INTO v_share FROM analysis.share s
  WHERE s.shard = v_share.shard AND s.id = v_share.id FOR NO KEY UPDATE;
  IF v_share.id IS NULL THEN
    RETURN false;                      -- erased meanwhile
  ELSIF NOT analysis.is_accepted(v_share) THEN
    UPDATE analysis.share s SET accepted_at = clock_timestamp()
    WHERE s.shard = v_share.shard AND s.id = v_share.id;
    PERFORM analysis.audit_share('accept_share', v_share, '{}');
  END IF;
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.accept_share IS
  'Accepts a share for the clinician''s own login; answers whether there is such a one.';

-- Ends a share that is known to be the caller's business, and records it; false if it had ended.
CREATE OR REPLACE FUNCTION analysis.end_share(p_share analysis.share, p_detail jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE analysis.share s SET revoked_at = clock_timestamp()
  WHERE s.shard = p_share.shard AND s.id = p_share.id AND s.revoked_at IS NULL;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM analysis.audit_share('revoke_share', p_share, p_detail);
  RETURN true;
END $$;

-- Whether the caller looks after an owner's shares: an administrator who sees that user.
CREATE OR REPLACE FUNCTION analysis.may_administer(p_shard smallint, p_user_id bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN analysis.login_has('{administrator}')
    AND analysis.is_seen(analysis.clinics_seen(analysis.caller()), p_shard, p_user_id);
END $$;

-- Ends a share: for an administrator that of a user whom the login sees, for a clinician its own. False:
-- there is no such share for this login. One that has ended stays as it is.
CREATE OR REPLACE FUNCTION analysis.revoke_share(p_share bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_share analysis.share := analysis.share_numbered(p_share);
BEGIN
  IF v_share.id IS NULL OR NOT (
    analysis.may_administer(v_share.shard, v_share.user_id)
    OR analysis.is_own_share(v_share)) THEN
    RETURN false;
  END IF;
  PERFORM analysis.end_share(v_share, '{}');
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.revoke_share IS
  'Ends a share; answers whether there is such a one for this login.';

-- A page of shares by number, behind p_after: for an administrator those of the users whom the login sees,
-- for a clinician its own. p_user: of this user alone, as owner or carer. A carer whom a restricted
-- administrator does not see has no name here.
CREATE OR REPLACE FUNCTION analysis.list_shares(p_user text, p_after bigint, p_limit int)
RETURNS TABLE (
  o_share bigint, o_user text, o_clinician text, o_carer text, o_state text, o_requested_at timestamptz,
  o_accepted_at timestamptz, o_expires_at timestamptz, o_revoked_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_administers boolean := analysis.login_has('{administrator}');
  v_now timestamptz := clock_timestamp();
  v_shard smallint := analysis.shard_of(p_user);
  v_user bigint;
BEGIN
  PERFORM analysis.require_argument(
    p_after IS NOT NULL AND p_limit BETWEEN 1 AND 1000, 'a page of shares has 1 to 1000, behind a number');
  IF p_user IS NOT NULL THEN
    v_user := coalesce(
      (SELECT a.user_id FROM analysis.account a
      WHERE a.shard = v_shard AND a.user_ref = normalize(p_user)), 0);
  END IF;
  RETURN QUERY
  SELECT s.id, a.user_ref, s.login::text,
    CASE WHEN s.carer_id = 0 AND v_seen IS NULL THEN s.carer_named ELSE (
      SELECT c.user_ref FROM analysis.account c
      WHERE c.shard = s.carer_shard AND c.user_id = s.carer_id
        AND (v_seen IS NULL OR c.clinic_id = ANY (v_seen))) END,
    analysis.share_state(s, v_now), s.requested_at, s.accepted_at, s.expires_at, s.revoked_at
  FROM analysis.all_shards() h
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.share k WHERE k.shard = h.o_shard AND k.id > p_after OFFSET 0) s
  JOIN analysis.account a ON a.shard = s.shard AND a.user_id = s.user_id
  WHERE (v_administers AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen)) OR analysis.is_own_share(s))
    AND (p_user IS NULL OR s.shard = v_shard AND s.user_id = v_user
         OR s.carer_shard = v_shard AND s.carer_id = v_user
           AND (v_seen IS NULL OR EXISTS (
             SELECT FROM analysis.account c
             WHERE c.shard = s.carer_shard AND c.user_id = s.carer_id AND c.clinic_id = ANY (v_seen))))
  ORDER BY s.id
  LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.list_shares IS
  'Answers a page of the shares that the login looks after, or that are its own.';

-- Removes the shares of a person, as owner and as carer, in whatever shard, and those that name them from
-- before they were there; in the order of their numbers, so that two who share with each other can be erased
-- at once.
CREATE OR REPLACE FUNCTION analysis.erase_shares(p_shard smallint, p_user_id bigint) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM analysis.share d
  WHERE (d.shard, d.id) IN (
    SELECT s.shard, s.id
    FROM analysis.share s
    WHERE (s.shard, s.id) IN (
      SELECT k.shard, k.id FROM analysis.share k WHERE k.shard = p_shard AND k.user_id = p_user_id
      UNION ALL
      SELECT k.shard, k.id
      FROM analysis.all_shards() h
      CROSS JOIN LATERAL (
        SELECT c.shard, c.id FROM analysis.share c
        WHERE c.shard = h.o_shard
          AND (c.carer_shard = p_shard AND c.carer_id = p_user_id
            OR c.carer_id = 0 AND c.carer_named = (
              SELECT a.user_ref FROM analysis.account a
              WHERE a.shard = p_shard AND a.user_id = p_user_id)) OFFSET 0) k)
    ORDER BY s.shard, s.id
    FOR UPDATE)
$$;

-- The shares of a person, as owner and as carer. Of the other person the export says nothing.
CREATE OR REPLACE FUNCTION analysis.shares_exported(p_shard smallint, p_user_id bigint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object(
    'share', s.id, 'as', CASE WHEN s.shard = p_shard AND s.user_id = p_user_id THEN 'owner' ELSE 'carer' END,
    'with', CASE WHEN s.login IS NOT NULL THEN 'clinician' ELSE 'carer' END, 'clinician', s.login,
    'requested_at', s.requested_at, 'accepted_at', s.accepted_at, 'expires_at', s.expires_at,
    'revoked_at', s.revoked_at)
      ORDER BY s.id), '[]')
  FROM analysis.all_shards() h
  JOIN analysis.share s ON s.shard = h.o_shard
  WHERE s.shard = p_shard AND s.user_id = p_user_id OR s.carer_shard = p_shard AND s.carer_id = p_user_id
$$;

-- Ends the shares of logins that are gone.
CREATE OR REPLACE FUNCTION analysis.end_shares_of_lost_logins() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE analysis.share s SET revoked_at = clock_timestamp()
  FROM analysis.all_shards() h
  WHERE s.shard = h.o_shard AND s.login_id <> 0 AND s.revoked_at IS NULL AND NOT EXISTS (
    SELECT FROM pg_roles r WHERE r.rolname = s.login AND r.oid = s.login_id);
END $$;
