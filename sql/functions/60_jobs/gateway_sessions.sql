-- What analysis-gateway calls for the sessions of users' apps. Tokens are passed and refused as in
-- gateway.sql; codes and the parts of refresh tokens are passed as their SHA-256 too.
--
--   gateway_begin_session(p_shard smallint, p_code bytea, p_name text, p_label text, p_token bytea,
--     p_family bytea, p_turn bytea) -> int (the session's number)
--   gateway_renew_session(p_shard smallint, p_family bytea, p_turn bytea, p_token bytea, p_next bytea) -> int
--   gateway_sessions(p_shard smallint, p_token bytea)
--     -> o_session int, o_label text, o_is_own boolean, o_began_at timestamptz, o_last_used_on text,
--        o_ends_at timestamptz
--   gateway_end_sessions(p_shard smallint, p_token bytea, p_session int) -> int
--
-- What does not count (a code or a refresh token that is unknown, over or used) is answered with NULL, the
-- same for each, so that strangers learn nothing and write no lines in the server's log.

-- Begins a session by a code, which counts no more. p_name (NULL: not asked for) has to be what the office
-- calls the user, or the user's e-mail address: with another name the code stays.
CREATE OR REPLACE FUNCTION analysis.gateway_begin_session(
  p_shard smallint, p_code bytea, p_name text, p_label text, p_token bytea, p_family bytea, p_turn bytea)
RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_times record := analysis.session_times();
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_user bigint;
  v_by name;
  v_number int;
BEGIN
  PERFORM analysis.require_argument(
    (octet_length(p_token) = 32 AND octet_length(p_family) = 32 AND octet_length(p_turn) = 32) IS TRUE,
    'the tokens of a session are given as their SHA-256, of 32 bytes');
  PERFORM analysis.require_label(p_label);
  PERFORM analysis.refuse_repeatable_read();
  -- The account before the code, as an erasure has them.
  PERFORM FROM analysis.account a
  WHERE a.shard = p_shard AND a.erased_at IS NULL AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))
    AND a.user_id = (SELECT c.user_id FROM analysis.login_code c WHERE c.shard = p_shard AND c.hash = p_code)
    AND (p_name IS NULL OR a.user_ref = normalize(p_name) OR EXISTS (
      SELECT FROM analysis.profile p
      WHERE p.shard = a.shard AND p.user_id = a.user_id AND lower(p.email) = lower(normalize(p_name))))
  FOR NO KEY UPDATE;
  IF FOUND THEN
    DELETE FROM analysis.login_code c WHERE c.shard = p_shard AND c.hash = p_code AND c.expires_at > v_now
    RETURNING c.user_id, c.created_by INTO v_user, v_by;
  END IF;
  IF v_user IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM analysis.make_room_for_session(p_shard, v_user);
  v_number := analysis.next_token(p_shard, v_user);
  INSERT INTO analysis.user_token (
    shard, number, last_used_on, user_id, created_at, expires_at, created_by, label, hash, renewable_until,
    family, turn)
  VALUES (
    p_shard, v_number, (v_now AT TIME ZONE 'UTC')::date, v_user, v_now, v_now + v_times.o_access,
    session_user, p_label, p_token, v_now + v_times.o_session, p_family, p_turn)
  ON CONFLICT DO NOTHING;
  PERFORM analysis.require_new_hash(FOUND);
  PERFORM analysis.audit_add(
    'begin_session', 'user:' || v_user, jsonb_build_object('token', v_number, 'code_by', v_by));
  RETURN v_number;
END $$;
COMMENT ON FUNCTION analysis.gateway_begin_session IS
  'Begins a session of a user''s app by a code; answers its number.';

-- Gives a session its next access and refresh token. A refresh token that was used before is in two hands:
-- the session ends. Only who has had one of its tokens knows the family.
CREATE OR REPLACE FUNCTION analysis.gateway_renew_session(
  p_shard smallint, p_family bytea, p_turn bytea, p_token bytea, p_next bytea) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_times record := analysis.session_times();
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_session analysis.user_token;
BEGIN
  PERFORM analysis.require_argument(
    (octet_length(p_token) = 32 AND octet_length(p_turn) = 32 AND octet_length(p_next) = 32) IS TRUE,
    'the tokens of a session are given as their SHA-256, of 32 bytes');
  PERFORM analysis.refuse_repeatable_read();
  SELECT t.* INTO v_session FROM analysis.user_token t
  WHERE t.shard = p_shard AND t.family = p_family FOR NO KEY UPDATE;
  IF v_session.revoked_at IS NOT NULL OR (v_session.renewable_until > v_now) IS NOT TRUE OR NOT EXISTS (
    SELECT FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_id = v_session.user_id AND a.erased_at IS NULL
      AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))) THEN
    RETURN NULL;
  END IF;
  IF v_session.turn <> p_turn THEN
    PERFORM analysis.end_tokens(
      p_shard, v_session.user_id, ARRAY[v_session.number], '{"because": "a refresh token was used again"}');
    RETURN NULL;
  END IF;
  UPDATE analysis.user_token t
  SET hash = p_token, turn = p_next, expires_at = v_now + v_times.o_access,
      renewable_until = v_now + v_times.o_session, last_used_on = (v_now AT TIME ZONE 'UTC')::date
  WHERE t.shard = p_shard AND t.user_id = v_session.user_id AND t.number = v_session.number;
  RETURN v_session.number;
EXCEPTION WHEN unique_violation THEN
  PERFORM analysis.require_new_hash(false);
END $$;
COMMENT ON FUNCTION analysis.gateway_renew_session IS
  'Gives a session its next tokens; one whose refresh token comes a second time ends.';

-- The sessions of the user of a token that have not ended, the newest first.
CREATE OR REPLACE FUNCTION analysis.gateway_sessions(p_shard smallint, p_token bytea)
RETURNS TABLE (
  o_session int, o_label text, o_is_own boolean, o_began_at timestamptz, o_last_used_on text,
  o_ends_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  RETURN QUERY
  SELECT t.number, t.label, t.number = v_token.o_number, t.created_at,
    to_char(t.last_used_on, 'YYYY-MM-DD'), t.renewable_until
  FROM analysis.user_token t
  WHERE t.shard = p_shard AND t.user_id = v_token.o_user_id AND t.family IS NOT NULL
    AND t.revoked_at IS NULL AND t.renewable_until > clock_timestamp()
  ORDER BY t.number DESC;
END $$;
COMMENT ON FUNCTION analysis.gateway_sessions IS
  'Answers the sessions of the user of a token.';

-- Ends a session of the user of a token; p_session NULL: all but the one that asks. Answers how many.
CREATE OR REPLACE FUNCTION analysis.gateway_end_sessions(p_shard smallint, p_token bytea, p_session int)
RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  RETURN analysis.end_tokens(
    p_shard, v_token.o_user_id,
    ARRAY(
      SELECT t.number FROM analysis.user_token t
      WHERE t.shard = p_shard AND t.user_id = v_token.o_user_id AND t.family IS NOT NULL
        AND CASE WHEN p_session IS NULL THEN t.number <> v_token.o_number ELSE t.number = p_session END),
    jsonb_build_object('token', v_token.o_number));
END $$;
COMMENT ON FUNCTION analysis.gateway_end_sessions IS
  'Ends a session of the user of a token, or all others; answers how many.';
