-- Audit entries are written without the head of the chain, and chained by maintenance in a transaction of its own: so
-- nobody who acts waits for somebody else's transaction.

DROP TRIGGER chain ON analysis.audit_draft;
DROP FUNCTION analysis.audit_chain();
DROP FUNCTION IF EXISTS analysis.audit_verify(bigint, text, int);
DROP FUNCTION IF EXISTS analysis.settle_ownership();
DELETE FROM analysis.schema_function WHERE name = 'ownership';

-- Every entry that is committed, whether it is chained yet or not. In one statement each is seen once.
CREATE VIEW analysis.audit_entry AS
SELECT a.at, a.role, a.action, a.object, a.detail FROM analysis.audit a
UNION ALL
SELECT d.at, d.role, d.action, d.object, d.detail FROM analysis.audit_draft d;

-- Entries are only added. What a purge has put before the chain's beginning may go: the head and the purge's own
-- entry tell of it. A draft may go when it is in the chain.
CREATE OR REPLACE FUNCTION analysis.refuse_audit_change() RETURNS trigger
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

CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON analysis.audit_draft
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_audit_change();
CREATE TRIGGER keep BEFORE DELETE ON analysis.audit_draft
  FOR EACH ROW EXECUTE FUNCTION analysis.refuse_audit_change();

-- No entry of the last year is ever removed.
UPDATE analysis.setting SET value = '1 year'
WHERE name = 'keep_audit' AND value <> '' AND now() - value::interval > now() - interval '1 year';

-- What a superuser may trigger runs as the owner.
CREATE OR REPLACE FUNCTION analysis.refuse_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'closed statements are never changed or removed'
    USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
      HINT = 'What changed since a month was closed is stated as an adjustment when a later month closes.';
END $$;
