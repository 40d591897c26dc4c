-- Gives what a step has made to the schema's owner, as soon as there is the function for it; and closes it to everybody,
-- to whom the server opens new functions by itself, before anybody sees it.
DO $$
DECLARE
  v_change text;
BEGIN
  IF to_regprocedure('analysis.settle_ownership()') IS NOT NULL THEN
    PERFORM analysis.settle_ownership();
  END IF;
  FOR v_change IN
    SELECT format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', p.oid::regprocedure) FROM pg_proc p
    WHERE p.pronamespace = to_regnamespace('analysis') AND pg_has_role(current_user, p.proowner, 'USAGE')
      AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x WHERE x.grantee = 0)
  LOOP
    EXECUTE v_change;
  END LOOP;
END $$
