-- earlier text: 19920546dd363d523adda7ac0ad0f69572b99609f12b115925d28cf06a32cda9 (which made the roles too; the migrator does now)
-- What makes the rest of the system fit to hold images of persons: encrypted images, roles and clinics, the audit, how long
-- things are kept, and erasure. One migration, since it is one release: a program works with the schema before and after
-- its own.

-- Encrypted images
-- ----------------

-- Images that were encrypted before they came here.
--
-- `bytes` then begins with 24 bytes of nonce and ends with 16 of authentication, and `byte_count` counts them too: it
-- is what a worker will hold. `sha256` stays that of the image as it was, by which a user's images are told apart. The
-- server has no key and never had one: `sealed_key` is the image's own key, encrypted under the key of a client's
-- key file that `sealed_by` names (24 bytes of nonce, 48 of the key). To change that key is to write these two anew;
-- the bytes stay where they are.
ALTER TABLE analysis.image
  ADD COLUMN sealed_by  bigint,          -- NULL: in the clear
  ADD COLUMN sealed_key bytea,
  ADD CONSTRAINT image_sealed_whole CHECK (
    CASE WHEN sealed_by IS NULL THEN sealed_key IS NULL
         ELSE sealed_by > 0 AND octet_length(sealed_key) = 72 AND octet_length(bytes) > 40 END IS TRUE) NOT VALID;

-- What a worker reads: of a user no more than the hash of the reference, to which an encrypted image is bound.
CREATE VIEW analysis.image_to_send AS
SELECT k.shard, k.period, k.id, k.bytes, k.sha256, k.sealed_by, k.sealed_key, a.user_sha256
FROM analysis.image k
LEFT JOIN LATERAL (
  SELECT sha256(convert_to(c.user_ref, 'UTF8')) AS user_sha256 FROM analysis.account c
  WHERE k.sealed_by IS NOT NULL AND c.shard = k.shard AND c.user_id = k.user_id OFFSET 0) a ON true;

-- Roles and clinics
-- -----------------

-- Who may do what: the roles, what was granted to others, and which clinics a role sees.

-- Which duties roles were given beside the five: each migration gives them what is new in a duty.
CREATE TABLE analysis.duty_granted (
  role name NOT NULL,
  duty text NOT NULL CHECK (duty ~ '^[a-z]{1,60}$'),
  -- False for one that was given before and came with more than there is to it now.
  is_narrowed boolean NOT NULL DEFAULT true,
  PRIMARY KEY (role, duty));

-- Those of before were not written down. A role had a duty when it might do what nobody without the duty might.
INSERT INTO analysis.duty_granted (role, duty, is_narrowed)
SELECT r.rolname, CASE p.proname WHEN 'claim' THEN 'worker' ELSE 'submitter' END, false
FROM pg_proc p
CROSS JOIN LATERAL aclexplode(p.proacl) x
JOIN pg_roles r ON r.oid = x.grantee
WHERE p.pronamespace = 'analysis'::regnamespace AND p.proname IN ('claim', 'submit') AND x.grantee <> p.proowner
UNION
SELECT r.rolname, 'reader', false
FROM pg_class c
CROSS JOIN LATERAL aclexplode(c.relacl) x
JOIN pg_roles r ON r.oid = x.grantee
WHERE c.oid = 'analysis.batch'::regclass AND x.privilege_type = 'SELECT' AND x.grantee <> c.relowner
  AND NOT EXISTS (
    SELECT FROM pg_proc p
    CROSS JOIN LATERAL aclexplode(p.proacl) y
    WHERE p.pronamespace = 'analysis'::regnamespace AND p.proname = 'claim' AND y.grantee = r.oid);

-- Whose patient a user is. A few rows; they belong to no shard.
CREATE TABLE analysis.clinic (
  id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'),
  created_at timestamptz NOT NULL DEFAULT now());

ALTER TABLE analysis.account ADD COLUMN clinic_id int REFERENCES analysis.clinic (id);   -- NULL: of none

-- The roles that see the users of some clinics only, of none if the list is empty. A role that is not here, and is in
-- no role that is, sees all. The number is kept beside the name, so that to rename a role lifts no restriction.
CREATE TABLE analysis.clinic_viewer (
  role       name PRIMARY KEY,
  role_id    oid NOT NULL,
  clinic_ids int[] NOT NULL);

-- The clinics to whose users a role is restricted; NULL: it is not.
CREATE FUNCTION analysis.clinics_of(p_role name) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN count(*) > 0 THEN coalesce(array_agg(DISTINCT c.id) FILTER (WHERE c.id IS NOT NULL), '{}') END
  FROM pg_roles p
  CROSS JOIN analysis.clinic_viewer v
  JOIN pg_roles g ON g.rolname = v.role OR g.oid = v.role_id
  LEFT JOIN LATERAL unnest(v.clinic_ids) c(id) ON true
  WHERE p.rolname = p_role AND NOT p.rolsuper AND NOT p.rolbypassrls AND pg_has_role(p.oid, g.oid, 'MEMBER')
    AND NOT pg_has_role(p.oid, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'analysis'), 'USAGE')
$$;

-- The clinics that a session sees which acts as a role; NULL: all. Who has logged in counts too: a restricted role that
-- takes on another of its roles sees no more by it.
CREATE FUNCTION analysis.clinics_seen(p_role name) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN o.seen IS NULL THEN s.seen WHEN s.seen IS NULL THEN o.seen
              ELSE ARRAY(SELECT unnest(o.seen) INTERSECT SELECT unnest(s.seen)) END
  FROM (SELECT analysis.clinics_of(p_role) AS seen) o
  CROSS JOIN (SELECT analysis.clinics_of(session_user) AS seen) s
$$;

-- The users of these clinics; no row for a role that is not restricted.
CREATE FUNCTION analysis.users_seen(p_role name) RETURNS TABLE (o_shard smallint, o_user bigint)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY ((SELECT analysis.clinics_seen(p_role))::int[])
$$;

-- What the rules below ask, those who have duties already may ask at once.
DO $$
DECLARE
  v_role name;
BEGIN
  FOR v_role IN SELECT DISTINCT g.role FROM analysis.duty_granted g LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION analysis.clinics_seen(name), analysis.users_seen(name) TO %I', v_role);
  END LOOP;
END $$;

-- What a role sees row by row. Each test is a sub-select that hangs on no row: it is asked once a statement, and of the
-- users nothing is read unless the role is restricted. The owner's functions, and with them the queue, are not concerned.
ALTER TABLE analysis.account ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.account FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user))));

DO $$
DECLARE
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY[
    'account_plan', 'profile', 'usage', 'refund', 'result', 'dead', 'attempt_error', 'statement_line'] LOOP
    EXECUTE format('ALTER TABLE analysis.%I ENABLE ROW LEVEL SECURITY', v_table);
    EXECUTE format(
      'CREATE POLICY clinic ON analysis.%I FOR SELECT USING ('
      '(SELECT analysis.clinics_seen(current_user)) IS NULL'
      ' OR (shard, user_id) IN (SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u))', v_table);
  END LOOP;
END $$;

-- Photos
-- ------

-- Where a person's photo is. All of the address may be a secret, so it stays with what tells who somebody is.
ALTER TABLE analysis.profile
  ADD COLUMN photo_url text CHECK (length(photo_url) <= 2000);

-- The audit
-- ---------

-- Who did what to which object, when, from where and why.
--
-- The entries are one chain: each holds the hash of the one before it and a hash of itself and that, so that none
-- can be changed, removed or put in between without every later one changing too. Users are named by their internal
-- number only: where a person has been erased, nothing here leads to them.

CREATE TABLE analysis.audit (
  id       bigint PRIMARY KEY,             -- 1, 2, 3 … without gaps
  at       timestamptz NOT NULL,
  role     text NOT NULL,                  -- the database role that connected, as the server knows it
  os_user  text CHECK (length(os_user) <= 100),          -- these two as the client says them; NULL where it says nothing
  host     text CHECK (length(host) <= 255),
  address  text,                           -- the client's, as the server sees it; NULL for a local socket
  action   text NOT NULL CHECK (action ~ '^[a-z_]{1,60}$'),
  object   text NOT NULL CHECK (length(object) BETWEEN 1 AND 300),
  reason   text CHECK (length(reason) BETWEEN 1 AND 500),
  detail   jsonb CHECK (jsonb_typeof(detail) = 'object'),
  previous bytea NOT NULL CHECK (octet_length(previous) = 32),
  hash     bytea NOT NULL CHECK (octet_length(hash) = 32));
CREATE INDEX audit_at ON analysis.audit (at);

-- Where the chain ends, and where it begins since the oldest entries were purged. One row.
CREATE TABLE analysis.audit_head (
  one            boolean PRIMARY KEY DEFAULT true CHECK (one),
  id             bigint NOT NULL,          -- of the last entry; 0 before the first
  hash           bytea NOT NULL CHECK (octet_length(hash) = 32),
  first_id       bigint NOT NULL,          -- of the oldest entry that is kept
  first_previous bytea NOT NULL CHECK (octet_length(first_previous) = 32))
  WITH (fillfactor = 50);
INSERT INTO analysis.audit_head (id, hash, first_id, first_previous)
VALUES (0, decode(repeat('00', 32), 'hex'), 1, decode(repeat('00', 32), 'hex'));

-- What a transaction has done so far; put into the chain when it commits, and gone with that.
CREATE TABLE analysis.audit_draft (
  number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL,
  role    text NOT NULL,
  os_user text,
  host    text,
  address text,
  action  text NOT NULL,
  object  text NOT NULL,
  reason  text,
  detail  jsonb)
  WITH (autovacuum_vacuum_threshold = 1000);

-- An entry's hash. What goes into it can never change, or what is stored could not be verified any more; so it
-- stands here and not among the functions that later versions replace. It is the SHA-256 of the hash before it and
-- of a JSON array as PostgreSQL writes jsonb, with the time in microseconds since 1970.
CREATE FUNCTION analysis.audit_hash(p analysis.audit) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(p.previous || convert_to(
    jsonb_build_array(p.id, (extract(epoch FROM p.at) * 1000000)::bigint, p.role, p.os_user, p.host, p.address, p.action,
                      p.object, p.reason, p.detail)::text, 'UTF8'))
$$;

-- Puts a draft into the chain. It is called when everything else in the transaction is done, at its commit: the head is
-- locked from here until the commit is on disk and no longer, however long a back-end's own transaction was open
-- before. What that costs: one audited action at a time commits, in the whole installation. That is as many in a
-- second as the disk can sync, and nothing that is done for each job is among them.
CREATE FUNCTION analysis.audit_chain() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_head analysis.audit_head;
  v_entry analysis.audit;
BEGIN
  SELECT h.* INTO v_head FROM analysis.audit_head h FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the audit has lost its head: nothing that it records can be done'
      USING ERRCODE = 'data_corrupted', HINT = 'See what analysisctl audit verify says, and restore analysis.audit_head.';
  END IF;
  v_entry.id := v_head.id + 1;
  v_entry.at := NEW.at;
  v_entry.role := NEW.role;
  v_entry.os_user := NEW.os_user;
  v_entry.host := NEW.host;
  v_entry.address := NEW.address;
  v_entry.action := NEW.action;
  v_entry.object := NEW.object;
  v_entry.reason := NEW.reason;
  v_entry.detail := NEW.detail;
  v_entry.previous := v_head.hash;
  v_entry.hash := analysis.audit_hash(v_entry);
  INSERT INTO analysis.audit SELECT v_entry.*;
  UPDATE analysis.audit_head SET id = v_entry.id, hash = v_entry.hash;
  DELETE FROM analysis.audit_draft d WHERE d.number = NEW.number;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER chain AFTER INSERT ON analysis.audit_draft
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION analysis.audit_chain();

-- Entries are only added. What a purge has put before the chain's beginning may go: the head and the purge's own
-- entry tell of it.
CREATE FUNCTION analysis.refuse_audit_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_LEVEL = 'ROW' AND TG_TABLE_NAME = 'audit' THEN
    IF OLD.id < (SELECT h.first_id FROM analysis.audit_head h) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'entries of the audit are never changed or removed'
    USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
      HINT = 'Those that are older than the setting keep_audit go with analysisctl purge.';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON analysis.audit
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_audit_change();
CREATE TRIGGER keep BEFORE DELETE ON analysis.audit
  FOR EACH ROW EXECUTE FUNCTION analysis.refuse_audit_change();
CREATE TRIGGER keep BEFORE DELETE OR TRUNCATE ON analysis.audit_head
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_audit_change();

-- How long things are kept
-- ------------------------

-- How long things are kept, and what tells of those that are gone.

-- What is allowed for them is said by analysis.check_setting, which is a function like others from here on and comes after
-- the migrations.
ALTER TABLE analysis.setting DISABLE TRIGGER check_setting;
INSERT INTO analysis.setting (name, value) VALUES
  ('keep_images', '30 days'),           -- after the last job that shows the image has ended
  ('keep_results', '24 months'),        -- results and cancellations, with their jobs and attempts
  ('keep_dead', '24 months'),           -- jobs that failed for good, with their attempts
  ('keep_audit', '6 years'),
  ('keep_usage', '');                   -- the counters of months; closed statements stay in any case
ALTER TABLE analysis.setting ENABLE TRIGGER check_setting;

-- Jobs that show an image of another month: few, and looked for when that is to be removed. Those of its own month are
-- found by an index that a month gets when its images come of age (analysis.index_images): kept for every job from its
-- submit on, it took a sixteenth of what a bulk submit costs.
-- The months that are there already do without: reading them all would hold up whoever submits, and when they are over
-- they get the other one, which does for both.
CREATE INDEX job_borrowed ON ONLY analysis.job (shard, image_id) WHERE image_period <> period;

-- Months of which results or jobs have been removed: nothing can be recounted from what is left of them. Their usage
-- was stated before.
CREATE TABLE analysis.purged_month (
  period     smallint PRIMARY KEY CHECK (period BETWEEN 24000 AND 32399),
  since      timestamptz NOT NULL,      -- when the first of them went
  dropped_at timestamptz);              -- when the month went as a whole; NULL while something of it lives

-- Erasure
-- -------

-- Persons who were erased: what is left of them are counts under a number.

ALTER TABLE analysis.account ADD COLUMN erased_at timestamptz;          -- NULL: not

-- What tells who somebody is is not to be copied into the planner's statistics, where no erasure finds it. All of it is
-- looked for by unique keys alone, for which the planner needs none.
ALTER TABLE analysis.account ALTER COLUMN user_ref SET STATISTICS 0;
ALTER TABLE analysis.profile ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN email SET STATISTICS 0,
  ALTER COLUMN photo_url SET STATISTICS 0;
ALTER TABLE analysis.statement_line ALTER COLUMN user_ref SET STATISTICS 0;
ALTER TABLE analysis.job ALTER COLUMN source_name SET STATISTICS 0;

-- Months that come get it from ensure_partitions. What has been copied already only a superuser can take out.
DO $$
DECLARE
  v_table name;
BEGIN
  FOR v_table IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'analysis.job'::regclass LOOP
    EXECUTE format('ALTER TABLE analysis.%I ALTER COLUMN source_name SET STATISTICS 0', v_table);
  END LOOP;
  DELETE FROM pg_statistic s
  USING pg_attribute a, pg_class c
  WHERE c.relnamespace = 'analysis'::regnamespace AND a.attrelid = c.oid AND a.attname IN ('user_ref', 'name', 'email', 'source_name')
    AND (c.relname IN ('account', 'profile', 'statement_line') OR c.relname ~ '^job(_p[0-9]+)?$')
    AND s.starelid = a.attrelid AND s.staattnum = a.attnum;
EXCEPTION WHEN insufficient_privilege THEN
  NULL;                                -- they stay until a superuser does it: README says so
END $$;

-- A result of theirs stays as a row that tells nothing: it has no number of conditions. All rows that are there fit what is
-- wider than before, so none is read.
ALTER TABLE analysis.result
  DROP CONSTRAINT result_analysis_whole,
  ADD CONSTRAINT result_analysis_whole CHECK (
    CASE outcome
      WHEN 1 THEN CASE WHEN condition_count IS NULL THEN analysis_id = 'erased' AND conditions = '[]' AND primary_id IS NULL
                       ELSE analysis_id IS NOT NULL AND condition_count = jsonb_array_length(conditions) END
                  AND attempt BETWEEN 1 AND 255 AND calls > 0
      WHEN 2 THEN num_nonnulls(analysis_id, conditions, condition_count, primary_id, secondary_id) = 0
      ELSE false END IS TRUE) NOT VALID;

-- A closed statement is never changed, but for the name of somebody who was erased: every number stays.
CREATE FUNCTION analysis.refuse_line_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_renamed analysis.statement_line := OLD;
BEGIN
  v_renamed.user_ref := NEW.user_ref;
  IF v_renamed IS NOT DISTINCT FROM NEW AND EXISTS (
    SELECT 1 FROM analysis.account a
    WHERE a.shard = OLD.shard AND a.user_id = OLD.user_id AND a.erased_at IS NOT NULL AND a.user_ref = NEW.user_ref) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'closed statements are never changed or removed'
    USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
      HINT = 'What changed since a month was closed is stated as an adjustment when a later month closes.';
END $$;

DROP TRIGGER append_only ON analysis.statement_line;
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON analysis.statement_line
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
CREATE TRIGGER keep BEFORE UPDATE ON analysis.statement_line
  FOR EACH ROW EXECUTE FUNCTION analysis.refuse_line_change();
