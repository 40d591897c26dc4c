-- The audit: who acts, and what has been done.
--
-- The queue's functions record themselves, so that a back-end which calls them by SQL is audited too. What
-- is done for each job (submit, claim, complete) is not recorded here: the job's own rows tell of it.

-- A text that may stand in the audit: bounded, and without what would break or turn round a line.
CREATE OR REPLACE FUNCTION analysis.audit_text(p_text text, p_limit int) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT nullif(
    left(btrim(regexp_replace(p_text, analysis.hidden_characters() || '+', ' ', 'g')), p_limit), '')
$$;

-- A moment as details tell it.
CREATE OR REPLACE FUNCTION analysis.audit_time(p_at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

-- Who calls a function of the owner: as the session says, since in here it is the owner.
CREATE OR REPLACE FUNCTION analysis.caller() RETURNS name
LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('role'), 'none'), session_user)::name
$$;

-- Says for the rest of the transaction who acts and why: the user of the operating system and the machine,
-- as the client gives them. The role and the address are the server's own knowledge. Local to the
-- transaction, so that it works through a pooler.
CREATE OR REPLACE FUNCTION analysis.act_as(p_os_user text, p_host text, p_reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM set_config('analysis.os_user', coalesce(analysis.audit_text(p_os_user, 100), ''), true),
          set_config('analysis.host', coalesce(analysis.audit_text(p_host, 255), ''), true),
          set_config('analysis.reason', coalesce(analysis.audit_text(p_reason, 500), ''), true);
END $$;
COMMENT ON FUNCTION analysis.act_as IS
  'Says who acts and why, for the entries of this transaction.';

-- Records what is being done: an action, the object it is done to ('job:12', 'user:7', 'plan:free') and
-- what else matters of it. It is there if and only if the transaction commits, as a draft that is chained
-- soon after (chain_audit). p_reason stands in where act_as gave none. Users by their internal number: as
-- the object, or as 'users' in the detail.
CREATE OR REPLACE FUNCTION analysis.audit_add(
  p_action text, p_object text, p_detail jsonb DEFAULT NULL, p_reason text DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO analysis.audit_draft (at, role, os_user, host, address, action, object, reason, detail)
  VALUES (clock_timestamp(), session_user,
          analysis.audit_text(current_setting('analysis.os_user', true), 100),
          analysis.audit_text(current_setting('analysis.host', true), 255), host(inet_client_addr()),
          p_action, p_object,
          coalesce(
            analysis.audit_text(current_setting('analysis.reason', true), 500),
            analysis.audit_text(p_reason, 500)),
          p_detail)
$$;

-- Records what was done to jobs of a shard by one call, as one entry.
CREATE OR REPLACE FUNCTION analysis.audit_jobs(
  p_action text, p_shard smallint, p_jobs bigint[], p_users bigint[]) RETURNS void
LANGUAGE sql AS $$
  SELECT analysis.audit_add(
    p_action, CASE cardinality(p_jobs) WHEN 1 THEN 'job:' || p_jobs[1] ELSE 'jobs' END,
    jsonb_build_object('shard', p_shard, 'jobs', to_jsonb(p_jobs),
                       'users', (
                         SELECT jsonb_agg(d.u) FROM (SELECT DISTINCT u FROM unnest(p_users) u ORDER BY u) d)))
$$;

-- What a client says beside: bounded, and no word of whom or what it was about, by which entries are found.
CREATE OR REPLACE FUNCTION analysis.audit_detail(p_detail jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN octet_length(p_detail::text) <= 2000 THEN p_detail - '{users,jobs,reading}'::text[] END
$$;

-- A key of encrypted images, by the number that its file shows.
CREATE OR REPLACE FUNCTION analysis.key_text(p_key bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT lpad(to_hex(p_key), 16, '0')
$$;

-- Records that a key is removed from a key file, of which the server knows the keys' numbers only.
CREATE OR REPLACE FUNCTION analysis.audit_key(p_event text, p_key bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (p_event = 'remove_key') IS NOT TRUE THEN
    RAISE EXCEPTION 'remove_key is what happens to a key, not %', left(p_event, 60)
      USING ERRCODE = '22023';
  END IF;
  PERFORM analysis.require_argument(p_key > 0, 'a key of the images has a number above 0');
  PERFORM analysis.audit_add(p_event, 'key:' || analysis.key_text(p_key));
END $$;
COMMENT ON FUNCTION analysis.audit_key IS
  'Records what was done with a key of the images.';

-- Records that a worker begins to read images, as its role lets it, or has ended in order. Each image that
-- it sends is known by the job's result or attempt, which names the worker.
CREATE OR REPLACE FUNCTION analysis.audit_worker(p_event text, p_worker bytea, p_detail jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (p_event IN ('worker_start', 'worker_stop')) IS NOT TRUE THEN
    RAISE EXCEPTION 'a worker starts or stops; it does not %', left(p_event, 60)
      USING ERRCODE = '22023';
  END IF;
  PERFORM analysis.require_argument(
    octet_length(p_worker) = 32 AND (octet_length(p_detail::text) <= 2000) IS NOT FALSE,
    'a worker names itself by its secret, and tells at most 2000 bytes');
  PERFORM analysis.audit_add(
    p_event, 'worker:' || analysis.worker_number(p_worker), analysis.audit_detail(p_detail));
END $$;
COMMENT ON FUNCTION analysis.audit_worker IS
  'Records that a worker begins or ends to read images.';
