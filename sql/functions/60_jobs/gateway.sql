-- What analysis-gateway calls for the users whose tokens' hashes it passes on: a login with the role
-- analysis_gateway reaches a user's jobs with a token of that user, and nothing without.
--
--   gateway_user(p_shard smallint, p_token bytea)
--     -> o_user_id bigint, o_user text, o_name text, o_email text, o_plan text, o_plan_name text,
--        o_limit int (NULL: unlimited), o_used int, o_remaining int (NULL: unlimited), o_month text,
--        o_month_start timestamptz, o_zone text, o_subscription text, o_token int
--   gateway_set_profile(p_shard smallint, p_token bytea, p_name text, p_email text)
--   gateway_log_out(p_shard smallint, p_token bytea)
--   gateway_submit(p_shard smallint, p_token bytea, p_user text, p_kind smallint, p_sha256 bytea,
--     p_image bytea, p_size int[] (width and height), p_key text, p_encrypted_by bigint, p_wrapped_key bytea)
--     -> o_outcome text (created, duplicate, refused), o_reason text, o_job bigint, o_limit int, o_used int
--   gateway_states(p_shard smallint, p_token bytea, p_jobs bigint[])
--     -> o_job bigint, o_state text, o_reason text, o_message text, o_attempts int, o_max_attempts int,
--        o_created_at timestamptz, o_run_at timestamptz, o_failed_at timestamptz, o_finished_at timestamptz
--   gateway_jobs(p_shard smallint, p_token bytea)
--     -> o_job bigint, o_kind text (throat, ear), o_state text, o_created_at timestamptz
--   gateway_ended(p_shard smallint, p_tokens bytea[], p_jobs bigint[])
--     -> o_job bigint, o_state text (succeeded, cancelled, dead), o_reason text, o_message text,
--        o_attempts int, o_finished_at timestamptz
--   gateway_open_results(p_shard smallint, p_tokens bytea[], p_jobs bigint[]) -> text
--   gateway_open_history(p_shard smallint, p_token bytea, p_before bigint, p_limit int) -> text
--   gateway_results(p_shard smallint, p_tokens bytea[], p_reading text)
--     -> o_job bigint, o_user_id bigint, o_kind text (throat, ear), o_analysis text,
--        o_created_at timestamptz, o_finished_at timestamptz, o_answered_at timestamptz, o_serious boolean,
--        o_consult boolean, o_conditions jsonb, o_endpoint text, o_model text, o_version text,
--        o_attempt int, o_call_ms int
--
-- A token is passed as its SHA-256. One that is not valid (unknown, expired, revoked, or its user erased)
-- has no row of gateway_user, which is what the gateway asks first, so that strangers write no lines in the
-- server's log; gateway_submit, _states and _open_history then refuse it with SQLSTATE 28000. Where many
-- tokens are passed, each with a job, pairs whose token is not valid are left out.
--
-- A result is read in two calls, as back-ends do it: one opens the reading, which records it in the audit
-- with the numbers of the tokens; once that is committed gateway_results answers the rows. NULL: there is
-- nothing to be read. A call for many users is one reading and one entry.

-- A user as an app sees its own: who they are, the plan, and what is used of the running month.
CREATE OR REPLACE FUNCTION analysis.gateway_user(p_shard smallint, p_token bytea)
RETURNS TABLE (
  o_user_id bigint, o_user text, o_name text, o_email text, o_plan text, o_plan_name text, o_limit int,
  o_used int, o_remaining int, o_month text, o_month_start timestamptz, o_zone text, o_subscription text,
  o_token int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_token record := analysis.known_token(p_shard, p_token);
BEGIN
  RETURN QUERY
  SELECT a.user_id, a.user_ref, p.name, p.email, n.name, n.display_name, q.quota, u.used,
    CASE WHEN q.quota IS NOT NULL THEN greatest(0, q.quota - u.used) END, analysis.period_text(m.period),
    analysis.period_begins(m.period, a.zone, a.anchors), a.zone, p.backend_subscription, v_token.o_number
  FROM analysis.account a
  CROSS JOIN LATERAL (SELECT analysis.period_at(v_now, a.zone, a.anchors) AS period OFFSET 0) m
  CROSS JOIN LATERAL (SELECT analysis.used_of(a.shard, a.user_id, m.period) AS used) u
  LEFT JOIN LATERAL analysis.limit_of(a.shard, a.user_id, v_now) l ON true
  CROSS JOIN LATERAL (SELECT CASE WHEN l.plan_id IS NULL THEN 0 ELSE l.monthly_limit END AS quota) q
  LEFT JOIN analysis.plan n ON n.id = l.plan_id
  LEFT JOIN analysis.profile p ON p.shard = a.shard AND p.user_id = a.user_id
  WHERE a.shard = p_shard AND a.user_id = v_token.o_user_id AND a.erased_at IS NULL;
END $$;
COMMENT ON FUNCTION analysis.gateway_user IS
  'Answers the user of a token, with plan and what is used of the month.';

-- Changes name and e-mail address of the user of a token; what is NULL stays as it is.
CREATE OR REPLACE FUNCTION analysis.gateway_set_profile(
  p_shard smallint, p_token bytea, p_name text, p_email text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  PERFORM analysis.require_argument(
    (length(p_name) BETWEEN 1 AND 200 AND p_name !~ analysis.hidden_characters()) IS NOT FALSE,
    'a name has 1 to 200 characters, and none that cannot be seen');
  PERFORM analysis.require_argument(
    (length(p_email) BETWEEN 1 AND 320 AND p_email !~ analysis.hidden_characters()) IS NOT FALSE,
    'an e-mail address has 1 to 320 characters, and none that cannot be seen');
  PERFORM analysis.save_profile(p_shard, v_token.o_user_id, p_name, p_email, NULL, NULL, NULL);
  PERFORM analysis.audit_add(
    'set_profile', 'user:' || v_token.o_user_id, jsonb_build_object('token', v_token.o_number));
END $$;
COMMENT ON FUNCTION analysis.gateway_set_profile IS
  'Changes name and e-mail address of the user of a token.';

-- Ends the token, or the session, with which it is called.
CREATE OR REPLACE FUNCTION analysis.gateway_log_out(p_shard smallint, p_token bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  PERFORM analysis.end_tokens(
    p_shard, v_token.o_user_id, ARRAY[v_token.o_number], jsonb_build_object('token', v_token.o_number));
END $$;
COMMENT ON FUNCTION analysis.gateway_log_out IS
  'Ends the token with which it is called.';

-- Submits an image, which is clean, for the user of a token, as `submit` does, with the normal priority.
-- p_user is what gateway_user called the user, by which an encrypted image is bound to them: where they
-- have another name by now it is refused with unknown_user, and the gateway asks again who they are.
-- Without a key the same photo within a day is the job that there is: see find_photos. p_size is the
-- image's width and height, and of an object its length too: then p_image is its key.
CREATE OR REPLACE FUNCTION analysis.gateway_submit(
  p_shard smallint, p_token bytea, p_user text, p_kind smallint, p_sha256 bytea, p_image bytea, p_size int[],
  p_key text, p_encrypted_by bigint, p_wrapped_key bytea)
RETURNS TABLE (
  o_outcome text, o_reason text, o_job bigint, o_limit int, o_used int, o_woken boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  PERFORM analysis.require_argument(
    p_size IS NULL OR analysis.is_list(p_size, 2) OR analysis.is_list(p_size, 3),
    'the size of an image is its width and its height, and of an object its length');
  IF p_user IS DISTINCT FROM v_token.o_user THEN
    RETURN QUERY SELECT 'refused', 'unknown_user', NULL::bigint, NULL::int, NULL::int, NULL::boolean;
    RETURN;
  END IF;
  IF p_key IS NULL THEN
    PERFORM set_config('analysis.photos_once', 'yes', true);
  END IF;
  IF cardinality(p_size) = 3 THEN
    SELECT s.outcome, s.reason, s.job_id, s.quota, s.used
    INTO o_outcome, o_reason, o_job, o_limit, o_used
    FROM unnest(analysis.submit_objects(
      p_shard,
      ROW(ARRAY[p_user], ARRAY[p_kind], ARRAY[analysis.priority_named('normal')], ARRAY[p_sha256],
        p_size[1:1], p_size[2:2], NULL, ARRAY[p_key], NULL, NULL, NULL, ARRAY[p_encrypted_by],
        ARRAY[p_wrapped_key], NULL, p_size[3:3])::analysis.submissions, ARRAY[p_image],
      analysis.usual_attempts())) s;
  ELSE
    SELECT s.outcome, s.reason, s.job_id, s.quota, s.used
    INTO o_outcome, o_reason, o_job, o_limit, o_used
    FROM analysis.submit_one(
      p_shard, p_image,
      ROW(p_user, p_kind, analysis.priority_named('normal'), p_sha256, p_size[1], p_size[2], NULL, p_key,
        NULL, NULL, NULL, p_encrypted_by, p_wrapped_key)::analysis.submission, analysis.usual_attempts()) s;
  END IF;
  IF o_outcome = 'created' THEN
    o_woken := analysis.wake_workers(p_shard);
  END IF;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.gateway_submit IS
  'Submits an image for the user of a token and wakes the workers; answers the job, or why it was refused.';

-- Where jobs of the user of a token are, as job_state answers it; of any other job there is no row.
CREATE OR REPLACE FUNCTION analysis.gateway_states(p_shard smallint, p_token bytea, p_jobs bigint[])
RETURNS TABLE (
  o_job bigint, o_state text, o_reason text, o_message text, o_attempts int, o_max_attempts int,
  o_created_at timestamptz, o_run_at timestamptz, o_failed_at timestamptz, o_finished_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  PERFORM analysis.require_at_most(1000, p_jobs, 'jobs');
  RETURN QUERY
  SELECT s.o_job, s.o_state, s.o_reason, s.o_message, s.o_attempts, s.o_max_attempts, s.o_created_at,
    s.o_run_at, s.o_failed_at, s.o_finished_at
  FROM analysis.states_of(p_shard, p_jobs, NULL) s
  WHERE s.o_user = v_token.o_user_id
  ORDER BY s.o_job;
END $$;
COMMENT ON FUNCTION analysis.gateway_states IS
  'Answers where jobs of the user of a token are, and why they failed.';

-- Of the newest 100 jobs of the user of a token those that have no analysis, the newest first. The order asks
-- for the index of users: see make_partition.
CREATE OR REPLACE FUNCTION analysis.gateway_jobs(p_shard smallint, p_token bytea)
RETURNS TABLE (o_job bigint, o_kind text, o_state text, o_created_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
BEGIN
  RETURN QUERY
  WITH newest AS MATERIALIZED (
    SELECT j.id, j.kind
    FROM (SELECT p.period FROM analysis.partition_made p ORDER BY p.period DESC) m
    CROSS JOIN LATERAL (
      SELECT k.id, k.kind FROM analysis.job k
      WHERE k.shard = p_shard AND k.user_id BETWEEN v_token.o_user_id AND v_token.o_user_id
        AND k.period = m.period
      ORDER BY k.user_id DESC, k.id DESC LIMIT 100) j
    LIMIT 100)
  SELECT s.o_job, CASE n.kind WHEN 1 THEN 'throat' ELSE 'ear' END, s.o_state, s.o_created_at
  FROM analysis.states_of(p_shard, ARRAY(SELECT w.id FROM newest w), NULL) s
  JOIN newest n ON n.id = s.o_job
  WHERE s.o_state <> 'succeeded'
  ORDER BY s.o_created_at DESC, s.o_job DESC;
END $$;
COMMENT ON FUNCTION analysis.gateway_jobs IS
  'Answers the last jobs of the user of a token that have no analysis.';

-- Which of the jobs that requests wait for have ended, of many users in one call: the token at each place is
-- that of the job at the same place. A job that is open, or not the token's user's, has no row.
CREATE OR REPLACE FUNCTION analysis.gateway_ended(p_shard smallint, p_tokens bytea[], p_jobs bigint[])
RETURNS TABLE (
  o_job bigint, o_state text, o_reason text, o_message text, o_attempts int, o_finished_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_jobs) <= 10000 AND analysis.is_list(p_jobs, cardinality(p_jobs))
      AND analysis.is_list(p_tokens, cardinality(p_jobs)),
    'a call asks about at most 10000 jobs, each with its token');
  RETURN QUERY
  WITH asked AS MATERIALIZED (
    SELECT DISTINCT g.job, u.o_user_id AS user_id
    FROM (SELECT unnest(p_tokens) AS token, unnest(p_jobs) AS job) g
    JOIN analysis.token_users(p_shard, p_tokens) u ON u.o_token = g.token)
  SELECT l.o_job, CASE r.outcome WHEN 1 THEN 'succeeded' WHEN 2 THEN 'cancelled' ELSE 'dead' END, d.class,
    d.message, CASE WHEN r.outcome IS NULL THEN d.attempts ELSE r.attempt END::int,
    coalesce(r.finished_at, d.failed_at)
  FROM analysis.locate_of(p_shard, ARRAY(SELECT DISTINCT a.job FROM asked a), NULL) l
  LEFT JOIN LATERAL (
    SELECT k.user_id, k.outcome, k.attempt, k.finished_at FROM analysis.result k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.job_id = l.o_job OFFSET 0) r ON true
  LEFT JOIN LATERAL (
    SELECT k.user_id, k.class, k.message, k.attempts, k.failed_at FROM analysis.dead k
    WHERE r.outcome IS NULL AND k.shard = p_shard AND k.job_id = l.o_job OFFSET 0) d ON true
  JOIN asked a ON a.job = l.o_job AND a.user_id = coalesce(r.user_id, d.user_id);
END $$;
COMMENT ON FUNCTION analysis.gateway_ended IS
  'Answers which of many users'' jobs have ended, each asked for with a token of its user.';

-- What is to be read of these users' jobs: those that have an analysis. Of persons who were erased there is
-- none.
CREATE OR REPLACE FUNCTION analysis.readable_jobs(p_shard smallint, p_users bigint[], p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_user bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  RETURN QUERY
  SELECT l.o_job, r.user_id
  FROM (SELECT DISTINCT unnest(p_users) AS user_id, unnest(p_jobs) AS job) g
  JOIN analysis.locate_of(p_shard, p_jobs, NULL) l ON l.o_job = g.job
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.outcome, k.condition_count FROM analysis.result k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.job_id = l.o_job OFFSET 0) r
  WHERE r.user_id = g.user_id AND r.outcome = 1 AND r.condition_count IS NOT NULL
  ORDER BY 1;
END $$;

-- Records that results are read of jobs of many users, the token at each place being that of the job at the
-- same place, and answers what gateway_results asks for once that is committed. NULL: none of these jobs is
-- its token's user's and has an analysis.
CREATE OR REPLACE FUNCTION analysis.gateway_open_results(p_shard smallint, p_tokens bytea[], p_jobs bigint[])
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_users bigint[];
  v_jobs bigint[];
  v_tokens jsonb;
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_jobs) <= 1000 AND analysis.is_list(p_jobs, cardinality(p_jobs))
      AND analysis.is_list(p_tokens, cardinality(p_jobs)),
    'a call opens at most 1000 results, each with its token');
  SELECT coalesce(array_agg(u.o_user_id), '{}'), coalesce(array_agg(g.job), '{}') INTO v_users, v_jobs
  FROM (SELECT unnest(p_tokens) AS token, unnest(p_jobs) AS job) g
  JOIN analysis.token_users(p_shard, p_tokens) u ON u.o_token = g.token;
  SELECT array_agg(DISTINCT r.o_job), array_agg(DISTINCT r.o_user) INTO v_jobs, v_users
  FROM analysis.readable_jobs(p_shard, v_users, v_jobs) r;
  IF v_jobs IS NULL THEN
    RETURN NULL;
  END IF;
  v_tokens := (
    SELECT jsonb_agg(format('%s/%s', u.o_user_id, u.o_number) ORDER BY u.o_user_id, u.o_number)
    FROM analysis.token_users(p_shard, p_tokens) u
    WHERE u.o_user_id = ANY (v_users));
  RETURN analysis.open_gateway_reading(p_shard, v_jobs, v_users, jsonb_build_object('tokens', v_tokens));
END $$;
COMMENT ON FUNCTION analysis.gateway_open_results IS
  'Records that results are read with tokens of their users; answers what gateway_results asks for.';

-- Records a reading of the gateway's, beside whose tokens it was asked with.
CREATE OR REPLACE FUNCTION analysis.open_gateway_reading(
  p_shard smallint, p_jobs bigint[], p_users bigint[], p_detail jsonb) RETURNS text
LANGUAGE sql AS $$
  SELECT analysis.open_reading(
    'read_result', CASE cardinality(p_jobs) WHEN 1 THEN 'job:' || p_jobs[1] ELSE 'jobs' END,
    p_detail || jsonb_build_object('shard', p_shard, 'jobs', to_jsonb(p_jobs), 'users', to_jsonb(p_users)))
$$;

CREATE OR REPLACE FUNCTION analysis.require_page(p_limit int) RETURNS void
LANGUAGE sql AS $$
  SELECT analysis.require_argument(p_limit BETWEEN 1 AND 100, 'a page of a history has 1 to 100 analyses')
$$;

-- The next analyses of a user, the newest first: of the latest month in which jobs count, and in it those
-- that ended last; after the one of job p_before (NULL: from the first). Each month is looked through as far
-- as it is needed.
CREATE OR REPLACE FUNCTION analysis.history_of(
  p_shard smallint, p_user_id bigint, p_before bigint, p_limit int) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_period smallint := 32767;
  v_finished timestamptz := 'infinity';
BEGIN
  PERFORM analysis.require_page(p_limit);
  IF p_before IS NOT NULL THEN
    SELECT r.period, r.finished_at INTO v_period, v_finished
    FROM analysis.locate_of(p_shard, ARRAY[p_before], NULL) l
    JOIN analysis.result r ON r.shard = p_shard AND r.period = l.o_period AND r.job_id = l.o_job
    WHERE r.user_id = p_user_id;
    PERFORM analysis.require_argument(FOUND, 'a history goes on after an analysis of the same user');
  END IF;
  RETURN ARRAY(
    SELECT r.job_id
    FROM (SELECT m.period FROM analysis.partition_made m WHERE m.period <= v_period ORDER BY m.period DESC) m
    CROSS JOIN LATERAL (
      SELECT k.job_id FROM analysis.result k
      WHERE k.user_id = p_user_id AND k.shard = p_shard AND k.period = m.period AND k.outcome = 1
        AND k.condition_count IS NOT NULL
        AND (k.period < v_period
             OR (k.finished_at, k.job_id) < (v_finished, coalesce(p_before, 9223372036854775807)))
      ORDER BY k.finished_at DESC, k.job_id DESC
      LIMIT p_limit) r
    LIMIT p_limit);
END $$;

-- Records that a page of the user's own history is read; see history_of.
CREATE OR REPLACE FUNCTION analysis.gateway_open_history(
  p_shard smallint, p_token bytea, p_before bigint, p_limit int) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_token record := analysis.token_user(p_shard, p_token);
  v_jobs bigint[] := analysis.history_of(p_shard, v_token.o_user_id, p_before, p_limit);
BEGIN
  IF cardinality(v_jobs) = 0 THEN
    RETURN NULL;
  END IF;
  RETURN analysis.open_gateway_reading(
    p_shard, v_jobs, ARRAY[v_token.o_user_id],
    jsonb_build_object(
      'tokens', jsonb_build_array(format('%s/%s', v_token.o_user_id, v_token.o_number))));
END $$;
COMMENT ON FUNCTION analysis.gateway_open_history IS
  'Records that a page of the history of a token''s user is read; answers what gateway_results asks for.';

-- The results of these users' jobs, the newest first. Bands by their names.
CREATE OR REPLACE FUNCTION analysis.results_read(p_shard smallint, p_users bigint[], p_jobs bigint[])
RETURNS TABLE (
  o_job bigint, o_user_id bigint, o_kind text, o_analysis text, o_created_at timestamptz,
  o_finished_at timestamptz, o_answered_at timestamptz, o_serious boolean, o_consult boolean,
  o_conditions jsonb, o_endpoint text, o_model text, o_version text, o_attempt int, o_call_ms int)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  RETURN QUERY
  SELECT r.job_id, r.user_id, CASE r.kind WHEN 1 THEN 'throat' ELSE 'ear' END, r.analysis_id, j.created_at,
    r.finished_at, r.answered_at, r.serious, r.consult,
    (SELECT coalesce(
       jsonb_agg(
         c.value || jsonb_build_object(
           'band', (ARRAY['green', 'yellow', 'orange', 'red'])[(c.value ->> 'band')::int])
         ORDER BY c.position), '[]')
     FROM jsonb_array_elements(r.conditions) WITH ORDINALITY c(value, position)),
    r.endpoint, r.model, r.version, r.attempt::int, r.call_ms
  FROM analysis.locate_of(p_shard, p_jobs, NULL) l
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.result k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.job_id = l.o_job OFFSET 0) r
  CROSS JOIN LATERAL (
    SELECT k.created_at FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = l.o_period AND k.id = l.o_job OFFSET 0) j
  WHERE r.user_id = ANY (p_users) AND r.outcome = 1 AND r.condition_count IS NOT NULL
  ORDER BY r.period DESC, r.finished_at DESC, r.job_id DESC;
END $$;

-- The results that a reading has opened, of those users whose tokens are passed and still valid.
CREATE OR REPLACE FUNCTION analysis.gateway_results(p_shard smallint, p_tokens bytea[], p_reading text)
RETURNS TABLE (
  o_job bigint, o_user_id bigint, o_kind text, o_analysis text, o_created_at timestamptz,
  o_finished_at timestamptz, o_answered_at timestamptz, o_serious boolean, o_consult boolean,
  o_conditions jsonb, o_endpoint text, o_model text, o_version text, o_attempt int, o_call_ms int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_detail jsonb := analysis.require_reading('read_result', NULL, p_reading);
BEGIN
  PERFORM analysis.require_at_most(1000, p_tokens, 'tokens');
  RETURN QUERY
  SELECT r.*
  FROM analysis.results_read(
    p_shard,
    ARRAY(
      SELECT u.o_user_id FROM analysis.token_users(p_shard, p_tokens) u
      WHERE v_detail -> 'users' @> to_jsonb(u.o_user_id)),
    ARRAY(
      SELECT j::bigint FROM jsonb_array_elements_text(v_detail -> 'jobs') j
      WHERE (v_detail ->> 'shard')::smallint = p_shard)) r;
END $$;
COMMENT ON FUNCTION analysis.gateway_results IS
  'Answers the results whose reading was recorded, of the users whose tokens are passed.';
