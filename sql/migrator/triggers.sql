-- The triggers of the schema's tables; rules and rules of rows on the tables of the audit, and what stands
-- in the place of one of them, under names that no trigger of ours has.
SELECT c.relname::text AS relation, t.tgname::text AS name, t.tgenabled IN ('O', 'A') AS is_enabled,
       pg_catalog.pg_get_triggerdef(t.oid) AS definition
  FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
 WHERE c.relnamespace = pg_catalog.to_regnamespace('analysis') AND NOT t.tgisinternal AND t.tgparentid = 0
 UNION ALL
SELECT c.relname::text, r.rulename::text, true, pg_catalog.pg_get_ruledef(r.oid)
  FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
 WHERE c.relnamespace = pg_catalog.to_regnamespace('analysis')
   AND (r.rulename <> '_RETURN' OR c.relname IN ('audit', 'audit_head', 'audit_draft'))
 UNION ALL
SELECT c.relname::text, 'row level security', true, ''
  FROM pg_catalog.pg_class c
 WHERE c.relnamespace = pg_catalog.to_regnamespace('analysis') AND c.relrowsecurity
   AND c.relname IN ('audit', 'audit_head', 'audit_draft')
