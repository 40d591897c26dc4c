-- To whom the schema belongs; which of its five roles the cluster lacks; which of them may log in or are superusers; and what
-- in the schema belongs to others, with the owner.
WITH expected AS (
  SELECT e.name, r.oid, r.rolsuper, r.rolcanlogin
    FROM unnest(ARRAY['analysis_owner', 'analysis_submitter', 'analysis_worker', 'analysis_reporter', 'analysis_auditor']) e(name)
    LEFT JOIN pg_roles r ON r.rolname = e.name),
owned AS (
  SELECT 'the schema' AS name, n.nspowner AS owner FROM pg_namespace n WHERE n.nspname = 'analysis'
   UNION ALL
  SELECT c.relname, c.relowner FROM pg_class c
   WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
   UNION ALL
  SELECT p.proname, p.proowner FROM pg_proc p WHERE p.pronamespace = 'analysis'::regnamespace)
SELECT (SELECT pg_get_userbyid(n.nspowner)::text FROM pg_namespace n WHERE n.nspname = 'analysis'),
       ARRAY(SELECT e.name FROM expected e WHERE e.oid IS NULL ORDER BY 1),
       ARRAY(SELECT e.name FROM expected e WHERE e.rolsuper OR e.rolcanlogin ORDER BY 1),
       ARRAY(SELECT DISTINCT format('%s (%s)', o.name, pg_get_userbyid(o.owner)) FROM owned o
              WHERE o.owner IS DISTINCT FROM (SELECT e.oid FROM expected e WHERE e.name = 'analysis_owner') ORDER BY 1)
