-- What an app called the carer of a share: it is shown that, whoever is there by the name. A carer or login
-- that is not there has the number 0.
ALTER TABLE analysis.share ADD COLUMN carer_named text;

-- What was found in so few persons that it could be known of one goes from closed months when somebody of the
-- clinic is erased; every number that is billed by stays.
CREATE FUNCTION analysis.refuse_condition_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (
    SELECT FROM analysis.statement_segment s
    JOIN analysis.statement_line l ON l.report = s.report AND l.period = s.period AND l.line = s.line
    JOIN analysis.account a ON a.shard = l.shard AND a.user_id = l.user_id
    WHERE s.report = OLD.report AND s.period = OLD.period AND s.clinic_id = OLD.clinic_id
      AND a.erased_at IS NOT NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'closed statements are never changed or removed'
    USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
      HINT = 'What changed since a month was closed is stated as an adjustment when a later month closes.';
END $$;
REVOKE ALL ON FUNCTION analysis.refuse_condition_change() FROM public;

DROP TRIGGER append_only ON analysis.statement_condition;
CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON analysis.statement_condition
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
CREATE TRIGGER keep BEFORE DELETE ON analysis.statement_condition
  FOR EACH ROW EXECUTE FUNCTION analysis.refuse_condition_change();
