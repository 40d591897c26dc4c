-- Sessions of users' apps: how the office makes the code that begins one, and how one is begun, renewed and
-- ended. A session is a row of user_token: to the functions that take a token it is one.
--
--   add_login_code(p_shard smallint, p_user text, p_hash bytea) -> timestamptz (when it ends)
--
-- What the gateway calls is in 60_jobs/gateway_sessions.sql.

-- Makes a code of a user, by its hash, in place of one that there is, and answers until when it counts. NULL:
-- there is no such user.
CREATE OR REPLACE FUNCTION analysis.add_login_code(p_shard smallint, p_user text, p_hash bytea)
RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_user bigint := analysis.user_seen(p_shard, p_user);
BEGIN
  PERFORM analysis.require_argument(
    octet_length(p_hash) = 32, 'a code is given as its SHA-256, of 32 bytes');
  PERFORM analysis.refuse_repeatable_read();
  PERFORM FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_id = v_user AND a.erased_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  INSERT INTO analysis.login_code AS c (shard, user_id, created_at, expires_at, created_by, hash)
  VALUES (p_shard, v_user, v_now, v_now + interval '1 hour', session_user, p_hash)
  ON CONFLICT (shard, user_id) DO UPDATE
    SET created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at,
        created_by = EXCLUDED.created_by, hash = EXCLUDED.hash;
  PERFORM analysis.audit_add('add_login_code', 'user:' || v_user);
  RETURN v_now + interval '1 hour';
EXCEPTION WHEN unique_violation THEN
  PERFORM analysis.require_new_hash(false);
END $$;
COMMENT ON FUNCTION analysis.add_login_code IS
  'Makes the code by which a user''s app begins a session, by its hash; answers when it ends.';

-- How long an access token counts, and how long a session lasts that is not renewed.
CREATE OR REPLACE FUNCTION analysis.session_times(OUT o_access interval, OUT o_session interval)
LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '15 minutes', interval '90 days'
$$;

-- Has a user who has 20 sessions lose the one that was renewed longest ago, so that another can begin. The
-- caller has the user's account.
CREATE OR REPLACE FUNCTION analysis.make_room_for_session(p_shard smallint, p_user_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_surplus int[] := ARRAY(
    SELECT t.number FROM analysis.user_token t
    WHERE t.shard = p_shard AND t.user_id = p_user_id AND t.family IS NOT NULL AND t.revoked_at IS NULL
      AND t.renewable_until > clock_timestamp()
    ORDER BY t.renewable_until DESC, t.number DESC
    OFFSET 19);
BEGIN
  PERFORM analysis.end_tokens(p_shard, p_user_id, v_surplus, '{"because": "another session began"}');
END $$;
