-- What is to be done with the functions of a step before anybody sees them: they are closed to everybody, to
-- whom the server opens new ones by itself, and those with their owner's rights are given the settings $1,
-- each `name=value`, whatever their caller's session has. Others that have settings are given the first one.
SELECT pg_catalog.format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', p.oid::pg_catalog.regprocedure)
  FROM pg_catalog.pg_proc p
 WHERE p.pronamespace = pg_catalog.to_regnamespace('analysis')
   AND pg_catalog.pg_has_role(current_user, p.proowner, 'USAGE')
   AND EXISTS (
     SELECT FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) x
      WHERE x.grantee = 0)
UNION ALL
SELECT pg_catalog.format('ALTER ROUTINE %s %s', p.oid::pg_catalog.regprocedure,
         pg_catalog.string_agg(
           pg_catalog.format('SET %s = %L', pg_catalog.split_part(c.item, '=', 1),
             pg_catalog.split_part(c.item, '=', 2)), ' '))
  FROM pg_catalog.pg_proc p
 CROSS JOIN LATERAL pg_catalog.unnest($1::text[]) c(item)
 WHERE p.pronamespace = pg_catalog.to_regnamespace('analysis')
   AND (p.prosecdef OR (p.proconfig IS NOT NULL AND c.item = ($1::text[])[1]))
   AND pg_catalog.pg_has_role(current_user, p.proowner, 'USAGE')
   AND NOT coalesce(c.item = ANY (p.proconfig), false)
 GROUP BY p.oid
