-- What a database has of the schema, a line for each thing: whose it is, who may use it, how it is made.
WITH ours AS (SELECT n.oid, n.nspacl, n.nspowner FROM pg_namespace n WHERE n.nspname = 'analysis')
SELECT concat_ws(' ', 'schema', pg_get_userbyid(o.nspowner), a.rights, obj_description(o.oid, 'pg_namespace')) AS line
FROM ours o
CROSS JOIN LATERAL (
  SELECT string_agg(x.grantee::regrole || '=' || x.privilege_type, ',' ORDER BY x.grantee::regrole::text, x.privilege_type)
    AS rights FROM aclexplode(o.nspacl) x) a
UNION ALL
SELECT concat_ws(' ', 'routine', p.oid::regprocedure, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
  pg_get_userbyid(p.proowner), l.lanname, p.prosecdef, p.provolatile, p.proparallel, p.proisstrict, p.proleakproof,
  p.procost, p.prorows, s.settings, a.rights, md5(p.prosrc), obj_description(p.oid, 'pg_proc'))
FROM pg_proc p
JOIN ours o ON o.oid = p.pronamespace
JOIN pg_language l ON l.oid = p.prolang
CROSS JOIN LATERAL (SELECT string_agg(c.item, ',' ORDER BY c.item) AS settings FROM unnest(p.proconfig) c(item)) s
CROSS JOIN LATERAL (
  SELECT string_agg(x.grantee::regrole || '=' || x.privilege_type, ',' ORDER BY x.grantee::regrole::text, x.privilege_type)
    AS rights FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x) a
UNION ALL
SELECT concat_ws(' ', 'relation', c.oid::regclass, c.relkind, pg_get_userbyid(c.relowner), c.relpersistence,
  c.relreplident, c.relrowsecurity, c.relforcerowsecurity, array_to_string(c.reloptions, ','), a.rights,
  CASE WHEN c.relkind = 'v' THEN md5(pg_get_viewdef(c.oid)) END,
  CASE WHEN c.relkind IN ('i', 'I') THEN pg_get_indexdef(c.oid) END,
  CASE WHEN c.relispartition THEN pg_get_expr(c.relpartbound, c.oid) END, obj_description(c.oid, 'pg_class'))
FROM pg_class c
JOIN ours o ON o.oid = c.relnamespace
CROSS JOIN LATERAL (
  SELECT string_agg(x.grantee::regrole || '=' || x.privilege_type, ',' ORDER BY x.grantee::regrole::text, x.privilege_type)
    AS rights FROM aclexplode(c.relacl) x) a
UNION ALL
SELECT concat_ws(' ', 'column', t.attrelid::regclass || '.' || t.attname, format_type(t.atttypid, t.atttypmod),
  t.attnotnull, t.attidentity, t.attgenerated, t.attstorage, t.attcompression, t.attcollation::regcollation,
  pg_get_expr(d.adbin, d.adrelid), a.rights, col_description(t.attrelid, t.attnum))
FROM pg_attribute t
JOIN pg_class c ON c.oid = t.attrelid AND c.relkind IN ('r', 'p', 'v', 'm', 'c')
JOIN ours o ON o.oid = c.relnamespace
LEFT JOIN pg_attrdef d ON d.adrelid = t.attrelid AND d.adnum = t.attnum
CROSS JOIN LATERAL (
  SELECT string_agg(x.grantee::regrole || '=' || x.privilege_type, ',' ORDER BY x.grantee::regrole::text, x.privilege_type)
    AS rights FROM aclexplode(t.attacl) x) a
WHERE t.attnum > 0 AND NOT t.attisdropped
UNION ALL
SELECT concat_ws(' ', 'constraint', n.conrelid::regclass, n.conname, pg_get_constraintdef(n.oid), n.convalidated)
FROM pg_constraint n JOIN ours o ON o.oid = n.connamespace
UNION ALL
SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), t.tgenabled)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN ours o ON o.oid = c.relnamespace
WHERE NOT t.tgisinternal
UNION ALL
SELECT concat_ws(' ', 'policy', p.polrelid::regclass, p.polname, p.polcmd, p.polpermissive, p.polroles::regrole[],
  pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN ours o ON o.oid = c.relnamespace
UNION ALL
SELECT concat_ws(' ', 'sequence', s.seqrelid::regclass, format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement,
  s.seqmax, s.seqmin, s.seqcache, s.seqcycle)
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN ours o ON o.oid = c.relnamespace
UNION ALL
SELECT concat_ws(' ', 'type', t.typname, t.typtype, pg_get_userbyid(t.typowner), t.typacl::text)
FROM pg_type t JOIN ours o ON o.oid = t.typnamespace WHERE t.typtype IN ('d', 'e')
ORDER BY 1
