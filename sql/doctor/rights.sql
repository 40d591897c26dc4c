-- Which role has which duty, and what of it was not granted. A role has a duty when it may do what nobody without the duty
-- may: claim, submit, or look at the leases without claiming. The owner and superusers may everything and are left out.
WITH named AS (
  SELECT d.o_duty AS duty, p.oid AS function, NULL::oid AS relation, p.proname::text AS name
    FROM analysis.duties() d JOIN pg_proc p ON p.pronamespace = 'analysis'::regnamespace AND p.proname = ANY (d.o_functions)
  UNION ALL
  SELECT d.o_duty, NULL, c.oid, c.relname::text
    FROM analysis.duties() d JOIN pg_class c ON c.relnamespace = 'analysis'::regnamespace AND c.relname = ANY (d.o_tables)),
roles AS (
  SELECT r.oid, r.rolname, n.nspowner FROM pg_roles r JOIN pg_namespace n ON n.nspname = 'analysis'
   WHERE NOT r.rolsuper AND r.rolname !~ '^pg_' AND has_schema_privilege(r.oid, n.oid, 'USAGE')
     AND NOT pg_has_role(r.oid, n.nspowner, 'USAGE')),
had AS (
  SELECT r.rolname::text AS role, n.duty, n.name,
         CASE WHEN n.function IS NOT NULL THEN has_function_privilege(r.oid, n.function, 'EXECUTE')
              ELSE has_table_privilege(r.oid, n.relation, 'SELECT') END AS granted
    FROM roles r CROSS JOIN named n),
marked AS (
  SELECT h.role, bool_or(h.granted AND h.name = 'claim') AS works, bool_or(h.granted AND h.name = 'submit') AS submits,
         bool_or(h.granted AND h.name = 'batch') AS looks
    FROM had h GROUP BY h.role)
SELECT h.role, h.duty, coalesce(array_agg(DISTINCT h.name ORDER BY h.name) FILTER (WHERE NOT h.granted), '{}')
  FROM had h JOIN marked m ON m.role = h.role
 WHERE CASE h.duty WHEN 'worker' THEN m.works WHEN 'submitter' THEN m.submits ELSE m.looks AND NOT m.works END
 GROUP BY h.role, h.duty ORDER BY h.role, h.duty
