-- What happens to the users of tokens, for apps that listen. Tokens are passed as in gateway.sql.
--
--   gateway_events(p_shard smallint, p_tokens bytea[], p_since text[], p_with_limits boolean)
--     -> o_place int, o_cursor text, o_event text (analysis, share, limit; NULL: nothing has happened),
--        o_number bigint (job, share, percent), o_state text, o_role text, o_person text,
--        o_at timestamptz
--
-- Nobody writes events down: they are the rows that have come since the look before, by what that look has
-- seen. Its cursor, which the next one passes back, is its time and its snapshot: so a row is found that was
-- written before and committed after. o_place is the token's place; one that is not valid has no row. A user
-- has at most 201 events in a look, the newest first: who gets so many reads the history.

-- What a cursor says; the snapshot is NULL where it is another database's, or of a time too long ago to tell
-- transactions apart: then the time alone counts. With what is no cursor one begins to listen now.
CREATE OR REPLACE FUNCTION analysis.event_cursor(
  p_cursor text, p_next bigint, OUT o_at timestamptz, OUT o_snapshot pg_snapshot)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_part text[] := regexp_match(
    left(p_cursor, 2000), '^([0-9]{1,16});(([0-9]{1,18}):([0-9]{1,18}):[0-9,]*)$');
BEGIN
  o_at := CASE WHEN v_part IS NULL THEN v_now ELSE greatest(
    '1970-01-01 00:00:00+00'::timestamptz + v_part[1]::bigint * interval '1 microsecond',
    v_now - interval '30 days') END;
  IF p_next - v_part[3]::bigint < 2147483648 AND v_part[4]::bigint <= p_next THEN
    o_snapshot := v_part[2]::pg_snapshot;
  END IF;
EXCEPTION WHEN invalid_text_representation THEN
  o_at := v_now;
END $$;

-- Whether a row with a time is new to a cursor. A transaction that ends jobs lasts ten minutes at most.
CREATE OR REPLACE FUNCTION analysis.is_event(
  p_at timestamptz, p_xmin xid, p_next bigint, p_since timestamptz, p_snapshot pg_snapshot) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_snapshot IS NULL THEN p_at > p_since
    ELSE p_at > p_since - interval '10 minutes' AND NOT pg_visible_in_snapshot(
      (p_next - analysis.transactions_ago(p_next, p_xmin))::text::xid8, p_snapshot) END
$$;

-- How jobs of a user have ended: of the present months and the two before.
CREATE OR REPLACE FUNCTION analysis.endings_since(
  p_shard smallint, p_user_id bigint, p_next bigint, p_since timestamptz, p_snapshot pg_snapshot)
RETURNS TABLE (number bigint, state text, kind smallint, at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT r.job_id, CASE r.outcome WHEN 1 THEN 'succeeded' ELSE 'cancelled' END, r.kind, r.finished_at
  FROM analysis.partition_made m
  CROSS JOIN LATERAL (
    SELECT k.job_id, k.outcome, k.kind, k.finished_at, k.xmin AS x FROM analysis.result k
    WHERE k.user_id = p_user_id AND k.shard = p_shard AND k.period = m.period
      AND k.finished_at > p_since - interval '10 minutes' OFFSET 0) r
  WHERE m.period >= analysis.period_of(clock_timestamp(), 'UTC') - 2
    AND analysis.is_event(r.finished_at, r.x, p_next, p_since, p_snapshot)
  UNION ALL
  SELECT d.job_id, 'dead', d.kind, d.failed_at FROM analysis.dead d
  WHERE d.shard = p_shard AND d.user_id = p_user_id
    AND analysis.is_event(d.failed_at, d.xmin, p_next, p_since, p_snapshot)
$$;

-- What became of the shares of a user, as owner and as carer: each with the state that it has now. A share
-- expires without a row's being written.
CREATE OR REPLACE FUNCTION analysis.share_events(
  p_shard smallint, p_user_id bigint, p_next bigint, p_since timestamptz, p_snapshot pg_snapshot)
RETURNS TABLE (number bigint, state text, role text, person text, at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT s.id, t.state, o.role,
    CASE o.role WHEN 'owner' THEN coalesce(s.login::text, s.carer_named, (
      SELECT c.user_ref FROM analysis.account c
      WHERE c.shard = s.carer_shard AND c.user_id = s.carer_id))
    ELSE (SELECT a.user_ref FROM analysis.account a WHERE a.shard = s.shard AND a.user_id = s.user_id) END,
    t.at
  FROM (
    SELECT k.*, k.xmin AS x FROM analysis.share k WHERE k.shard = p_shard AND k.user_id = p_user_id
    UNION ALL
    SELECT k.* FROM analysis.all_shards() h
    CROSS JOIN LATERAL (
      SELECT c.*, c.xmin AS x FROM analysis.share c
      WHERE c.shard = h.o_shard AND c.carer_shard = p_shard AND c.carer_id = p_user_id OFFSET 0) k) s
  CROSS JOIN LATERAL (
    SELECT CASE WHEN (s.shard, s.user_id) = (p_shard, p_user_id) THEN 'owner' ELSE 'carer' END AS role) o
  CROSS JOIN LATERAL (
    SELECT CASE WHEN s.revoked_at IS NOT NULL THEN 'revoked'
        WHEN s.expires_at <= clock_timestamp() THEN 'expired'
        WHEN s.accepted_at IS NOT NULL THEN 'active' ELSE 'requested' END AS state,
      coalesce(
        s.revoked_at, CASE WHEN s.expires_at <= clock_timestamp() THEN s.expires_at END, s.accepted_at,
        s.requested_at) AS at) t
  WHERE CASE t.state WHEN 'expired' THEN s.expires_at > p_since
    ELSE analysis.is_event(t.at, s.x, p_next, p_since, p_snapshot) END
$$;

-- How much of the running month's limit a user has used, from 80 % of it on.
CREATE OR REPLACE FUNCTION analysis.limit_reached(p_shard smallint, p_user_id bigint)
RETURNS TABLE (percent int, month text)
LANGUAGE sql STABLE AS $$
  SELECT v.level, analysis.period_text(m.period)
  FROM analysis.account a
  CROSS JOIN (SELECT clock_timestamp() AS now OFFSET 0) n
  CROSS JOIN LATERAL (SELECT analysis.period_at(n.now, a.zone, a.anchors) AS period OFFSET 0) m
  CROSS JOIN LATERAL analysis.limit_of(p_shard, p_user_id, n.now) l
  CROSS JOIN LATERAL (SELECT analysis.used_of(p_shard, p_user_id, m.period) AS used OFFSET 0) u
  CROSS JOIN LATERAL (SELECT analysis.limit_level(u.used, l.monthly_limit) AS level) v
  WHERE a.shard = p_shard AND a.user_id = p_user_id AND v.level > 0
$$;

-- What has happened to the users of many tokens: p_since[i] is the cursor of who shows p_tokens[i], NULL for
-- one who begins to listen now. p_with_limits: also of what limit each has reached, be that new or not. Its
-- plan is kept: to make it takes five times as long as a look for one token.
CREATE OR REPLACE FUNCTION analysis.gateway_events(
  p_shard smallint, p_tokens bytea[], p_since text[], p_with_limits boolean)
RETURNS TABLE (
  o_place int, o_cursor text, o_event text, o_number bigint, o_state text, o_role text, o_person text,
  o_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_snapshot text := pg_current_snapshot();
  v_next bigint := pg_snapshot_xmax(v_snapshot::pg_snapshot)::text::bigint;
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_tokens) <= 1000 AND analysis.is_list(p_tokens, cardinality(p_tokens))
      AND cardinality(p_since) = cardinality(p_tokens)
      AND analysis.is_list(p_since, cardinality(p_tokens)) AND p_with_limits IS NOT NULL,
    'a look is for at most 1000 tokens, each with its cursor');
  IF length(v_snapshot) > 1000 THEN
    v_snapshot := regexp_replace(v_snapshot, '^([0-9]+):.*$', '\1:\1:');
  END IF;
  RETURN QUERY
  -- Most have the cursor of the same look.
  WITH cursors AS MATERIALIZED (
    SELECT d.since, c.o_at, c.o_snapshot
    FROM (SELECT DISTINCT t.since FROM unnest(p_since) t(since) WHERE t.since IS NOT NULL) d
    CROSS JOIN LATERAL analysis.event_cursor(d.since, v_next) c)
  SELECT g.place::int, format('%s;%s', (extract(epoch FROM v_now) * 1000000)::bigint, v_snapshot), e.event,
    e.number, e.state, e.role, e.person, e.at
  FROM unnest(p_tokens, p_since) WITH ORDINALITY g(token, since, place)
  JOIN analysis.token_users(p_shard, p_tokens) u ON u.o_token = g.token
  LEFT JOIN cursors c ON c.since = g.since
  LEFT JOIN LATERAL (
    (SELECT x.* FROM (
       SELECT 'analysis' AS event, j.number, j.state,
         CASE j.kind WHEN 1 THEN 'throat' ELSE 'ear' END AS role, NULL AS person, j.at
       FROM analysis.endings_since(p_shard, u.o_user_id, v_next, c.o_at, c.o_snapshot) j
       UNION ALL
       SELECT 'share', s.number, s.state, s.role, s.person, s.at
       FROM analysis.share_events(p_shard, u.o_user_id, v_next, c.o_at, c.o_snapshot) s) x
     WHERE c.since IS NOT NULL
     ORDER BY x.at DESC LIMIT 201)
    UNION ALL
    SELECT 'limit', l.percent, l.month, NULL, NULL, v_now
    FROM analysis.limit_reached(p_shard, u.o_user_id) l
    WHERE p_with_limits) e ON true;
END $$;
COMMENT ON FUNCTION analysis.gateway_events IS
  'Answers what has happened to the users of tokens since what each was last told.';
