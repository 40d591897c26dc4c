-- Rights. Nobody but the owner has any to begin with: the schema is not open to the public, and the functions
-- work with their owner's rights, so a role needs no right on a table. Each kind of work is a group role that
-- cannot log in; a login gets its work by GRANT analysis_worker TO worker1. This group comes last, so that it
-- finds all functions: a version that adds a function adds it here, and so has the group applied again.

-- With what the names of this installation's roles begin: the schema's owner is PREFIX_owner. Where the
-- schema belongs to another, as after a dump was restored without owners, it is what the next migration
-- takes.
CREATE OR REPLACE FUNCTION analysis.role_prefix() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT coalesce(substring(pg_get_userbyid(n.nspowner) FROM '^(.+)_owner$'), 'analysis')
    FROM pg_namespace n WHERE n.nspname = 'analysis');
END $$;
COMMENT ON FUNCTION analysis.role_prefix IS
  'Answers with what the names of this installation''s roles begin.';

-- What several roles need of one matter: the state of the queue, the jobs, reviews, what is used.
CREATE OR REPLACE FUNCTION analysis.rights_in_common()
RETURNS TABLE (o_of text, o_functions text[], o_tables text[])
LANGUAGE sql IMMUTABLE AS $$
  VALUES
    ('status',
      ARRAY[
        'dead_counts', 'dead_causes', 'pauses_in_force', 'status_of_lanes', 'status_of_shard',
        'status_of_workers', 'status_of_queue', 'status_of_deaths', 'count_lanes', 'done_rates',
        'queue_overview', 'queue_past', 'gauges', 'month_totals', 'queue_state', 'worker_lives',
        'backlog'],
      ARRAY[
        'ready', 'lease', 'scheduled', 'worker', 'gauge', 'pause', 'job(shard,period,id,created_at,run_at)',
        'lane_count', 'shard_count(shard,counted_at)', 'queue_history']),
    ('jobs',
      ARRAY[
        'list_jobs', 'list_dead', 'job_holder', 'locate', 'jobs_shown', 'jobs_ended', 'job_attempts',
        'attempts_shown', 'job_death', 'deaths_of', 'failure_groups', 'period_text', 'list_batches',
        'batch_counts', 'batch_causes', 'find_jobs', 'job_label_of', 'watch', 'queue_state', 'jobs_by_state'],
      '{}'),
    ('reviews',
      ARRAY[
        'open_results', 'results_of', 'add_review', 'reviews_of', 'open_review_list', 'list_reviews',
        'open_review_queue', 'review_queue', 'review_choices', 'product_of_job', 'open_reviews',
        'agreement_report', 'calibration_report', 'period_start', 'statement_due', 'open_jobs', 'month_facts',
        'due_months'],
      ARRAY['statement']),
    ('usage',
      ARRAY[
        'period_start', 'statement_due', 'usage_report', 'usage_lines', 'billed_lines', 'usage_groups',
        'summary_report',
        'month_facts', 'due_months', 'finding_counts', 'open_jobs', 'limit_of', 'list_users', 'list_plans',
        'list_months'],
      ARRAY[
        'account(shard,user_id,user_ref,zone,created_at)', 'account_plan', 'plan', 'plan_limit', 'usage',
        'statement']),
    -- What every program asks first, and what the rules of the rows ask.
    ('all',
      ARRAY[
        'shard_of', 'shards_of', 'list_settings', 'setting_value', 'months', 'period_of', 'day_start',
        'current_month', 'months_due',
        'image_keys', 'webhook_keys', 'role_prefix', 'role_rights', 'missing_rights', 'act_as', 'chain_audit',
        'audit_ends', 'unchained', 'clinics_seen', 'users_seen', 'image_store'],
      ARRAY['setting', 'partition_made', 'purged_month', 'schema_migration', 'schema_function'])
$$;

-- What the roles of the programs need that work at the queue, beside what they share.
CREATE OR REPLACE FUNCTION analysis.rights_of_programs()
RETURNS TABLE (o_role text, o_functions text[], o_tables text[])
LANGUAGE sql IMMUTABLE AS $$
  VALUES
    ('submitter',
      ARRAY[
        'submit', 'submit_one', 'submit_image', 'submit_images', 'submit_object', 'notify_workers',
        'wake_workers', 'cancel', 'uncancel', 'uncancel_from', 'locate',
        'jobs_ended', 'job_state', 'wait_for', 'is_open_transaction', 'open_results', 'results_of',
        'analyses_of', 'period_text', 'image_rules', 'open_batch', 'submit_in_batch', 'add_refusals',
        'billed_before', 'list_batches', 'batch_counts', 'batch_causes', 'find_jobs', 'queue_state'],
      '{}'::text[]),
    ('worker',
      ARRAY[
        'claim', 'work', 'tick', 'sweep', 'heartbeat', 'record_report', 'retire', 'complete', 'fail',
        'release',
        'disclaim', 'rescue', 'promote', 'apply_refunds', 'take_turn', 'images_of_jobs', 'images_of_claim',
        'refresh_gauges',
        'refresh_counts', 'notify_ended', 'due_deliveries', 'claim_deliveries', 'finish_deliveries',
        'purge_deliveries',
        'prepare_months', 'audit_worker', 'worker_number', 'image_rules', 'image_objects'],
      '{}'),
    ('retention',
      ARRAY[
        'purge_months', 'purge_month', 'purge_images', 'purge_results', 'purge_dead', 'purge_events',
        'purge_usage', 'purge_audit', 'index_images', 'unclosed_months', 'lost_objects',
        'unnamed_objects'],
      '{}'),
    ('gateway',
      ARRAY[
        'gateway_user', 'gateway_set_profile', 'gateway_log_out', 'gateway_submit', 'gateway_states',
        'gateway_jobs', 'gateway_ended', 'gateway_open_results', 'gateway_open_history',
        'gateway_results', 'gateway_share_request', 'gateway_share_accept', 'gateway_share_list',
        'gateway_share_revoke', 'gateway_shared', 'gateway_open_shared', 'gateway_shared_results',
        'gateway_begin_session', 'gateway_renew_session', 'gateway_sessions', 'gateway_end_sessions',
        'gateway_open_picture', 'gateway_picture', 'gateway_events', 'notify_workers', 'image_rules'],
      '{}')
$$;

-- What the roles of people need, beside what they share.
CREATE OR REPLACE FUNCTION analysis.rights_of_people()
RETURNS TABLE (o_role text, o_functions text[], o_tables text[])
LANGUAGE sql IMMUTABLE AS $$
  VALUES
    ('reporter',
      ARRAY[
        'close_usage', 'preview_closing', 'open_conditions', 'report_conditions', 'statement_segments',
        'statement_totals', 'statement_plans', 'statement_days', 'statement_letterhead', 'open_statement',
        'statement_conditions', 'list_plan_prices', 'open_reviews', 'agreement_report', 'calibration_report'],
      '{}'::text[]),
    ('clinician',
      ARRAY[
        'open_analyses', 'analyses_bounds', 'report_analyses', 'accept_share', 'list_shares', 'revoke_share'],
      '{}'),
    ('reviewer', ARRAY['open_picture', 'picture_of'], '{}'),
    ('operator',
      ARRAY[
        'pause', 'resume', 'cancel', 'uncancel', 'uncancel_from', 'retry_dead', 'lost_jobs', 'refresh_counts',
        'notify_workers', 'usage_differences', 'list_webhooks', 'objects_compared'],
      '{}'),
    ('administrator',
      ARRAY[
        'add_user', 'set_plan', 'set_zone', 'set_period', 'set_photo', 'save_profile', 'set_plan_limit',
        'limit_of', 'add_plan', 'set_plan_price', 'list_plan_prices', 'import_users', 'rename_user',
        'person_of', 'month_of', 'user_shown', 'user_period', 'plans_of_user', 'profile_of', 'list_users',
        'list_photos', 'list_plans',
        'list_clinics', 'clinics_shown', 'list_clinic_viewers', 'clinic_usage', 'logo_bytes', 'add_clinic',
        'set_clinic', 'set_product', 'user_pictures', 'assign_clinic', 'grant_clinics', 'revoke_clinics',
        'lift_clinics', 'await_submits', 'audit_key', 'preview_setting', 'set_setting', 'add_webhook',
        'remove_webhook', 'test_webhook', 'webhook_event_state', 'replay_webhook', 'list_webhooks',
        'add_token', 'list_tokens', 'revoke_tokens', 'add_login_code', 'request_share', 'list_shares',
        'revoke_share'],
      ARRAY[
        'account(shard,user_id,user_ref,zone,created_at,clinic_id)', 'account_plan', 'profile', 'plan',
        'plan_limit', 'clinic', 'clinic_viewer', 'usage']),
    ('auditor',
      ARRAY[
        'usage_differences', 'lost_jobs', 'broken_invariants', 'period_text', 'audit_list',
        'list_clinics', 'clinics_shown', 'list_clinic_viewers', 'clinic_usage', 'logo_bytes', 'list_webhooks',
        'list_plan_prices', 'objects_compared'],
      ARRAY['account(clinic_id)', 'clinic', 'clinic_viewer', 'audit', 'audit_head', 'audit_draft']),
    ('privacy',
      ARRAY[
        'erase_user', 'erase_part', 'erasure_of', 'open_export', 'export_user', 'export_jobs',
        'export_images', 'open_picture', 'picture_of', 'image_objects', 'lost_objects'],
      '{}')
$$;

-- What each role may call and read. A table stands for all of it, `table(column,column)` for these columns.
-- Results, images, failures and reviews (result, image, dead, attempt_error, review, review_comment) are in
-- no role, and neither is a view: a plan (EXPLAIN ANALYZE) tells how many rows were left out, and by which
-- words. Functions read them.
--
--   submitter      a back-end: submits, waits, cancels, and reads results by their user and numbers
--   worker         what analysis-worker does
--   reporter       the reports of usage, conditions, totals and reviews, which are counts; closes months
--   clinician      jobs with their results and failures, reviews of them, the reports of analyses and reviews
--   reviewer       jobs with their results, reviews of them, and the pictures of those that it may review
--   operator       looks at the queue and the causes of failures, pauses, retries, cancels, recounts;
--                  no diagnosis
--   administrator  users, plans, clinics, webhooks and settings
--   auditor        looks at the queue, at usage, users, plans and clinics, recounts, and reads the audit;
--                  no picture, no diagnosis, no name
--   privacy        erases persons, exports what is kept of one, with the images, and sees a job's picture
--   retention      removes what is past its time
--   gateway        analysis-gateway: submits, states and results of the users whose tokens it is given
CREATE OR REPLACE FUNCTION analysis.role_rights()
RETURNS TABLE (o_role text, o_functions text[], o_tables text[])
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  WITH shared (role, matter) AS (
    VALUES
      -- A draining worker asks, as `analysisctl status` does, what is left in the queue.
      ('worker', 'status'), ('reporter', 'usage'), ('clinician', 'jobs'), ('clinician', 'reviews'),
      ('reviewer', 'jobs'), ('reviewer', 'reviews'), ('operator', 'status'), ('operator', 'jobs'),
      ('auditor', 'usage'), ('auditor', 'status')),
  parts AS MATERIALIZED (
    SELECT 1 AS n, s.role, c.o_functions, c.o_tables
    FROM shared s JOIN analysis.rights_in_common() c ON c.o_of = s.matter
    UNION ALL
    SELECT 2, r.* FROM analysis.rights_of_programs() r
    UNION ALL
    SELECT 2, r.* FROM analysis.rights_of_people() r
    UNION ALL
    SELECT 3, r.o_role, c.o_functions, c.o_tables
    FROM (SELECT p.o_role FROM analysis.rights_of_programs() p
          UNION ALL SELECT p.o_role FROM analysis.rights_of_people() p) r
    JOIN analysis.rights_in_common() c ON c.o_of = 'all')
  SELECT p.role,
    ARRAY(
      SELECT f.name FROM parts k CROSS JOIN LATERAL unnest(k.o_functions) f(name)
      WHERE k.role = p.role ORDER BY k.n),
    ARRAY(
      SELECT t.name FROM parts k CROSS JOIN LATERAL unnest(k.o_tables) t(name)
      WHERE k.role = p.role ORDER BY k.n)
  FROM parts p WHERE p.n = 2
$$;
COMMENT ON FUNCTION analysis.role_rights IS
  'Answers which functions and tables each role may use.';

-- What the roles lack of that, and the statements that grant it.
CREATE OR REPLACE FUNCTION analysis.missing_rights() RETURNS TABLE (o_role name, o_name text, o_grant text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH held AS (
    SELECT d.o_functions, d.o_tables, r.rolname, r.oid AS role, n.oid AS schema, n.nspacl
    FROM analysis.role_rights() d
    JOIN pg_roles r ON r.rolname = analysis.role_prefix() || '_' || d.o_role
    JOIN pg_namespace n ON n.nspname = 'analysis'),
  named AS (
    SELECT t.role, t.rolname, t.schema,
      split_part(t.name, '(', 1) AS relation, nullif(rtrim(split_part(t.name, '(', 2), ')'), '') AS columns
    FROM (SELECT h.role, h.rolname, h.schema, unnest(h.o_tables) AS name FROM held h) t)
  SELECT h.rolname, 'schema', format('GRANT USAGE ON SCHEMA analysis TO %I', h.rolname)
  FROM held h
  WHERE NOT EXISTS (
    SELECT FROM aclexplode(h.nspacl) x WHERE x.grantee = h.role AND x.privilege_type = 'USAGE')
  UNION ALL
  SELECT h.rolname, p.proname, format('GRANT EXECUTE ON ROUTINE %s TO %I', p.oid::regprocedure, h.rolname)
  FROM held h
  JOIN pg_proc p ON p.pronamespace = h.schema AND p.proname = ANY (h.o_functions)
  WHERE NOT EXISTS (SELECT FROM aclexplode(p.proacl) x WHERE x.grantee = h.role)
  UNION ALL
  SELECT t.rolname, c.relname,
    format('GRANT SELECT%s ON analysis.%I TO %I', ' (' || t.columns || ')', c.relname, t.rolname)
  FROM named t
  JOIN pg_class c ON c.relnamespace = t.schema AND c.relname = t.relation
  WHERE NOT EXISTS (
      SELECT FROM aclexplode(c.relacl) x WHERE x.grantee = t.role AND x.privilege_type = 'SELECT')
    AND (t.columns IS NULL OR EXISTS (
      SELECT FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attname = ANY (string_to_array(t.columns, ','))
        AND NOT EXISTS (
          SELECT FROM aclexplode(a.attacl) x WHERE x.grantee = t.role AND x.privilege_type = 'SELECT')))
$$;
COMMENT ON FUNCTION analysis.missing_rights IS
  'Answers what the roles lack of their rights, and the statements that grant it.';

-- What was granted beside that to the roles or to their members, and to anybody of results, images, failures
-- and reviews; and the statements that take it back.
CREATE OR REPLACE FUNCTION analysis.surplus_rights() RETURNS TABLE (o_role name, o_name text, o_revoke text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH roles AS (
    SELECT r.oid, d.o_functions, d.o_tables
    FROM analysis.role_rights() d JOIN pg_roles r ON r.rolname = analysis.role_prefix() || '_' || d.o_role),
  bound AS (
    SELECT r.oid FROM roles r
    UNION
    SELECT m.oid FROM pg_roles m JOIN roles r ON pg_has_role(m.oid, r.oid, 'MEMBER') WHERE NOT m.rolsuper),
  functions AS (SELECT r.oid AS role, unnest(r.o_functions) AS name FROM roles r),
  columns AS (
    SELECT r.oid AS role, split_part(t.name, '(', 1) AS relation, c.name AS column
    FROM roles r
    CROSS JOIN LATERAL unnest(r.o_tables) t(name)
    CROSS JOIN LATERAL unnest(
      CASE WHEN t.name LIKE '%(%' THEN string_to_array(rtrim(split_part(t.name, '(', 2), ')'), ',')
           ELSE ARRAY[NULL::text] END) c(name)),
  relations AS (
    SELECT c.oid, c.relname, c.relowner, c.relacl,
      p.relname = ANY (ARRAY[
        'result', 'image', 'dead', 'attempt_error', 'review', 'review_comment', 'job_status',
        'listed_webhook']) AS is_closed
    FROM pg_class c
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    JOIN pg_class p ON p.oid = coalesce(i.inhparent, c.oid)
    WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')),
  granted AS (
    SELECT c.relname, c.relowner, c.is_closed, NULL::name AS column, x.grantee, x.privilege_type
    FROM relations c CROSS JOIN LATERAL aclexplode(c.relacl) x
    UNION ALL
    SELECT c.relname, c.relowner, c.is_closed, a.attname, x.grantee, x.privilege_type
    FROM relations c
    JOIN pg_attribute a ON a.attrelid = c.oid
    CROSS JOIN LATERAL aclexplode(a.attacl) x)
  SELECT r.rolname, p.proname::text,
    format('REVOKE EXECUTE ON ROUTINE %s FROM %I', p.oid::regprocedure, r.rolname)
  FROM pg_proc p
  CROSS JOIN LATERAL aclexplode(p.proacl) x
  JOIN pg_roles r ON r.oid = x.grantee
  WHERE p.pronamespace = 'analysis'::regnamespace AND p.prokind IN ('f', 'p') AND x.grantee <> p.proowner
    AND EXISTS (SELECT FROM bound b WHERE b.oid = r.oid)
    AND NOT EXISTS (SELECT FROM functions f WHERE f.role = r.oid AND f.name = p.proname)
  UNION ALL
  SELECT coalesce(r.rolname, 'public'), g.relname::text,
    format('REVOKE %s%s ON analysis.%I FROM %s', g.privilege_type, ' (' || quote_ident(g.column) || ')',
      g.relname, coalesce(quote_ident(r.rolname), 'PUBLIC'))
  FROM granted g
  LEFT JOIN pg_roles r ON r.oid = g.grantee
  WHERE g.grantee <> g.relowner AND (g.grantee = 0 OR r.oid IS NOT NULL)
    AND (g.is_closed OR EXISTS (SELECT FROM bound b WHERE b.oid = r.oid) AND NOT (
      g.privilege_type = 'SELECT' AND EXISTS (
        SELECT FROM columns c
        WHERE c.role = r.oid AND c.relation = g.relname AND c.column IS NOT DISTINCT FROM g.column)))
$$;

-- Puts the rights right: what is open to everybody by the server's own default is closed (USAGE of the schema
-- is not enough), and each role has just what it needs. Nothing is written where nothing is amiss.
CREATE OR REPLACE FUNCTION analysis.apply_rights() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_change text;
BEGIN
  -- The migrator's own lock: two who write the same rights at once would fail.
  LOCK TABLE analysis.schema_migration IN SHARE UPDATE EXCLUSIVE MODE;
  FOR v_change IN
    SELECT format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', p.oid::regprocedure)
    FROM pg_proc p
    WHERE p.pronamespace = 'analysis'::regnamespace AND pg_has_role(current_user, p.proowner, 'USAGE')
      AND EXISTS (
        SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x WHERE x.grantee = 0)
  LOOP
    EXECUTE v_change;
  END LOOP;
  FOR v_change IN SELECT r.o_revoke FROM analysis.surplus_rights() r LOOP
    EXECUTE v_change;
  END LOOP;
  FOR v_change IN SELECT m.o_grant FROM analysis.missing_rights() m LOOP
    EXECUTE v_change;
  END LOOP;

  PERFORM analysis.forget_logins();
  PERFORM analysis.end_shares_of_lost_logins();
  -- Roles have other numbers after a dump was restored.
  UPDATE analysis.clinic_viewer v SET role_id = r.oid
  FROM pg_roles r
  WHERE r.rolname = v.role AND r.oid <> v.role_id;
END $$;

SELECT analysis.apply_rights();
