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
