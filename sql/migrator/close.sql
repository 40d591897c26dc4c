-- Closes what a step has made to everybody, to whom the server opens new functions by itself, before
-- anybody sees it.
DO $$
DECLARE
  v_change text;
BEGIN
  FOR v_change IN
    SELECT pg_catalog.format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', p.oid::pg_catalog.regprocedure)
    FROM pg_catalog.pg_proc p
    WHERE p.pronamespace = pg_catalog.to_regnamespace('analysis')
      AND pg_catalog.pg_has_role(current_user, p.proowner, 'USAGE')
      AND EXISTS (
        SELECT FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) x
        WHERE x.grantee = 0)
  LOOP
    EXECUTE v_change;
  END LOOP;
END $$;
