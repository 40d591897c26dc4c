-- Rights. Nobody but the owner has any to begin with: the schema is not open to the public, and the functions
-- work with their owner's rights, so a role needs no right on a table. This group comes last, so that it
-- finds all functions; a release that adds a function adds it here, and so has the group applied again.

-- What a role may use by its duty: 'worker', 'submitter' (a back-end or member of staff that submits, cancels and
-- reads results) or 'reader' (results and the state of jobs only). `analysisctl doctor` compares it with what roles
-- have been granted.
CREATE OR REPLACE FUNCTION analysis.duties() RETURNS TABLE (o_duty text, o_functions text[], o_tables text[])
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH status AS (
    SELECT ARRAY['ready', 'batch', 'scheduled', 'dead', 'refund', 'worker', 'gauge', 'pause'] AS tables),
  -- What the commands read: `submit` and `jobs`; `jobs` and `status`.
  jobs AS (
    SELECT ARRAY['user_result', 'job_status', 'setting', 'partition_made', 'schema_migration', 'schema_function', 'result',
      'dead'] AS tables)
  SELECT 'worker', ARRAY[
      'claim', 'tick', 'sweep', 'heartbeat', 'tell', 'retire', 'complete', 'fail', 'hand_back', 'disclaim', 'rescue', 'promote', 'settle_refunds', 'take_turn',
      'refresh_gauges', 'ensure_partitions', 'image_keys', 'shard_of', 'period_of', 'duties'],
    -- A draining worker asks, as `analysisctl status` does, what is left in the queue.
    ARRAY['image', 'image_to_send', 'setting', 'partition_made', 'schema_migration', 'schema_function'] || status.tables
  FROM status
  UNION ALL
  SELECT 'submitter', ARRAY[
      'submit', 'submit_image', 'notify_workers', 'cancel', 'locate', 'result_of', 'attempts_of', 'image_keys',
      'shard_of', 'period_of', 'period_text', 'duties'],
    jobs.tables FROM jobs
  UNION ALL
  SELECT 'reader', ARRAY['locate', 'result_of', 'attempts_of', 'image_keys', 'shard_of', 'period_of', 'period_text', 'duties'],
    jobs.tables || status.tables FROM jobs, status
$$;

-- Lets a role do a duty.
CREATE OR REPLACE FUNCTION analysis.allow(p_role name, p_duty text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_functions text[] := (SELECT d.o_functions FROM analysis.duties() d WHERE d.o_duty = p_duty);
  v_tables text[] := (SELECT d.o_tables FROM analysis.duties() d WHERE d.o_duty = p_duty);
  f record;
BEGIN
  IF v_functions IS NULL THEN
    RAISE EXCEPTION 'the duties are worker, submitter and reader, not %', p_duty USING ERRCODE = '22023';
  END IF;
  EXECUTE format('GRANT USAGE ON SCHEMA analysis TO %I', p_role);
  FOR f IN
    SELECT p.oid::regprocedure AS signature FROM pg_proc p
    WHERE p.pronamespace = 'analysis'::regnamespace AND p.proname = ANY (v_functions)
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', f.signature, p_role);
  END LOOP;
  FOR f IN
    SELECT c.oid::regclass AS relation FROM pg_class c
    WHERE c.relnamespace = 'analysis'::regnamespace AND c.relname = ANY (v_tables)
  LOOP
    EXECUTE format('GRANT SELECT ON %s TO %I', f.relation, p_role);
  END LOOP;
  -- By column: an account holds the salt of its keys, a job the hash of its key.
  EXECUTE format('GRANT SELECT (shard, user_id, user_ref) ON analysis.account TO %I', p_role);
  EXECUTE format('GRANT SELECT (shard, period, id, created_at, run_at) ON analysis.job TO %I', p_role);
END $$;

-- What is open to everybody by the server's own default is closed here: USAGE of the schema is not enough.
DO $$
DECLARE
  f record;
BEGIN
  FOR f IN SELECT p.oid::regprocedure AS signature FROM pg_proc p WHERE p.pronamespace = 'analysis'::regnamespace LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f.signature);
  END LOOP;
END $$;
