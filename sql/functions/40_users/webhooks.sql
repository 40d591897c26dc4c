-- Webhooks: which there are, and how one is added, tested, replayed and removed. What is delivered, and by
-- whom, is in 50_queue/deliveries.sql.

-- The webhook with a number; refuses a number that is none.
CREATE OR REPLACE FUNCTION analysis.require_webhook(p_webhook int) RETURNS analysis.webhook
LANGUAGE plpgsql AS $$
DECLARE
  v_webhook analysis.webhook;
BEGIN
  PERFORM analysis.require_unrestricted();
  SELECT w.* INTO v_webhook FROM analysis.webhook w WHERE w.id = p_webhook;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no webhook W%', p_webhook USING ERRCODE = '22023',
      HINT = 'analysisctl webhooks list shows which there are.';
  END IF;
  RETURN v_webhook;
END $$;

-- Whose a webhook is, as the audit has it: 'clinic:3' or 'user:7'.
CREATE OR REPLACE FUNCTION analysis.webhook_owner(p_webhook analysis.webhook) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_webhook.clinic_id IS NULL
    THEN jsonb_build_object('users', jsonb_build_array(p_webhook.user_id), 'findings', p_webhook.has_findings)
    ELSE jsonb_build_object('clinic', p_webhook.clinic_id, 'findings', p_webhook.has_findings) END
$$;

-- Adds a webhook of a clinic, or of a user: an address to which workers send how their jobs end, from now on.
-- p_secret is the signing secret, encrypted under a key of the key file, with whose number it begins: workers
-- pass over one that does not open. NULL: there is no such clinic or user.
CREATE OR REPLACE FUNCTION analysis.add_webhook(
  p_shard smallint, p_user text, p_clinic text, p_url text, p_secret bytea, p_has_findings boolean,
  p_allows_http boolean)
RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_webhook analysis.webhook;
  v_clinic int := (SELECT c.id FROM analysis.clinic c WHERE c.name = normalize(p_clinic));
  v_user bigint := (
    SELECT a.user_id FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL FOR KEY SHARE);
  v_host text := lower(substring(p_url FROM '^https?://([A-Za-z0-9._:\[\]-]{1,255})([/?].*)?$'));
BEGIN
  PERFORM analysis.require_argument(
    (p_clinic IS NULL) <> (p_user IS NULL) AND p_has_findings IS NOT NULL AND p_allows_http IS NOT NULL
      AND (p_user IS NULL) = (p_shard IS NULL),
    'a webhook is a clinic''s or a user''s, and says whether it has findings');
  PERFORM analysis.require_argument(
    length(p_url) <= 2000 AND p_url ~ '^[!-~]+$' AND p_url !~ '#' AND v_host IS NOT NULL
      AND (p_url LIKE 'https://%' OR p_allows_http),
    'a webhook''s address begins with https:// and a host, and has no account and at most 2000 characters');
  PERFORM analysis.require_argument(
    octet_length(p_secret) BETWEEN 121 AND 400,
    'a webhook''s secret is encrypted under a key of the key file, in 121 to 400 bytes');
  PERFORM analysis.require_unrestricted();
  -- What a login has sent to others it could read itself.
  IF p_has_findings AND NOT analysis.login_has('{clinician}') THEN
    RAISE EXCEPTION 'login % may not see results, and so cannot have them sent', session_user
      USING ERRCODE = 'insufficient_privilege',
        HINT = format(
          'Let a login do it that has the role %s_clinician too.', analysis.role_prefix());
  END IF;
  IF v_clinic IS NULL AND v_user IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM analysis.require_feature(v_clinic, 'webhooks');
  PERFORM analysis.require_feature_of(p_shard, v_user, 'webhooks');
  -- One after the other: the bounds hold however many are added at once. Whoever reads or writes the table
  -- does not wait for this lock, and nobody but the owner can take it.
  LOCK TABLE analysis.webhook IN SHARE UPDATE EXCLUSIVE MODE;
  PERFORM analysis.require_argument(
    (SELECT count(*) FROM analysis.webhook) < 5000
      AND (SELECT count(*) FROM analysis.webhook w
           WHERE w.clinic_id = v_clinic OR w.user_id = v_user AND w.shard = p_shard) < 10,
    'a clinic or user has at most 10 webhooks, and all have at most 5000');
  v_host := regexp_replace(v_host, CASE WHEN p_url LIKE 'https:%' THEN ':443$' ELSE ':80$' END, '');
  INSERT INTO analysis.webhook (clinic_id, shard, user_id, has_findings, created_at, host, url, secret)
  VALUES (v_clinic, p_shard, v_user, p_has_findings, clock_timestamp(), v_host, p_url, p_secret)
  RETURNING * INTO v_webhook;
  PERFORM analysis.audit_add(
    'add_webhook', 'webhook:' || v_webhook.id,
    analysis.webhook_owner(v_webhook) || jsonb_build_object('host', v_host));
  RETURN v_webhook.id;
END $$;
COMMENT ON FUNCTION analysis.add_webhook IS
  'Adds an address that receives how the jobs of a clinic or user end; answers its number.';

-- Removes a webhook, with all of its events; purge_deliveries removes those that are being written meanwhile.
CREATE OR REPLACE FUNCTION analysis.remove_webhook(p_webhook int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_webhook analysis.webhook := analysis.require_webhook(p_webhook);
BEGIN
  -- In the order in which finish_deliveries locks them.
  DELETE FROM analysis.webhook_event e
  USING analysis.all_shards() h
  WHERE e.shard = h.o_shard AND e.webhook_id = p_webhook;
  DELETE FROM analysis.webhook w WHERE w.id = p_webhook;
  PERFORM analysis.audit_add(
    'remove_webhook', 'webhook:' || p_webhook,
    analysis.webhook_owner(v_webhook) || jsonb_build_object('host', v_webhook.host));
END $$;
COMMENT ON FUNCTION analysis.remove_webhook IS
  'Removes a webhook, and the events that were not sent yet.';

-- Has a worker send an event that is about no job; answers where it is looked up.
CREATE OR REPLACE FUNCTION analysis.test_webhook(p_webhook int, OUT o_shard smallint, OUT o_event bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_webhook analysis.webhook := analysis.require_webhook(p_webhook);
BEGIN
  IF v_webhook.off_at IS NOT NULL THEN
    RAISE EXCEPTION 'webhook W% is switched off', p_webhook USING ERRCODE = '22023',
      HINT = format('analysisctl webhooks replay W%s --failed switches it on.', p_webhook);
  END IF;
  o_shard := coalesce(v_webhook.shard, (SELECT min(h.o_shard) FROM analysis.all_shards() h));
  PERFORM analysis.require_argument(
    (SELECT count(*) FROM (
       SELECT FROM analysis.webhook_event e
       WHERE e.shard = o_shard AND e.webhook_id = p_webhook AND e.state = 0
         AND e.at BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() LIMIT 10) t) < 10,
    'a webhook is tested at most 10 times in a minute');
  -- It is due since the webhook is there, and so before all others.
  INSERT INTO analysis.webhook_event (shard, state, webhook_id, user_id, at, due_at)
  VALUES (o_shard, 0, p_webhook, v_webhook.user_id, clock_timestamp(), v_webhook.created_at)
  RETURNING id INTO o_event;
  UPDATE analysis.webhook w SET retry_at = NULL WHERE w.id = p_webhook AND w.retry_at IS NOT NULL;
  PERFORM analysis.audit_add('test_webhook', 'webhook:' || p_webhook, analysis.webhook_owner(v_webhook));
END $$;
COMMENT ON FUNCTION analysis.test_webhook IS
  'Has a worker send a webhook an event that is about no job.';

-- What came of an event; no row: there is no such one any more.
CREATE OR REPLACE FUNCTION analysis.webhook_event_state(
  p_shard smallint, p_event bigint,
  OUT o_is_over boolean, OUT o_attempts smallint, OUT o_delivered_at timestamptz, OUT o_failure text)
RETURNS SETOF record
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT e.due_at IS NULL, e.attempts, e.delivered_at, e.failure
  FROM analysis.webhook_event e
  WHERE e.shard = p_shard AND e.id = p_event AND analysis.clinics_seen(analysis.caller()) IS NULL
$$;
COMMENT ON FUNCTION analysis.webhook_event_state IS
  'Answers whether an event was delivered.';

-- Has events sent again that are still kept: those since a moment, one, or those that were never delivered;
-- with their numbers, so that a receiver knows which it has had. A webhook that was switched off is switched
-- on again. Answers how many there are.
CREATE OR REPLACE FUNCTION analysis.replay_webhook(
  p_webhook int, p_since timestamptz, p_shard smallint, p_event bigint, p_only_failed boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_webhook analysis.webhook := analysis.require_webhook(p_webhook);
  v_now timestamptz := clock_timestamp();
  v_count bigint;
BEGIN
  PERFORM analysis.require_argument(
    (p_since IS NOT NULL)::int + (p_event IS NOT NULL)::int + p_only_failed::int = 1
      AND (p_event IS NULL) = (p_shard IS NULL),
    'events are sent again since a moment, or one, or those that failed');
  PERFORM analysis.require_date(p_since);
  -- Events before their webhook, as finish_deliveries locks them.
  -- What a worker is delivering at this moment is left to it.
  UPDATE analysis.webhook_event e
  SET due_at = v_now, attempts = 0, tried_at = NULL, delivered_at = NULL, failed_at = NULL, failure = NULL
  FROM analysis.all_shards() h
  WHERE e.shard = h.o_shard AND e.webhook_id = p_webhook AND (e.worker_id IS NULL OR e.due_at < v_now)
    AND (p_shard IS NULL OR e.shard = p_shard AND e.id = p_event)
    AND (p_since IS NULL OR e.at >= p_since)
    AND (NOT p_only_failed OR e.delivered_at IS NULL AND e.state <> 0);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  UPDATE analysis.webhook w
  SET failures = 0, retry_at = NULL, off_at = NULL, off_reason = NULL
  WHERE w.id = p_webhook;
  PERFORM analysis.audit_add(
    'replay_webhook', 'webhook:' || p_webhook,
    analysis.webhook_owner(v_webhook) || jsonb_build_object('events', v_count));
  RETURN v_count;
END $$;
COMMENT ON FUNCTION analysis.replay_webhook IS
  'Has events of a webhook sent again, and switches it on; answers how many.';

-- The webhooks that the caller sees. Of the address the host alone. A new column is the last one.
CREATE OR REPLACE VIEW analysis.listed_webhook AS
SELECT w.id AS o_webhook, c.name AS o_clinic, a.user_ref AS o_user, w.host AS o_host,
  w.has_findings AS o_has_findings, w.created_at AS o_created_at, w.last_success_at AS o_last_success_at,
  w.last_failure_at AS o_last_failure_at, w.last_failure AS o_last_failure, w.failures AS o_failures,
  w.off_at AS o_off_at, w.off_reason AS o_off_reason,
  (SELECT count(*)::int
   FROM (
     SELECT FROM analysis.all_shards() h
     CROSS JOIN LATERAL (
       SELECT FROM analysis.webhook_event e
       WHERE e.shard = h.o_shard AND e.webhook_id = w.id AND e.due_at IS NOT NULL LIMIT 10001) e
     LIMIT 10001) t) AS o_waiting,
  (SELECT min(f.due_at)
   FROM analysis.all_shards() h
   CROSS JOIN LATERAL (
     SELECT e.due_at FROM analysis.webhook_event e
     WHERE e.shard = h.o_shard AND e.webhook_id = w.id AND e.due_at IS NOT NULL AND e.state <> 0
     ORDER BY e.due_at LIMIT 1) f) AS o_due_since
FROM analysis.webhook w
LEFT JOIN analysis.clinic c ON c.id = w.clinic_id
LEFT JOIN analysis.account a ON a.shard = w.shard AND a.user_id = w.user_id
CROSS JOIN (SELECT analysis.clinics_seen(analysis.caller()) AS clinics) s
WHERE s.clinics IS NULL OR coalesce(w.clinic_id, a.clinic_id) = ANY (s.clinics);

CREATE OR REPLACE FUNCTION analysis.list_webhooks() RETURNS SETOF analysis.listed_webhook
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT * FROM analysis.listed_webhook w ORDER BY w.o_webhook
$$;
COMMENT ON FUNCTION analysis.list_webhooks IS
  'Answers the webhooks, with the hosts of their addresses and when they last took an event.';

-- How many webhooks' secrets are under each key of the key file.
CREATE OR REPLACE FUNCTION analysis.webhook_keys() RETURNS TABLE (o_key bigint, o_webhooks bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT ('x' || encode(substr(w.secret, 1, 8), 'hex'))::bit(64)::bigint, count(*)
  FROM analysis.webhook w
  GROUP BY 1
$$;
COMMENT ON FUNCTION analysis.webhook_keys IS
  'Answers how many webhooks'' secrets are under each key.';

-- The secrets, to be put under another key.
CREATE OR REPLACE FUNCTION analysis.webhook_secrets()
RETURNS TABLE (o_webhook int, o_url text, o_secret bytea)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT w.id, w.url, w.secret
  FROM analysis.webhook w
  ORDER BY w.id
$$;
COMMENT ON FUNCTION analysis.webhook_secrets IS
  'Answers the encrypted secrets of the webhooks.';

-- Gives a webhook its secret as it is under another key; false where it is not what it was.
CREATE OR REPLACE FUNCTION analysis.rewrap_webhook(p_webhook int, p_before bytea, p_secret bytea)
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM analysis.require_argument(
    octet_length(p_secret) BETWEEN 121 AND 400, 'a webhook''s secret is encrypted, in 121 to 400 bytes');
  UPDATE analysis.webhook w SET secret = p_secret WHERE w.id = p_webhook AND w.secret = p_before;
  RETURN FOUND;
END $$;
COMMENT ON FUNCTION analysis.rewrap_webhook IS
  'Gives a webhook its secret as it is under another key.';
