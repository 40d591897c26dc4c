-- Rights. Nobody but the owner has any to begin with: the schema is not open to the public, and the functions
-- work with their owner's rights, so a role needs no right on a table. This group comes last, so that it
-- finds all functions; a release that adds a function adds it here, and so has the group applied again.

-- What a role may use by its duty. A table stands for reading all of it, `table(column,column)` for these columns.
--
--   worker         what analysis-worker does
--   submitter      a back-end: submits, waits, cancels, and reads a result by its user and number
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
    SELECT ARRAY['ready', 'batch', 'scheduled', 'dead', 'refund', 'worker', 'gauge', 'pause',
      'job(shard,period,id,created_at,run_at)'] AS tables),
  -- What `jobs` reads.
  jobs AS (
    SELECT ARRAY['user_result', 'job_status', 'result', 'dead', 'account(shard,user_id,user_ref)'] AS tables),
  -- `reconcile`, and `users list` with the reports.
  counts AS (
    SELECT ARRAY['job(shard,period,id,user_id)', 'result(shard,period,outcome,job_id,user_id)', 'dead(shard,job_id)',
      'refund(shard,user_id,period)', 'usage', 'account(shard,user_id,user_ref)'] AS tables),
  usage AS (
    SELECT ARRAY['period_start', 'statement_due', 'usage_of', 'usage_report', 'limit_of'] AS functions,
      ARRAY['account(shard,user_id,user_ref,zone,created_at)', 'account_plan', 'plan', 'plan_limit', 'usage',
        'refund(shard,user_id,period)', 'result(shard,period,outcome,user_id,calls)', 'dead(shard,period,user_id)',
        'attempt_error(shard,period,user_id,calls)', 'statement', 'statement_line', 'analysis_count', 'condition_count'] AS tables),
  given AS (
  SELECT 'worker' AS duty, ARRAY[
      'claim', 'tick', 'sweep', 'heartbeat', 'tell', 'retire', 'complete', 'fail', 'hand_back', 'disclaim', 'rescue', 'promote', 'settle_refunds', 'take_turn',
      'images_of_jobs', 'refresh_gauges', 'ensure_partitions', 'audit_worker'] AS functions,
    -- A draining worker asks, as `analysisctl status` does, what is left in the queue.
    ARRAY['image_to_send'] || status.tables AS tables
  FROM status
  UNION ALL
  -- Of results it sees by itself only that there is one; what is in it, by result_of and a user's name.
  SELECT 'submitter', ARRAY['submit', 'submit_image', 'notify_workers', 'cancel', 'locate', 'result_of', 'period_text'],
    ARRAY['result(shard,period,job_id,outcome)', 'dead(shard,job_id)']
  UNION ALL
  SELECT 'reader', ARRAY['locate', 'result_of', 'attempts_of', 'period_text', 'audit_result'],
    jobs.tables || status.tables FROM jobs, status
  UNION ALL
  SELECT 'reporter', usage.functions || ARRAY['close_usage', 'audit_read'], usage.tables FROM usage
  UNION ALL
  SELECT 'diagnoses', ARRAY['audit_read'], ARRAY['result', 'account(shard,user_id,user_ref,zone)']
  UNION ALL
  SELECT 'operator', ARRAY['pause', 'resume', 'cancel', 'retry_dead', 'locate', 'notify_workers', 'period_text'],
    ARRAY['job_status'] || status.tables || counts.tables FROM status, counts
  UNION ALL
  SELECT 'administrator', ARRAY[
      'add_user', 'set_plan', 'set_zone', 'set_photo', 'save_profile', 'set_plan_limit', 'limit_of', 'add_clinic', 'assign_clinic',
      'grant_clinics', 'revoke_clinics', 'lift_clinics', 'await_submits', 'audit_key'],
    ARRAY['account(shard,user_id,user_ref,zone,created_at,clinic_id)', 'account_plan', 'profile', 'plan', 'plan_limit',
      'clinic', 'clinic_viewer', 'usage', 'refund(shard,user_id,period)', 'result(shard,period,outcome,user_id)']
  UNION ALL
  SELECT 'retention', ARRAY['purge_months', 'purge_month', 'purge_images', 'purge_results', 'purge_dead', 'purge_usage',
      'purge_audit', 'index_images', 'audit_ends'], '{}'
  UNION ALL
  SELECT 'privacy', ARRAY['erase_user', 'erasure_of', 'open_export', 'export_user', 'export_jobs', 'export_images'], '{}'
  UNION ALL
  SELECT 'auditor', usage.functions || ARRAY['period_text', 'audit_list', 'audit_ends'],
    usage.tables || status.tables || counts.tables || ARRAY['account(clinic_id)', 'clinic', 'clinic_viewer', 'duty_granted', 'audit', 'audit_head',
      'audit_draft']
  FROM usage, status, counts)
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
  -- What came with a duty once and does not any more.
  FOR v_change IN
    SELECT format(x.revoke, g.role)
    FROM (SELECT DISTINCT n.role FROM analysis.duty_granted n WHERE NOT n.is_narrowed) g
    CROSS JOIN (VALUES ('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA analysis FROM %I'), ('REVOKE ALL ON ALL TABLES IN SCHEMA analysis FROM %I')) x(revoke)
  LOOP
    EXECUTE v_change;
  END LOOP;
  UPDATE analysis.duty_granted SET is_narrowed = true WHERE NOT is_narrowed;
  -- Workers read the images of jobs that they have, by a function, and no others any more.
  FOR v_change IN
    SELECT DISTINCT format('REVOKE SELECT ON analysis.image FROM %I', h.o_role) FROM analysis.duties_held() h
    WHERE h.o_duty = 'worker' AND EXISTS (
      SELECT FROM pg_attribute a CROSS JOIN LATERAL aclexplode(a.attacl) x JOIN pg_roles r ON r.oid = x.grantee
      WHERE a.attrelid = 'analysis.image'::regclass AND r.rolname = h.o_role)
  LOOP
    EXECUTE v_change;
  END LOOP;
  FOR v_change IN
    SELECT m.o_grant FROM analysis.duties_held() h CROSS JOIN LATERAL analysis.missing_rights(h.o_role, h.o_duty) m
  LOOP
    EXECUTE v_change;
  END LOOP;
END $$;

SELECT analysis.apply_rights();
