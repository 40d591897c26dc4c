-- Tokens of users: how one is added, listed and revoked, and whose a token is.
--
-- A token is `aq1.SHARD.` and 32 random bytes in base64url without padding. What comes here of it is its
-- hash, the SHA-256 of the whole text.
--
--   add_token(p_shard smallint, p_user text, p_hash bytea, p_label text, p_expires timestamptz) -> int
--   list_tokens(p_shard smallint, p_user text) -> o_number, o_label, o_created_at, o_created_by,
--     o_expires_at, o_revoked_at, o_last_used_on, o_state (valid, expired, revoked), o_is_session
--   revoke_tokens(p_shard smallint, p_user text, p_number int) -> int
--
-- A session of an app (sessions.sql) is a row of the same table, whose token changes.
--
-- What the gateway calls with a token is in 60_jobs/gateway.sql.

-- The number of a user whom the caller sees; NULL: there is no such user.
CREATE OR REPLACE FUNCTION analysis.user_seen(p_shard smallint, p_user text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  RETURN (
    SELECT a.user_id FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL
      AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen)));
END $$;

-- When a token or a session ends by itself; NULL: never.
CREATE OR REPLACE FUNCTION analysis.token_ends(p_token analysis.user_token) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(p_token.renewable_until, p_token.expires_at)
$$;

-- Refuses what cannot be shown as the label of a token.
CREATE OR REPLACE FUNCTION analysis.require_label(p_label text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM analysis.require_argument(
    (length(p_label) BETWEEN 1 AND 100 AND p_label !~ analysis.hidden_characters()) IS NOT FALSE,
    'a token''s label has 1 to 100 characters, and none that cannot be seen');
END $$;

-- Refuses the hash of a token or a code that another of the shard has.
CREATE OR REPLACE FUNCTION analysis.require_new_hash(p_is_new boolean) RETURNS void
LANGUAGE sql AS $$
  SELECT analysis.require_argument(
    p_is_new, 'a token or a code of this shard has this hash already: make another')
$$;

-- The number of a user's next token. The caller has the user's account. Those that ended more than a year ago
-- go: none of them has the greatest number, so that no number is given twice.
CREATE OR REPLACE FUNCTION analysis.next_token(p_shard smallint, p_user_id bigint) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  v_last int := coalesce(
    (SELECT max(t.number) FROM analysis.user_token t WHERE t.shard = p_shard AND t.user_id = p_user_id), 0);
BEGIN
  DELETE FROM analysis.user_token t
  WHERE t.shard = p_shard AND t.user_id = p_user_id AND t.number < v_last
    AND least(t.revoked_at, analysis.token_ends(t)) < clock_timestamp() - interval '1 year';
  RETURN v_last + 1;
END $$;

-- Adds a token of a user, of which the caller gives the hash, and answers its number. NULL: there is no such
-- user. A user has at most 100 tokens that are valid; those that ended more than a year ago go.
CREATE OR REPLACE FUNCTION analysis.add_token(
  p_shard smallint, p_user text, p_hash bytea, p_label text, p_expires timestamptz) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_user bigint := analysis.user_seen(p_shard, p_user);
  v_number int;
BEGIN
  PERFORM analysis.require_argument(
    octet_length(p_hash) = 32, 'a token is given as its SHA-256, of 32 bytes');
  PERFORM analysis.require_label(p_label);
  PERFORM analysis.require_date(p_expires);
  PERFORM analysis.require_argument((p_expires > v_now) IS NOT FALSE, 'a token expires at a time to come');
  PERFORM analysis.refuse_repeatable_read();
  -- One after the other; what follows sees what another added while this one waited.
  PERFORM FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_id = v_user AND a.erased_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  PERFORM analysis.require_argument(
    (SELECT count(*) FROM analysis.user_token t
     WHERE t.shard = p_shard AND t.user_id = v_user AND t.revoked_at IS NULL AND t.family IS NULL
       AND (t.expires_at > v_now) IS NOT FALSE) < 100,
    'a user has at most 100 tokens that are valid: revoke those that are not used');
  v_number := analysis.next_token(p_shard, v_user);
  INSERT INTO analysis.user_token (
    shard, number, user_id, created_at, expires_at, created_by, label, hash)
  VALUES (p_shard, v_number, v_user, v_now, p_expires, session_user, p_label, p_hash)
  ON CONFLICT DO NOTHING;
  PERFORM analysis.require_new_hash(FOUND);
  PERFORM analysis.audit_add(
    'add_token', 'user:' || v_user,
    jsonb_strip_nulls(jsonb_build_object('token', v_number, 'expires', analysis.audit_time(p_expires))));
  RETURN v_number;
END $$;
COMMENT ON FUNCTION analysis.add_token IS
  'Adds a user''s token by its hash; answers its number.';

-- The tokens of a user, by number; none of a user whom the caller does not see.
CREATE OR REPLACE FUNCTION analysis.list_tokens(p_shard smallint, p_user text)
RETURNS TABLE (
  o_number int, o_label text, o_created_at timestamptz, o_created_by text, o_expires_at timestamptz,
  o_revoked_at timestamptz, o_last_used_on text, o_state text, o_is_session boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  RETURN QUERY
  SELECT t.number, t.label, t.created_at, t.created_by::text, analysis.token_ends(t), t.revoked_at,
    to_char(t.last_used_on, 'YYYY-MM-DD'),
    CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked'
      WHEN analysis.token_ends(t) <= clock_timestamp() THEN 'expired' ELSE 'valid' END,
    t.family IS NOT NULL
  FROM analysis.account a
  JOIN analysis.user_token t ON t.shard = a.shard AND t.user_id = a.user_id
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))
  ORDER BY t.number;
END $$;
COMMENT ON FUNCTION analysis.list_tokens IS
  'Answers the tokens and sessions of a user, without their hashes.';

-- Ends those of a user's tokens and sessions that are among the numbers and valid; answers how many.
CREATE OR REPLACE FUNCTION analysis.end_tokens(
  p_shard smallint, p_user_id bigint, p_numbers int[], p_detail jsonb) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  v_ended int[];
BEGIN
  WITH ended AS (
    UPDATE analysis.user_token t SET revoked_at = clock_timestamp()
    WHERE t.shard = p_shard AND t.user_id = p_user_id AND t.number = ANY (p_numbers)
      AND t.revoked_at IS NULL AND (analysis.token_ends(t) > clock_timestamp()) IS NOT FALSE
    RETURNING t.number)
  SELECT coalesce(array_agg(e.number ORDER BY e.number), '{}') INTO v_ended FROM ended e;
  IF cardinality(v_ended) > 0 THEN
    PERFORM analysis.audit_add(
      'revoke_token', 'user:' || p_user_id, p_detail || jsonb_build_object('tokens', to_jsonb(v_ended)));
  END IF;
  RETURN cardinality(v_ended);
END $$;

-- Revokes a token of a user, or all (p_number NULL), and answers how many were valid. NULL: there is no such
-- user, or no token of this number. What the gateway has begun with a token goes on; its next call is
-- refused.
CREATE OR REPLACE FUNCTION analysis.revoke_tokens(p_shard smallint, p_user text, p_number int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_user bigint := analysis.user_seen(p_shard, p_user);
  v_numbers int[] := ARRAY(
    SELECT t.number FROM analysis.user_token t
    WHERE t.shard = p_shard AND t.user_id = v_user AND (p_number IS NULL OR t.number = p_number));
BEGIN
  IF v_user IS NULL OR p_number IS NOT NULL AND v_numbers = '{}' THEN
    RETURN NULL;
  END IF;
  -- A code that was not used yet would begin another session.
  IF p_number IS NULL THEN
    DELETE FROM analysis.login_code c WHERE c.shard = p_shard AND c.user_id = v_user;
  END IF;
  RETURN analysis.end_tokens(p_shard, v_user, v_numbers, '{}');
END $$;
COMMENT ON FUNCTION analysis.revoke_tokens IS
  'Revokes a token of a user, or all of them; answers how many were valid.';

-- Whose tokens these are, of those that are valid: known, not revoked, not expired, of a user who was not
-- erased and whom the gateway's login sees. Granted to nobody.
CREATE OR REPLACE FUNCTION analysis.token_users(p_shard smallint, p_tokens bytea[])
RETURNS TABLE (o_token bytea, o_user_id bigint, o_user text, o_number int, o_last_used_on date)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_now timestamptz := clock_timestamp();
BEGIN
  RETURN QUERY
  SELECT g.token, a.user_id, a.user_ref, t.number, t.last_used_on
  FROM (SELECT DISTINCT unnest(p_tokens) AS token) g
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.number, k.last_used_on FROM analysis.user_token k
    WHERE k.shard = p_shard AND k.hash = g.token AND k.revoked_at IS NULL
      AND (k.expires_at > v_now) IS NOT FALSE OFFSET 0) t
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.user_ref, k.clinic_id FROM analysis.account k
    WHERE k.shard = p_shard AND k.user_id = t.user_id AND k.erased_at IS NULL OFFSET 0) a
  WHERE v_seen IS NULL OR a.clinic_id = ANY (v_seen);
END $$;

-- Whose a token is; with NULL if it is not valid. Writes down the day of its use, without waiting for another
-- who does.
CREATE OR REPLACE FUNCTION analysis.known_token(
  p_shard smallint, p_token bytea, OUT o_user_id bigint, OUT o_user text, OUT o_number int)
LANGUAGE plpgsql AS $$
DECLARE
  v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  v_last_used date;
BEGIN
  SELECT t.o_user_id, t.o_user, t.o_number, t.o_last_used_on INTO o_user_id, o_user, o_number, v_last_used
  FROM analysis.token_users(p_shard, ARRAY[p_token]) t;
  IF o_number IS NOT NULL AND (v_last_used >= v_today) IS NOT TRUE THEN
    UPDATE analysis.user_token t SET last_used_on = v_today
    WHERE (t.shard, t.user_id, t.number) IN (
      SELECT k.shard, k.user_id, k.number FROM analysis.user_token k
      WHERE k.shard = p_shard AND k.user_id = known_token.o_user_id AND k.number = known_token.o_number
        AND (k.last_used_on >= v_today) IS NOT TRUE
      FOR NO KEY UPDATE SKIP LOCKED);
  END IF;
END $$;

-- Whose a token is; one that is not valid is refused, and why is not said.
CREATE OR REPLACE FUNCTION analysis.token_user(
  p_shard smallint, p_token bytea, OUT o_user_id bigint, OUT o_user text, OUT o_number int)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.o_user_id, t.o_user, t.o_number INTO o_user_id, o_user, o_number
  FROM analysis.known_token(p_shard, p_token) t;
  IF o_number IS NULL THEN
    RAISE EXCEPTION 'the token is not valid' USING ERRCODE = 'invalid_authorization_specification',
      HINT = 'It may be unknown, expired or revoked, or its user gone.';
  END IF;
END $$;
