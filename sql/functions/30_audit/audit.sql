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

-- Whether the login has one of these roles of the installation (named without their prefix), or owns the
-- schema.
CREATE OR REPLACE FUNCTION analysis.login_has(p_roles text[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM pg_roles r
    WHERE r.rolname = ANY (ARRAY(
        SELECT analysis.role_prefix() || '_' || e.name FROM unnest(p_roles || 'owner'::text) e(name)))
      AND pg_has_role(session_user, r.oid, 'MEMBER'));
END $$;

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

-- Refuses a login's 601st entry of a minute of the server's clock, so that nobody fills the audit, or hides
-- in it. A sequence counts, which nobody waits for and no rollback turns back: it holds the minute and, in
-- its lowest 24 bits, how many. A gateway, which reads for many persons who each ask for their own, may make
-- 6000. The owner and superusers are not counted: nothing here could bind them.
CREATE OR REPLACE FUNCTION analysis.count_entry() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_minute bigint := floor(extract(epoch FROM clock_timestamp()) / 60);
  v_login oid := to_regrole(quote_ident(session_user))::oid;
  v_sequence regclass := coalesce(to_regclass('analysis.audit_count_' || v_login), 'analysis.audit_count');
  v_count bigint;
  v_most int := 600;
BEGIN
  IF pg_has_role(session_user, current_user, 'MEMBER') THEN
    RETURN;
  END IF;
  v_count := nextval(v_sequence);
  -- Also where the clock was put back.
  IF v_count >> 24 <> v_minute THEN
    v_count := setval(v_sequence, (v_minute << 24) + 1);
  END IF;
  IF v_count > (v_minute << 24) + v_most AND analysis.login_has('{gateway}') THEN
    v_most := 6000;
  END IF;
  IF v_count > (v_minute << 24) + v_most THEN
    RAISE EXCEPTION 'login % has made % entries of the audit in this minute; more are refused', session_user,
      v_most
      USING ERRCODE = 'configuration_limit_exceeded',
        HINT = 'Do it again in the next minute. A call for many jobs or results makes one entry.';
  END IF;
END $$;

-- Gives each login of the installation a sequence of its own to count its entries, so that none uses up what
-- others may make. Called where the audit is chained, by one at a time; it waits for nobody.
CREATE OR REPLACE FUNCTION analysis.count_logins() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_prefix text := analysis.role_prefix() || '_';
  v_name text;
BEGIN
  FOR v_name IN
    WITH RECURSIVE member AS (
      SELECT r.oid FROM pg_roles r
      WHERE starts_with(r.rolname, v_prefix) AND NOT r.rolcanlogin
      UNION
      SELECT m.member FROM pg_auth_members m JOIN member p ON p.oid = m.roleid)
    SELECT 'audit_count_' || r.oid FROM member JOIN pg_roles r USING (oid)
    WHERE r.rolcanlogin AND to_regclass('analysis.audit_count_' || r.oid) IS NULL
  LOOP
    EXECUTE format('CREATE SEQUENCE analysis.%I', v_name);
  END LOOP;
END $$;

-- Drops the sequences of logins that are gone. A transaction of such a login may still be open, which is
-- waited for: so this belongs to migrate, and not to where the audit is chained.
CREATE OR REPLACE FUNCTION analysis.forget_logins() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_name text;
BEGIN
  FOR v_name IN
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind = 'S' AND c.relname ~ '^audit_count_[0-9]+$'
      AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid::text = substring(c.relname, 13))
  LOOP
    EXECUTE format('DROP SEQUENCE analysis.%I', v_name);
  END LOOP;
END $$;

-- Records what is being done: an action, the object it is done to ('job:12', 'user:7', 'plan:free') and
-- what else matters of it. It is there if and only if the transaction commits, as a draft that is chained
-- soon after (chain_audit). p_reason stands in where act_as gave none. Users by their internal number: as
-- the object, or as 'users' in the detail. Not counted, so for what leaves a row of its own in any case.
CREATE OR REPLACE FUNCTION analysis.audit_write(
  p_action text, p_object text, p_detail jsonb DEFAULT NULL, p_reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO analysis.audit_draft (at, role, os_user, host, address, action, object, reason, detail)
  VALUES (clock_timestamp(), session_user,
          analysis.audit_text(current_setting('analysis.os_user', true), 100),
          analysis.audit_text(current_setting('analysis.host', true), 255), host(inet_client_addr()),
          p_action, p_object,
          coalesce(
            analysis.audit_text(current_setting('analysis.reason', true), 500),
            analysis.audit_text(p_reason, 500)),
          p_detail);
END $$;

-- The same, of which a login may do 600 in a minute.
CREATE OR REPLACE FUNCTION analysis.audit_add(
  p_action text, p_object text, p_detail jsonb DEFAULT NULL, p_reason text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.count_entry();
  PERFORM analysis.audit_write(p_action, p_object, p_detail, p_reason);
END $$;

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

-- What a client says beside: a bounded object, and no word of whom or what it was about, by which entries
-- are found. Anything else is left out.
CREATE OR REPLACE FUNCTION analysis.audit_detail(p_detail jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN jsonb_typeof(p_detail) = 'object' AND octet_length(p_detail::text) <= 2000
    THEN p_detail - '{users,jobs,reading}'::text[] END
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
