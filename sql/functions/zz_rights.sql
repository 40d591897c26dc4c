-- Rights. Nobody but the owner has any to begin with: the schema is not open to the public, and the functions
-- work with their owner's rights, so a role needs no right on a table. This group comes last, so that it
-- finds all functions; a release that adds a function adds it here, and so has the group applied again.

-- What a role may use by its duty. A table stands for reading all of it, `table(column,column)` for these columns. Results,
-- images and failures (result, image, dead, attempt_error) are in no duty, and neither is a view: a plan (EXPLAIN ANALYZE)
-- tells how many rows were left out, and by which words. What is read of them, functions read.
--
--   worker         what analysis-worker does
--   submitter      a back-end: submits, waits, cancels, and reads results by their user and numbers
--   reader         the state of jobs and the results, and changes nothing
--   reporter       the reports of usage, conditions and totals, which are counts; closes months
--   diagnoses      beside it the report of analyses: what was found in whose picture
--   operator       pauses, retries and cancels, looks at the queue, recounts
--   administrator  users, plans and clinics
--   retention      removes what is past its time
--   privacy        erases persons, and exports what is kept of one, with the images
--   auditor        looks at the queue, at usage, users, plans and clinics, recounts, and reads the audit; no picture,
--                  no diagnosis, no name
CREATE OR REPLACE FUNCTION analysis.duties() RETURNS TABLE (o_duty text, o_functions text[], o_tables text[])
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH status AS (
    SELECT ARRAY['dead_counts', 'dead_causes'] AS functions,
      ARRAY['ready', 'lease', 'scheduled', 'worker', 'gauge', 'pause', 'job(shard,period,id,created_at,run_at)'] AS tables),
  usage AS (
    SELECT ARRAY['period_start', 'statement_due', 'usage_report', 'finding_counts', 'open_jobs', 'limit_of'] AS functions,
      ARRAY['account(shard,user_id,user_ref,zone,created_at)', 'account_plan', 'plan', 'plan_limit', 'usage', 'statement'] AS tables),
  given AS (
  SELECT 'worker' AS duty, status.functions || ARRAY[
      'claim', 'work', 'tick', 'sweep', 'heartbeat', 'record_report', 'retire', 'complete', 'fail', 'release', 'disclaim', 'rescue', 'promote', 'apply_refunds', 'take_turn',
      'images_of_jobs', 'refresh_gauges', 'ensure_partitions', 'audit_worker'] AS functions,
    -- A draining worker asks, as `analysisctl status` does, what is left in the queue.
    status.tables AS tables
  FROM status
  UNION ALL
  SELECT 'submitter', ARRAY['submit', 'submit_image', 'notify_workers', 'cancel', 'locate', 'jobs_ended', 'open_results', 'results_of',
      'period_text'], '{}'
  UNION ALL
  SELECT 'reader', status.functions || ARRAY['list_jobs', 'locate', 'jobs_shown', 'jobs_ended', 'job_attempts', 'job_death', 'open_results', 'results_of',
      'period_text'], status.tables
  FROM status
  UNION ALL
  SELECT 'reporter', usage.functions || ARRAY['close_usage', 'open_conditions', 'report_conditions'], usage.tables FROM usage
  UNION ALL
  SELECT 'diagnoses', ARRAY['open_analyses', 'analyses_bounds', 'report_analyses'], '{}'
  UNION ALL
  SELECT 'operator', status.functions || ARRAY['pause', 'resume', 'cancel', 'retry_dead', 'list_jobs', 'lost_jobs', 'jobs_shown', 'locate',
      'notify_workers', 'period_text', 'usage_differences'], status.tables
  FROM status
  UNION ALL
  SELECT 'administrator', ARRAY[
      'add_user', 'set_plan', 'set_zone', 'set_photo', 'save_profile', 'set_plan_limit', 'limit_of', 'month_of', 'add_clinic',
      'assign_clinic', 'grant_clinics', 'revoke_clinics', 'lift_clinics', 'await_submits', 'audit_key'],
    ARRAY['account(shard,user_id,user_ref,zone,created_at,clinic_id)', 'account_plan', 'profile', 'plan', 'plan_limit',
      'clinic', 'clinic_viewer', 'usage']
  UNION ALL
  SELECT 'retention', ARRAY['purge_months', 'purge_month', 'purge_images', 'purge_results', 'purge_dead', 'purge_usage',
      'purge_audit', 'index_images', 'audit_ends'], '{}'
  UNION ALL
  SELECT 'privacy', ARRAY['erase_user', 'erasure_of', 'open_export', 'export_user', 'export_jobs', 'export_images'], '{}'
  UNION ALL
  SELECT 'auditor', usage.functions || status.functions
      || ARRAY['usage_differences', 'lost_jobs', 'broken_invariants', 'period_text', 'audit_list', 'audit_ends'],
    usage.tables || status.tables || ARRAY['account(clinic_id)', 'clinic', 'clinic_viewer', 'duty_granted', 'audit', 'audit_head',
      'audit_draft']
  FROM usage, status)
  -- What every program asks first, and what the rules of the rows ask.
  SELECT g.duty,
    g.functions || ARRAY['shard_of', 'period_of', 'image_keys', 'duties', 'duties_held', 'missing_rights', 'act_as', 'chain_audit',
      'clinics_seen', 'users_seen'],
    g.tables || ARRAY['setting', 'partition_made', 'purged_month', 'schema_migration', 'schema_function']
  FROM given g
$$;

-- Which role has which duty: four of the five that every installation has, and those to whom `allow` gave one.
CREATE OR REPLACE FUNCTION analysis.duties_held() RETURNS TABLE (o_role name, o_duty text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT v.role::name, v.duty
  FROM (VALUES ('analysis_submitter', 'submitter'), ('analysis_worker', 'worker'), ('analysis_reporter', 'reporter'),
    ('analysis_auditor', 'auditor')) v(role, duty)
  UNION
  SELECT g.role, g.duty FROM analysis.duty_granted g
$$;

-- What of a duty was not granted to a role itself, and the statements that grant it.
CREATE OR REPLACE FUNCTION analysis.missing_rights(p_role name, p_duty text) RETURNS TABLE (o_name text, o_grant text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH duty AS (
    SELECT d.o_functions, d.o_tables, r.oid AS role, n.oid AS schema, n.nspacl
    FROM analysis.duties() d, pg_roles r, pg_namespace n
    WHERE d.o_duty = p_duty AND r.rolname = p_role AND n.nspname = 'analysis'),
  named AS (
    SELECT split_part(t.name, '(', 1) AS relation, nullif(rtrim(split_part(t.name, '(', 2), ')'), '') AS columns
    FROM (SELECT unnest(d.o_tables) AS name FROM duty d) t)
  SELECT 'schema'::text, format('GRANT USAGE ON SCHEMA analysis TO %I', p_role)
  FROM duty d
  WHERE NOT EXISTS (SELECT FROM aclexplode(d.nspacl) x WHERE x.grantee = d.role AND x.privilege_type = 'USAGE')
  UNION ALL
  SELECT p.proname::text, format('GRANT EXECUTE ON FUNCTION %s TO %I', p.oid::regprocedure, p_role)
  FROM duty d
  JOIN pg_proc p ON p.pronamespace = d.schema AND p.proname = ANY (d.o_functions)
  WHERE NOT EXISTS (SELECT FROM aclexplode(p.proacl) x WHERE x.grantee = d.role)
  UNION ALL
  SELECT c.relname::text, format('GRANT SELECT%s ON analysis.%I TO %I', ' (' || t.columns || ')', c.relname, p_role)
  FROM duty d
  CROSS JOIN named t
  JOIN pg_class c ON c.relnamespace = d.schema AND c.relname = t.relation
  WHERE NOT EXISTS (SELECT FROM aclexplode(c.relacl) x WHERE x.grantee = d.role AND x.privilege_type = 'SELECT')
    AND (t.columns IS NULL OR EXISTS (
      SELECT FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attname = ANY (string_to_array(t.columns, ','))
        AND NOT EXISTS (SELECT FROM aclexplode(a.attacl) x WHERE x.grantee = d.role AND x.privilege_type = 'SELECT')))
$$;

-- What roles with duties have been granted beside what these bring, and whoever of results, images and failures; and the
-- statements that take it back.
CREATE OR REPLACE FUNCTION analysis.surplus_rights() RETURNS TABLE (o_role name, o_name text, o_revoke text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH brought AS (
    SELECT r.oid AS role, d.o_functions, d.o_tables
    FROM analysis.duties_held() h JOIN analysis.duties() d ON d.o_duty = h.o_duty JOIN pg_roles r ON r.rolname = h.o_role),
  functions AS (SELECT DISTINCT b.role, f.name FROM brought b CROSS JOIN LATERAL unnest(b.o_functions) f(name)),
  columns AS (
    SELECT DISTINCT b.role, split_part(t.name, '(', 1) AS relation, c.name AS column
    FROM brought b CROSS JOIN LATERAL unnest(b.o_tables) t(name)
    CROSS JOIN LATERAL unnest(string_to_array(rtrim(split_part(t.name, '(', 2), ')'), ',') || CASE WHEN t.name NOT LIKE '%(%' THEN '{NULL}'::text[] END) c(name)),
  relations AS (
    SELECT c.oid, c.relname, c.relowner, c.relacl, p.relname = ANY (ARRAY['result', 'image', 'dead', 'attempt_error', 'job_status']) AS is_closed
    FROM pg_class c
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    JOIN pg_class p ON p.oid = coalesce(i.inhparent, c.oid)
    WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')),
  granted AS (
    SELECT c.oid, c.relname, c.relowner, c.is_closed, NULL::name AS column, x.grantee, x.privilege_type FROM relations c CROSS JOIN LATERAL aclexplode(c.relacl) x
    UNION ALL
    SELECT c.oid, c.relname, c.relowner, c.is_closed, a.attname, x.grantee, x.privilege_type
    FROM relations c JOIN pg_attribute a ON a.attrelid = c.oid CROSS JOIN LATERAL aclexplode(a.attacl) x)
  SELECT r.rolname, p.proname::text, format('REVOKE EXECUTE ON FUNCTION %s FROM %I', p.oid::regprocedure, r.rolname)
  FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) x JOIN pg_roles r ON r.oid = x.grantee
  WHERE p.pronamespace = 'analysis'::regnamespace AND p.prokind = 'f' AND x.grantee <> p.proowner
    AND EXISTS (SELECT FROM brought b WHERE b.role = r.oid)
    AND NOT EXISTS (SELECT FROM functions f WHERE f.role = r.oid AND f.name = p.proname)
  UNION ALL
  SELECT coalesce(r.rolname, 'public'), g.relname::text,
    format('REVOKE %s%s ON analysis.%I FROM %s', g.privilege_type, ' (' || quote_ident(g.column) || ')', g.relname,
      coalesce(quote_ident(r.rolname), 'PUBLIC'))
  FROM granted g LEFT JOIN pg_roles r ON r.oid = g.grantee
  WHERE g.grantee <> g.relowner AND (g.grantee = 0 OR r.oid IS NOT NULL)
    AND (g.is_closed OR EXISTS (SELECT FROM brought b WHERE b.role = r.oid) AND NOT (
      g.privilege_type = 'SELECT' AND EXISTS (
        SELECT FROM columns c
        WHERE c.role = r.oid AND c.relation = g.relname AND c.column IS NOT DISTINCT FROM g.column)))
$$;

-- Lets a role do a duty, now and after each migration to come.
CREATE OR REPLACE FUNCTION analysis.allow(p_role name, p_duty text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_grant text;
BEGIN
  IF NOT EXISTS (SELECT FROM analysis.duties() d WHERE d.o_duty = p_duty) THEN
    RAISE EXCEPTION 'there is no duty %', p_duty USING ERRCODE = '22023',
      HINT = 'The duties are ' || (SELECT string_agg(d.o_duty, ', ') FROM analysis.duties() d) || '.';
  ELSIF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = p_role) THEN
    RAISE EXCEPTION 'there is no role %', p_role USING ERRCODE = '42704';
  END IF;
  INSERT INTO analysis.duty_granted (role, duty) VALUES (p_role, p_duty) ON CONFLICT (role, duty) DO NOTHING;
  IF FOUND THEN
    PERFORM analysis.audit_add('allow', 'role:' || p_role, jsonb_build_object('duty', p_duty));
  END IF;
  FOR v_grant IN SELECT m.o_grant FROM analysis.missing_rights(p_role, p_duty) m LOOP
    EXECUTE v_grant;
  END LOOP;
END $$;

-- Takes a duty from a role, and whatever else it has in the schema but for its other duties.
CREATE OR REPLACE FUNCTION analysis.disallow(p_role name, p_duty text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_grant text;
BEGIN
  DELETE FROM analysis.duty_granted g WHERE g.role = p_role AND g.duty = p_duty;
  IF FOUND THEN
    PERFORM analysis.audit_add('disallow', 'role:' || p_role, jsonb_build_object('duty', p_duty));
  END IF;
  EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA analysis FROM %I', p_role);
  EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA analysis FROM %I', p_role);
  EXECUTE format('REVOKE ALL ON SCHEMA analysis FROM %I', p_role);
  FOR v_grant IN
    SELECT m.o_grant FROM analysis.duties_held() h CROSS JOIN LATERAL analysis.missing_rights(h.o_role, h.o_duty) m
    WHERE h.o_role = p_role
  LOOP
    EXECUTE v_grant;
  END LOOP;
END $$;

-- Puts the rights right: what is open to everybody by the server's own default is closed (USAGE of the schema is not
-- enough), and what the duties need is granted. Nothing is written where nothing is amiss.
CREATE OR REPLACE FUNCTION analysis.apply_rights() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_change text;
BEGIN
  -- The migrator's own lock: two who write the same rights at once would fail.
  PERFORM pg_advisory_xact_lock(7020110, 1684627055);
  FOR v_change IN
    SELECT format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', p.oid::regprocedure) FROM pg_proc p
    WHERE p.pronamespace = 'analysis'::regnamespace AND pg_has_role(current_user, p.proowner, 'USAGE')
      AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x WHERE x.grantee = 0)
  LOOP
    EXECUTE v_change;
  END LOOP;

  -- A role that was dropped, or from which the schema was taken, has its duty no more.
  DELETE FROM analysis.duty_granted g
  WHERE NOT EXISTS (
    SELECT FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) x JOIN pg_roles r ON r.oid = x.grantee
    WHERE n.nspname = 'analysis' AND r.rolname = g.role);
  -- What came with a duty once and does not any more; and what nobody but the owner reads, to whomever it was granted.
  FOR v_change IN SELECT r.o_revoke FROM analysis.surplus_rights() r LOOP
    EXECUTE v_change;
  END LOOP;
  FOR v_change IN
    SELECT m.o_grant FROM analysis.duties_held() h CROSS JOIN LATERAL analysis.missing_rights(h.o_role, h.o_duty) m
  LOOP
    EXECUTE v_change;
  END LOOP;

  -- Roles have other numbers after a dump was restored.
  UPDATE analysis.clinic_viewer v SET role_id = r.oid FROM pg_roles r WHERE r.rolname = v.role AND r.oid <> v.role_id;
END $$;

SELECT analysis.apply_rights();
