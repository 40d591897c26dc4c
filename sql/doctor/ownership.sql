-- To whom the schema belongs; which of its roles the server lacks; which of them may log in or are
-- superusers; and what in the schema belongs to others, with the owner.
WITH expected AS (
  SELECT analysis.role_prefix() || '_' || e.name AS name, e.name = 'owner' AS is_owner FROM (
    SELECT 'owner' AS name UNION ALL SELECT d.o_role FROM analysis.role_rights() d) e),
found AS (
  SELECT e.name, e.is_owner, r.oid, r.rolsuper, r.rolcanlogin
    FROM expected e
    LEFT JOIN pg_roles r ON r.rolname = e.name),
owned AS (
  SELECT 'the schema' AS name, n.nspowner AS owner FROM pg_namespace n WHERE n.nspname = 'analysis'
   UNION ALL
  SELECT c.relname, c.relowner FROM pg_class c
   WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
   UNION ALL
  SELECT p.proname, p.proowner FROM pg_proc p WHERE p.pronamespace = 'analysis'::regnamespace)
SELECT (SELECT f.name FROM found f WHERE f.is_owner),
       ARRAY(SELECT f.name FROM found f WHERE f.oid IS NULL ORDER BY 1),
       ARRAY(SELECT f.name FROM found f WHERE f.rolsuper OR f.rolcanlogin ORDER BY 1),
       ARRAY(SELECT DISTINCT format('%s (%s)', o.name, pg_get_userbyid(o.owner)) FROM owned o
              WHERE o.owner IS DISTINCT FROM (SELECT f.oid FROM found f WHERE f.is_owner) ORDER BY 1)
