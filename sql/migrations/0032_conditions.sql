-- From closed months goes what an erasure takes, and nothing else: what was found in fewer persons than
-- report_threshold, of a clinic of which somebody of that month was erased. All that one statement removes is
-- looked at once, and as that statement saw it.
DROP TRIGGER keep ON analysis.statement_condition;
CREATE OR REPLACE FUNCTION analysis.refuse_condition_change() RETURNS trigger
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (
    WITH touched AS MATERIALIZED (SELECT DISTINCT g.report, g.period, g.clinic_id FROM gone g),
    counted AS MATERIALIZED (
      SELECT t.report, t.period, t.clinic_id, f.o_id, f.o_normal
      FROM touched t CROSS JOIN LATERAL analysis.persons_found(t.report, t.period, t.clinic_id) f
      WHERE f.o_persons >= coalesce(
        (SELECT s.value::int FROM analysis.setting s WHERE s.name = 'report_threshold'), 5)),
    erased AS MATERIALIZED (
      SELECT t.report, t.period, t.clinic_id FROM touched t
      WHERE EXISTS (
        SELECT FROM analysis.statement_segment s
        JOIN analysis.statement_line l ON l.report = s.report AND l.period = s.period AND l.line = s.line
        JOIN analysis.account a ON a.shard = l.shard AND a.user_id = l.user_id
        WHERE s.report = t.report AND s.period = t.period AND s.clinic_id = t.clinic_id
          AND a.erased_at IS NOT NULL))
    SELECT FROM gone g
    WHERE (g.report, g.period, g.clinic_id) NOT IN (SELECT e.report, e.period, e.clinic_id FROM erased e)
      OR (g.report, g.period, g.clinic_id, g.id, g.normal) IN (
        SELECT c.report, c.period, c.clinic_id, c.o_id, c.o_normal FROM counted c)) THEN
    RAISE EXCEPTION 'closed statements are never changed or removed'
      USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
        HINT = 'What changed since a month was closed is stated as an adjustment when a later month closes.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER keep AFTER DELETE ON analysis.statement_condition
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_condition_change();
