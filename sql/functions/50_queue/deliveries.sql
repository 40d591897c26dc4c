-- What is sent to webhooks: which events there are, who delivers them, and what came of it.
--
-- An event is written by the transaction that ends its job, only where a webhook is on. It is delivered at
-- least once: a worker takes events for two minutes, sends them, and stores what came of it. Those of one
-- that was lost meanwhile come back, with the same numbers.

-- The webhooks that are on of a user and of the user's clinic.
CREATE OR REPLACE FUNCTION analysis.webhooks_of(p_shard smallint, p_user_id bigint)
RETURNS TABLE (id int)
LANGUAGE sql STABLE AS $$
  SELECT w.id
  FROM (
    SELECT k.clinic_id FROM analysis.account k
    WHERE k.shard = p_shard AND k.user_id = p_user_id AND k.erased_at IS NULL OFFSET 0) a
  CROSS JOIN LATERAL (
    SELECT k.id FROM analysis.webhook k
    WHERE k.clinic_id = a.clinic_id AND k.off_at IS NULL
    UNION ALL
    SELECT k.id FROM analysis.webhook k
    WHERE k.shard = p_shard AND k.user_id = p_user_id AND k.off_at IS NULL) w
$$;

-- Writes the events for webhooks of jobs that have ended. Called where one is on.
CREATE OR REPLACE FUNCTION analysis.note_endings(
  p_shard smallint, p_state smallint, p_at timestamptz, p_jobs bigint[], p_periods smallint[],
  p_users bigint[]) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO analysis.webhook_event (shard, state, period, webhook_id, job_id, user_id, at, due_at)
  SELECT p_shard, p_state, t.period, w.id, t.job_id, t.user_id, p_at, p_at
  FROM unnest(p_jobs, p_periods, p_users) t(job_id, period, user_id)
  CROSS JOIN LATERAL analysis.webhooks_of(p_shard, t.user_id) w
  ORDER BY t.job_id, w.id
$$;

-- Writes the events for webhooks that a user has come to 80 % or to all of a month's limit, by what is used
-- of it now. Called where a unit was taken that seems to have reached one of the two.
CREATE OR REPLACE FUNCTION analysis.note_limit(
  p_shard smallint, p_user_id bigint, p_period smallint, p_limit int) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO analysis.webhook_event (shard, state, period, webhook_id, user_id, at, due_at)
  SELECT p_shard, CASE l.level WHEN 80 THEN 4 ELSE 5 END, p_period, w.id, p_user_id, n.now, n.now
  FROM (SELECT clock_timestamp() AS now) n
  CROSS JOIN LATERAL (
    SELECT analysis.limit_level(analysis.used_of(p_shard, p_user_id, p_period), p_limit) AS level) l
  CROSS JOIN LATERAL analysis.webhooks_of(p_shard, p_user_id) w
  WHERE l.level > 0
  ORDER BY w.id
$$;

-- The same of jobs of leases whose results were stored.
CREATE OR REPLACE FUNCTION analysis.note_results(
  p_shard smallint, p_at timestamptz, p_leases bigint[], p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM analysis.note_endings(
    p_shard, 1::smallint, p_at, array_agg(h.job_id), array_agg(h.period), array_agg(h.user_id))
  FROM analysis.leased_jobs(p_shard, p_leases) h
  WHERE h.job_id = ANY (p_jobs)
  HAVING count(*) > 0;
END $$;

-- After how many attempts an event is sent again how much later: after the first 5 s, and each time three
-- times as long, up to six hours.
CREATE OR REPLACE FUNCTION analysis.delivery_delay(p_attempts int) RETURNS interval
LANGUAGE sql IMMUTABLE AS $$
  SELECT least(interval '6 hours', interval '5 seconds' * 3 ^ least(greatest(p_attempts, 1) - 1, 10))
$$;

-- For how long an event is tried.
CREATE OR REPLACE FUNCTION analysis.delivery_time() RETURNS interval
LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '3 days'
$$;

-- Which of the shards have events that are due. It reads the first entry of an index for each webhook.
CREATE OR REPLACE FUNCTION analysis.due_deliveries(p_shards smallint[]) RETURNS TABLE (o_shard smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  PERFORM analysis.require_argument(cardinality(p_shards) <= 1024, 'at most 1024 shards are looked at');
  RETURN QUERY
  SELECT s.shard FROM unnest(p_shards) s(shard)
  WHERE EXISTS (
    SELECT FROM analysis.webhook w
    CROSS JOIN LATERAL (
      SELECT FROM analysis.webhook_event e
      WHERE e.shard = s.shard AND e.webhook_id = w.id AND e.due_at <= v_now LIMIT 1) e
    WHERE w.off_at IS NULL AND (w.retry_at IS NULL OR w.retry_at <= v_now));
END $$;
COMMENT ON FUNCTION analysis.due_deliveries IS
  'Answers which shards have events to send to webhooks.';

-- What a webhook with findings is sent of a job's result; NULL for what is gone.
CREATE OR REPLACE FUNCTION analysis.findings_sent(p_shard smallint, p_period smallint, p_job bigint)
RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'primary', r.primary_name, 'confidence', r.primary_confidence, 'normal', r.primary_normal,
    'band', (ARRAY['green', 'yellow', 'orange', 'red'])[r.primary_band],
    'secondary', r.secondary_name, 'serious', r.serious, 'consult', r.consult)
  FROM analysis.result r
  WHERE r.shard = p_shard AND r.period = p_period AND r.job_id = p_job AND r.outcome = 1
    AND r.condition_count IS NOT NULL
$$;

-- Which limit a user has reached, as it is sent.
CREATE OR REPLACE FUNCTION analysis.limit_sent(
  p_shard smallint, p_user_id bigint, p_period smallint, p_state smallint) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'user', a.user_ref, 'month', analysis.period_text(p_period),
    'percent', CASE p_state WHEN 4 THEN 80 ELSE 100 END)
  FROM analysis.account a WHERE a.shard = p_shard AND a.user_id = p_user_id
$$;

-- Takes events of a shard that are due, for two minutes: of at most p_webhooks webhooks, those first that
-- were not told anything for the longest time, so that slow ones with many events do not keep the others
-- waiting; and at most p_each of one; none of those in p_busy, to which the worker is sending already. A
-- webhook that failed last is sent one alone, by one worker.
--
-- Of a job its number, without what a person is called, and what was found only where the webhook has
-- findings; of a limit what the back-end calls the user, who pays. NULL for what is gone.
CREATE OR REPLACE FUNCTION analysis.claim_deliveries(
  p_shard smallint, p_worker bytea, p_busy int[], p_webhooks int, p_each int)
RETURNS TABLE (
  o_webhook int, o_event bigint, o_url text, o_secret bytea, o_job bigint, o_state text, o_at timestamptz,
  o_attempts smallint, o_detail jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET lock_timeout = '2s' SET timezone = 'UTC'
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_worker bigint;
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND octet_length(p_worker) = 32 AND coalesce(cardinality(p_busy), 0) <= 1000
      AND p_webhooks BETWEEN 1 AND 100 AND p_each BETWEEN 1 AND 100,
    'a worker names itself by its secret, and takes at most 100 events of each of at most 100 webhooks');
  PERFORM analysis.refuse_repeatable_read();
  v_worker := analysis.worker_number(p_worker);
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT w.id, w.url, w.secret, w.has_findings, w.failures, w.retry_at
    FROM analysis.webhook w
    CROSS JOIN LATERAL (
      SELECT e.due_at FROM analysis.webhook_event e
      WHERE e.shard = p_shard AND e.webhook_id = w.id AND e.due_at <= v_now
      ORDER BY e.due_at LIMIT 1) f
    WHERE w.off_at IS NULL AND (w.retry_at IS NULL OR w.retry_at <= v_now)
      AND (w.id = ANY (p_busy)) IS NOT TRUE
    ORDER BY greatest(w.last_success_at, w.last_failure_at) NULLS FIRST, f.due_at
    LIMIT p_webhooks),
  -- Of two workers who would try one that failed, one does. One that somebody is changing is passed over.
  probed AS (
    UPDATE analysis.webhook w SET retry_at = v_now + interval '2 minutes'
    WHERE w.id = ANY (ARRAY(
      SELECT k.id FROM analysis.webhook k
      JOIN due d ON d.id = k.id AND k.retry_at IS NOT DISTINCT FROM d.retry_at
      WHERE d.failures > 0
      FOR NO KEY UPDATE OF k SKIP LOCKED))
    RETURNING w.id),
  taken AS (
    UPDATE analysis.webhook_event u
    SET due_at = v_now + interval '2 minutes', tried_at = coalesce(u.tried_at, v_now), worker_id = v_worker,
        attempts = least(u.attempts + 1, 32767)::smallint
    FROM due d
    CROSS JOIN LATERAL (
      SELECT e.id FROM analysis.webhook_event e
      WHERE e.shard = p_shard AND e.webhook_id = d.id AND e.due_at <= v_now
      ORDER BY e.due_at
      LIMIT CASE WHEN d.failures > 0 THEN 1 ELSE p_each END
      FOR UPDATE SKIP LOCKED) f
    WHERE u.shard = p_shard AND u.id = f.id
      AND (d.failures = 0 OR d.id IN (SELECT p.id FROM probed p))
    RETURNING u.webhook_id, u.id, d.url, d.secret, u.job_id, u.user_id, u.period, u.state, u.at, u.attempts,
      d.has_findings)
  SELECT t.webhook_id, t.id, t.url, t.secret, t.job_id,
    (ARRAY['test', 'succeeded', 'cancelled', 'dead', 'limit', 'limit'])[t.state + 1], t.at, t.attempts,
    CASE WHEN t.has_findings AND t.state = 1 THEN analysis.findings_sent(p_shard, t.period, t.job_id)
      WHEN t.state > 3 THEN analysis.limit_sent(p_shard, t.user_id, t.period, t.state) END
  FROM taken t
  ORDER BY t.webhook_id, t.id;
END $$;
COMMENT ON FUNCTION analysis.claim_deliveries IS
  'Takes events that are to be sent to webhooks, for two minutes.';

-- Writes to events that a worker has what came of them, each once; answers those that it still had. One that
-- has been tried for delivery_time() is given up.
CREATE OR REPLACE FUNCTION analysis.settle_events(
  p_shard smallint, p_worker bigint, p_events bigint[], p_outcomes text[], p_failures text[],
  p_delays_ms bigint[], p_now timestamptz)
RETURNS TABLE (
  webhook_id int, tried_at timestamptz, failed_at timestamptz, failure text, outcome text, delay_ms bigint)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  UPDATE analysis.webhook_event e
  SET worker_id = NULL,
      attempts = CASE g.outcome WHEN 'released' THEN greatest(e.attempts - 1, 0) ELSE e.attempts END,
      tried_at = CASE WHEN g.outcome = 'released' AND e.attempts <= 1 THEN NULL ELSE e.tried_at END,
      failure = CASE g.outcome
        WHEN 'delivered' THEN NULL WHEN 'released' THEN e.failure ELSE left(g.failure, 200) END,
      delivered_at = CASE WHEN g.outcome = 'delivered' THEN p_now END,
      failed_at = CASE
        WHEN g.outcome = 'gone' OR g.outcome = 'failed' AND e.tried_at <= p_now - analysis.delivery_time()
        THEN p_now END,
      due_at = CASE
        WHEN g.outcome = 'released' THEN p_now
        WHEN g.outcome = 'failed' AND e.tried_at > p_now - analysis.delivery_time()
        THEN p_now + greatest(
          analysis.delivery_delay(e.attempts), coalesce(g.delay_ms, 0) * interval '1 millisecond') END
  FROM (
    SELECT DISTINCT ON (d.id) d.*
    FROM unnest(p_events, p_outcomes, p_failures, p_delays_ms) d(id, outcome, failure, delay_ms)
    ORDER BY d.id) g
  WHERE e.shard = p_shard AND e.id = g.id AND e.worker_id = p_worker AND e.due_at IS NOT NULL
  RETURNING e.webhook_id, e.tried_at, e.failed_at, e.failure, g.outcome, g.delay_ms;
END $$;

-- Stores what came of events that the worker had taken and still has: delivered, failed, gone (the receiver
-- wants no more, which switches it off) or released (not sent). A failed one is sent again after a time that
-- grows with its attempts, and not before p_delay_ms (what the receiver asked for) is over; tried for three
-- days it is given up, and the webhook is switched off unless it has taken another one meanwhile. A webhook
-- that failed is left alone for a while, so that its other events cost nothing. Answers the webhooks that
-- were switched off. It waits half a second for a lock and is tried again by the worker, whose claims of jobs
-- use the same connection.
CREATE OR REPLACE FUNCTION analysis.finish_deliveries(
  p_shard smallint, p_worker bytea, p_events bigint[], p_outcomes text[], p_failures text[],
  p_delays_ms bigint[])
RETURNS TABLE (o_webhook int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET lock_timeout = '500ms' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_worker bigint;
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND octet_length(p_worker) = 32 AND cardinality(p_events) <= 10000
      AND analysis.is_list(p_events, cardinality(p_events))
      AND analysis.is_list(p_outcomes, cardinality(p_events))
      AND analysis.is_list(p_failures, cardinality(p_events))
      AND analysis.is_list(p_delays_ms, cardinality(p_events))
      AND p_outcomes <@ ARRAY['delivered', 'failed', 'gone', 'released']
      AND (0 <= ALL (p_delays_ms) AND 86400000 >= ALL (p_delays_ms)) IS NOT FALSE,
    'each event is given with what came of it, and a time of at most a day before it is sent again');
  PERFORM analysis.refuse_repeatable_read();
  v_worker := analysis.worker_number(p_worker);
  RETURN QUERY
  WITH told AS (
    SELECT s.webhook_id, bool_or(s.outcome = 'delivered') AS succeeded,
      bool_or(s.outcome IN ('failed', 'gone')) AS failed, bool_or(s.outcome = 'gone') AS gone,
      max(s.failure) AS failure, max(coalesce(s.delay_ms, 0)) AS delay_ms,
      min(s.tried_at) FILTER (WHERE s.failed_at IS NOT NULL) AS given_up_since
    FROM analysis.settle_events(
      p_shard, v_worker, p_events, p_outcomes, p_failures, p_delays_ms, v_now) s
    WHERE s.outcome <> 'released'
    GROUP BY s.webhook_id),
  changed AS (
    UPDATE analysis.webhook w
    SET last_success_at = CASE WHEN t.succeeded THEN v_now ELSE w.last_success_at END,
        failures = CASE WHEN t.succeeded THEN 0 ELSE least(w.failures + 1, 1000) END,
        retry_at = CASE WHEN t.succeeded AND t.delay_ms = 0 THEN NULL ELSE v_now + greatest(
          least(analysis.delivery_delay(w.failures + 1), interval '10 minutes')
            * CASE WHEN t.succeeded THEN 0 ELSE 1 END,
          t.delay_ms * interval '1 millisecond') END,
        last_failure_at = CASE WHEN t.failed THEN v_now ELSE w.last_failure_at END,
        last_failure = CASE WHEN t.failed THEN t.failure ELSE w.last_failure END,
        off_at = o.off_at,
        off_reason = CASE WHEN o.off_at IS NULL THEN NULL
          WHEN w.off_at IS NOT NULL THEN w.off_reason WHEN t.gone THEN 'gone' ELSE 'failed' END
    FROM told t
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN h.off_at IS NOT NULL THEN h.off_at
        WHEN t.gone OR NOT t.succeeded AND (
          t.given_up_since IS NOT NULL AND coalesce(h.last_success_at, '-infinity') < t.given_up_since)
        THEN v_now END AS off_at
      FROM analysis.webhook h WHERE h.id = t.webhook_id) o
    -- A success is written down every ten seconds at most: workers do not wait for each other's.
    WHERE w.id = t.webhook_id AND (
      t.failed OR w.failures > 0
        OR coalesce(w.last_success_at, '-infinity') NOT BETWEEN v_now - interval '10 seconds' AND v_now)
    RETURNING w.id, w.off_at)
  SELECT c.id FROM changed c WHERE c.off_at = v_now;
END $$;
COMMENT ON FUNCTION analysis.finish_deliveries IS
  'Stores what came of events that were sent to webhooks; answers the webhooks that were switched off.';

-- Removes events of a shard that were delivered a week ago, all of jobs that ended 30 days ago, and those
-- that were being written while their webhook was removed: p_limit at most, the months in which their jobs
-- ended, how many and their size. A dry run answers all at once. Called by workers' purge_deliveries and by
-- purge_events.
CREATE OR REPLACE FUNCTION analysis.remove_events(
  p_shard smallint, p_limit int, p_now timestamptz, p_dry boolean)
RETURNS TABLE (period smallint, rows bigint, bytes bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_gone int[];
  v_event bigint[];
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_limit BETWEEN 1 AND 100000 AND p_now IS NOT NULL AND p_dry IS NOT NULL,
    'a call needs a time, whether it is a dry run, and a number of events from 1 to 100000');
  PERFORM analysis.check_moment(p_now);
  -- The webhooks that events name, read from an index from one to the next.
  v_gone := ARRAY(
    WITH RECURSIVE named (id) AS (
      SELECT min(e.webhook_id) FROM analysis.webhook_event e WHERE e.shard = p_shard
      UNION ALL
      SELECT (
        SELECT min(e.webhook_id) FROM analysis.webhook_event e
        WHERE e.shard = p_shard AND e.webhook_id > n.id)
      FROM named n
      WHERE n.id IS NOT NULL)
    SELECT n.id FROM named n
    WHERE n.id IS NOT NULL AND NOT EXISTS (SELECT FROM analysis.webhook w WHERE w.id = n.id));
  IF p_dry THEN
    RETURN QUERY
    SELECT analysis.period_of(e.at, 'UTC'), count(*), sum(pg_column_size(e.*)) FROM analysis.webhook_event e
    WHERE e.shard = p_shard AND (e.webhook_id = ANY (v_gone) OR e.at < p_now - interval '7 days'
      AND (e.delivered_at < p_now - interval '7 days' OR e.at < p_now - interval '30 days'))
    GROUP BY 1 ORDER BY 1;
    RETURN;
  END IF;
  v_event := ARRAY(
    SELECT e.id FROM analysis.webhook_event e
    WHERE e.shard = p_shard AND e.webhook_id = ANY (v_gone)
    LIMIT p_limit FOR UPDATE SKIP LOCKED);
  v_event := v_event || ARRAY(
    SELECT e.id FROM analysis.webhook_event e
    WHERE e.shard = p_shard AND e.at < p_now - interval '7 days' AND NOT e.webhook_id = ANY (v_gone)
      AND (e.delivered_at < p_now - interval '7 days' OR e.at < p_now - interval '30 days')
    LIMIT p_limit - cardinality(v_event) FOR UPDATE SKIP LOCKED);
  RETURN QUERY
  WITH gone AS (
    DELETE FROM analysis.webhook_event d
    WHERE d.shard = p_shard AND d.id = ANY (v_event)
    RETURNING d.at, pg_column_size(d.*) AS size)
  SELECT analysis.period_of(g.at, 'UTC'), count(*), sum(g.size) FROM gone g GROUP BY 1 ORDER BY 1;
END $$;

-- Removes such events for a worker that delivers some; answers how many.
CREATE OR REPLACE FUNCTION analysis.purge_deliveries(p_shard smallint, p_limit int) RETURNS int
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s' AS $$
  SELECT coalesce(sum(e.rows), 0)::int
  FROM analysis.remove_events(p_shard, p_limit, clock_timestamp(), false) e
$$;
COMMENT ON FUNCTION analysis.purge_deliveries IS
  'Removes events that were sent to webhooks long ago.';
