-- Who did what to which object, when, from where and why.
--
-- The entries are one chain: each holds the hash of the one before it and a hash of itself and that. So none
-- can be changed, removed or put in between without every later one changing too. Users are named by their
-- internal number only: where a person has been erased, nothing here leads to them.

CREATE TABLE analysis.audit (
  id       bigint PRIMARY KEY,             -- 1, 2, 3 … without gaps
  at       timestamptz NOT NULL,
  role     text NOT NULL,                  -- the database role that connected, as the server knows it
  os_user  text CHECK (length(os_user) <= 100),          -- these two as the client gives them, or NULL
  host     text CHECK (length(host) <= 255),
  address  text,                           -- the client's, as the server sees it; NULL for a local socket
  action   text NOT NULL CHECK (action ~ '^[a-z_]{1,60}$'),
  object   text NOT NULL CHECK (length(object) BETWEEN 1 AND 300),
  reason   text CHECK (length(reason) BETWEEN 1 AND 500),
  detail   jsonb CHECK (jsonb_typeof(detail) = 'object'),
  previous bytea NOT NULL CHECK (octet_length(previous) = 32),
  hash     bytea NOT NULL CHECK (octet_length(hash) = 32));
CREATE INDEX audit_at ON analysis.audit (at);

-- Where the chain ends, and where it begins since the oldest entries were purged. One row. The ends that are
-- kept outside of the database name the installation, whose number is drawn once and goes with a dump.
CREATE TABLE analysis.audit_head (
  one            boolean PRIMARY KEY DEFAULT true CHECK (one),
  installation   uuid NOT NULL DEFAULT gen_random_uuid(),
  id             bigint NOT NULL,          -- of the last entry; 0 before the first
  hash           bytea NOT NULL CHECK (octet_length(hash) = 32),
  first_id       bigint NOT NULL,          -- of the oldest entry that is kept
  first_previous bytea NOT NULL CHECK (octet_length(first_previous) = 32))
  WITH (fillfactor = 50);
INSERT INTO analysis.audit_head (id, hash, first_id, first_previous)
VALUES (0, decode(repeat('00', 32), 'hex'), 1, decode(repeat('00', 32), 'hex'));

-- Entries that are not in the chain yet. They are written without a lock on the head of the chain, and
-- maintenance chains them in a transaction of its own: so nobody who acts waits for another transaction.
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

-- Counts the entries of logins that have no sequence of their own yet (count_logins).
CREATE SEQUENCE analysis.audit_count;

-- Every entry that is committed, whether it is chained yet or not. In one statement each is seen once.
CREATE VIEW analysis.audit_entry AS
SELECT a.at, a.role, a.action, a.object, a.detail FROM analysis.audit a
UNION ALL
SELECT d.at, d.role, d.action, d.object, d.detail FROM analysis.audit_draft d;

-- An entry's hash. What goes into it can never change, or what is stored could not be verified any more; so
-- it is here and not among the functions that later versions replace. It is the SHA-256 of the hash before it
-- and of a JSON array as PostgreSQL writes jsonb, with the time in microseconds since 1970.
CREATE FUNCTION analysis.audit_hash(p analysis.audit) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(p.previous || convert_to(
    jsonb_build_array(
      p.id, (extract(epoch FROM p.at) * 1000000)::bigint, p.role, p.os_user, p.host, p.address, p.action,
      p.object, p.reason, p.detail)::text, 'UTF8'))
$$;

-- Entries are only added. What a purge has put before the chain's beginning may go: the head and the purge's
-- own entry record it. A draft may go when it is in the chain.
CREATE FUNCTION analysis.refuse_audit_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_LEVEL = 'ROW' AND TG_TABLE_NAME = 'audit' THEN
    IF OLD.id < (SELECT h.first_id FROM analysis.audit_head h) THEN
      RETURN OLD;
    END IF;
  ELSIF TG_OP = 'DELETE' AND TG_LEVEL = 'ROW' AND TG_TABLE_NAME = 'audit_draft' THEN
    IF EXISTS (
      SELECT FROM analysis.audit a
      WHERE a.at = OLD.at AND a.role = OLD.role AND a.action = OLD.action AND a.object = OLD.object) THEN
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
CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON analysis.audit_draft
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_audit_change();
CREATE TRIGGER keep BEFORE DELETE ON analysis.audit_draft
  FOR EACH ROW EXECUTE FUNCTION analysis.refuse_audit_change();
CREATE TRIGGER keep BEFORE DELETE OR TRUNCATE ON analysis.audit_head
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_audit_change();
