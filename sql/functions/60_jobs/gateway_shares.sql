-- What analysis-gateway calls for users who share their analyses, and for carers who read what others share
-- with them. Tokens are passed and refused as in gateway.sql. A share is known by its number.
--
--   gateway_share_request(p_shard smallint, p_token bytea, p_login name, p_carer text, p_expires timestamptz)
--     -> bigint (the share's number)
--   gateway_share_accept(p_shard smallint, p_token bytea, p_share bigint) -> boolean
--   gateway_share_list(p_shard smallint, p_token bytea)
--     -> o_share bigint, o_role text (owner, carer), o_user text, o_clinician text, o_carer text,
--        o_state text (requested, active, expired, revoked, gone), o_requested_at, o_accepted_at,
--        o_expires_at, o_revoked_at
--   gateway_share_revoke(p_shard smallint, p_token bytea, p_share bigint) -> boolean
--   gateway_shared(p_shard smallint, p_token bytea)
--     -> o_share bigint, o_user text, o_accepted_at timestamptz, o_expires_at timestamptz
--   gateway_open_shared(p_shard smallint, p_token bytea, p_share bigint, p_before bigint, p_limit int)
--     -> text
--   gateway_shared_results(p_shard smallint, p_token bytea, p_share bigint, p_reading text)
--     -> the columns of gateway_results
--
-- p_shard and p_token are always those of who calls: the carer's where a carer reads. A boolean that is false
-- says that there is no such share for this user, or that it is not active.

-- Requests of a clinician or of a carer, who is named as the office calls them, to read one's analyses. One
-- who is not there is answered and recorded as everybody else: an app learns of nobody whether they exist.
CREATE OR REPLACE FUNCTION analysis.gateway_share_request(
  p_shard smallint, p_token bytea, p_login name, p_carer text, p_expires timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_carer_shard smallint := CASE WHEN p_carer IS NOT NULL THEN analysis.shard_of(p_carer) END;
  v_carer bigint := analysis.user_seen(v_carer_shard, p_carer);
BEGIN
  PERFORM analysis.require_argument(
    (p_login IS NULL) <> (p_carer IS NULL), 'a share is with a clinician''s login or with a carer');
  RETURN analysis.make_share(
    p_shard, v_token.o_user_id, p_login, v_carer_shard, v_carer,
    coalesce(p_login::text, normalize(p_carer)), p_expires,
    jsonb_build_object('token', v_token.o_number));
END $$;
COMMENT ON FUNCTION analysis.gateway_share_request IS
  'Requests for the user of a token that a clinician or a carer reads their analyses.';

-- Accepts a share that was requested of the user of a token, as a carer.
CREATE OR REPLACE FUNCTION analysis.gateway_share_accept(p_shard smallint, p_token bytea, p_share bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_share analysis.share := analysis.share_numbered(p_share);
BEGIN
  SELECT s.* INTO v_share FROM analysis.share s
  WHERE s.shard = v_share.shard AND s.id = v_share.id
    AND s.carer_shard = p_shard AND s.carer_id = v_token.o_user_id FOR NO KEY UPDATE;
  IF v_share.id IS NULL
     OR analysis.share_state(v_share, clock_timestamp()) NOT IN ('requested', 'active') THEN
    RETURN false;
  ELSIF NOT analysis.is_accepted(v_share) THEN
    UPDATE analysis.share s SET accepted_at = clock_timestamp()
    WHERE s.shard = v_share.shard AND s.id = v_share.id;
    PERFORM analysis.audit_share(
      'accept_share', v_share, jsonb_build_object('token', v_token.o_number));
  END IF;
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.gateway_share_accept IS
  'Accepts a share for the user of a token, as the carer.';

-- The shares of the user of a token, as owner and as carer: those that are open first, and the newest first.
CREATE OR REPLACE FUNCTION analysis.gateway_share_list(p_shard smallint, p_token bytea)
RETURNS TABLE (
  o_share bigint, o_role text, o_user text, o_clinician text, o_carer text, o_state text,
  o_requested_at timestamptz, o_accepted_at timestamptz, o_expires_at timestamptz, o_revoked_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_now timestamptz := clock_timestamp();
BEGIN
  RETURN QUERY
  SELECT s.id, CASE WHEN s.shard = p_shard AND s.user_id = v_token.o_user_id THEN 'owner' ELSE 'carer' END,
    a.user_ref, s.login::text,
    -- What the owner called the carer: how the office calls them now would say that they are there.
    CASE WHEN s.login IS NULL THEN coalesce(s.carer_named, (
      SELECT c.user_ref FROM analysis.account c
      WHERE c.shard = s.carer_shard AND c.user_id = s.carer_id)) END,
    analysis.share_state(s, v_now), s.requested_at, s.accepted_at, s.expires_at, s.revoked_at
  FROM (
    SELECT k.* FROM analysis.share k WHERE k.shard = p_shard AND k.user_id = v_token.o_user_id
    UNION ALL
    SELECT k.* FROM analysis.all_shards() h
    CROSS JOIN LATERAL (
      SELECT c.* FROM analysis.share c
      WHERE c.shard = h.o_shard AND c.carer_shard = p_shard AND c.carer_id = v_token.o_user_id OFFSET 0) k) s
  JOIN analysis.account a ON a.shard = s.shard AND a.user_id = s.user_id
  ORDER BY analysis.share_state(s, v_now) NOT IN ('requested', 'active'), s.id DESC
  LIMIT 1000;
END $$;
COMMENT ON FUNCTION analysis.gateway_share_list IS
  'Answers the shares of the user of a token, as owner and as carer.';

-- Ends a share of the user of a token, as owner or as carer.
CREATE OR REPLACE FUNCTION analysis.gateway_share_revoke(p_shard smallint, p_token bytea, p_share bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_share analysis.share := analysis.share_numbered(p_share);
BEGIN
  IF v_share.id IS NULL
     OR (v_share.shard, v_share.user_id) <> (p_shard, v_token.o_user_id)
       AND (v_share.carer_shard, v_share.carer_id) IS DISTINCT FROM (p_shard, v_token.o_user_id) THEN
    RETURN false;
  END IF;
  PERFORM analysis.end_share(v_share, jsonb_build_object('token', v_token.o_number));
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.gateway_share_revoke IS
  'Ends a share of the user of a token.';

-- The shares by which a carer reads now.
CREATE OR REPLACE FUNCTION analysis.shares_of_carer(p_shard smallint, p_user_id bigint)
RETURNS SETOF analysis.share
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_now timestamptz := clock_timestamp();
BEGIN
  RETURN QUERY
  SELECT s.* FROM analysis.all_shards() h
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.share k
    WHERE k.shard = h.o_shard AND k.carer_shard = p_shard AND k.carer_id = p_user_id OFFSET 0) s
  WHERE analysis.share_state(s, v_now) = 'active' AND analysis.is_seen(v_seen, s.shard, s.user_id);
END $$;

-- Who shares with the user of a token.
CREATE OR REPLACE FUNCTION analysis.gateway_shared(p_shard smallint, p_token bytea)
RETURNS TABLE (o_share bigint, o_user text, o_accepted_at timestamptz, o_expires_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  RETURN QUERY
  SELECT s.id, a.user_ref, s.accepted_at, s.expires_at
  FROM analysis.shares_of_carer(p_shard, v_token.o_user_id) s
  JOIN analysis.account a ON a.shard = s.shard AND a.user_id = s.user_id
  ORDER BY s.id
  LIMIT 1000;
END $$;
COMMENT ON FUNCTION analysis.gateway_shared IS
  'Answers who shares with the user of a token.';

-- Records that a carer reads a page of the history of a user who shares with them, and answers what
-- gateway_shared_results asks for once that is committed. NULL: there is no such share that is active, or
-- nothing to be read.
CREATE OR REPLACE FUNCTION analysis.gateway_open_shared(
  p_shard smallint, p_token bytea, p_share bigint, p_before bigint, p_limit int) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_share analysis.share;
  v_jobs bigint[];
BEGIN
  PERFORM analysis.require_page(p_limit);
  SELECT s.* INTO v_share FROM analysis.shares_of_carer(p_shard, v_token.o_user_id) s WHERE s.id = p_share;
  IF v_share.id IS NULL THEN
    RETURN NULL;
  END IF;
  v_jobs := analysis.history_of(v_share.shard, v_share.user_id, p_before, p_limit);
  IF cardinality(v_jobs) = 0 THEN
    RETURN NULL;
  END IF;
  RETURN analysis.open_gateway_reading(
    v_share.shard, v_jobs, ARRAY[v_share.user_id],
    jsonb_build_object(
      'share', v_share.id, 'by', v_token.o_user_id,
      'tokens', jsonb_build_array(format('%s/%s', v_token.o_user_id, v_token.o_number))));
END $$;
COMMENT ON FUNCTION analysis.gateway_open_shared IS
  'Records that a carer reads a page of shared analyses; answers what gateway_shared_results asks for.';

-- The results that such a reading has opened, while the share is still active.
CREATE OR REPLACE FUNCTION analysis.gateway_shared_results(
  p_shard smallint, p_token bytea, p_share bigint, p_reading text)
RETURNS TABLE (
  o_job bigint, o_user_id bigint, o_kind text, o_analysis text, o_created_at timestamptz,
  o_finished_at timestamptz, o_answered_at timestamptz, o_serious boolean, o_consult boolean,
  o_conditions jsonb, o_endpoint text, o_model text, o_version text, o_attempt int, o_call_ms int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_detail jsonb := analysis.require_reading('read_result', NULL, p_reading);
BEGIN
  RETURN QUERY
  SELECT r.*
  FROM analysis.shares_of_carer(p_shard, v_token.o_user_id) s
  CROSS JOIN LATERAL analysis.results_read(
    s.shard, ARRAY[s.user_id],
    ARRAY(SELECT j::bigint FROM jsonb_array_elements_text(v_detail -> 'jobs') j)) r
  WHERE s.id = p_share AND v_detail -> 'share' = to_jsonb(s.id)
    AND v_detail -> 'by' = to_jsonb(v_token.o_user_id)
  ORDER BY r.o_finished_at DESC, r.o_job DESC;
END $$;
COMMENT ON FUNCTION analysis.gateway_shared_results IS
  'Answers shared analyses whose reading was recorded.';
