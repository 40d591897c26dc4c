-- What settings $1 are set to for the installation's logins and for everybody in this database, and what this
-- session began with where that comes from elsewhere: whose, the name, the value, and what takes it back.
WITH given AS (
  SELECT CASE WHEN r.oid IS NULL THEN 'database ' || d.datname ELSE 'role ' || r.rolname END AS whose,
         split_part(c.item, '=', 1) AS name, substr(c.item, strpos(c.item, '=') + 1) AS value,
         format('ALTER %s RESET %s',
           CASE WHEN r.oid IS NULL THEN format('DATABASE %I', d.datname)
                WHEN d.oid IS NULL THEN format('ROLE %I', r.rolname)
                ELSE format('ROLE %I IN DATABASE %I', r.rolname, d.datname) END,
           split_part(c.item, '=', 1)) AS cure
    FROM pg_db_role_setting s
    LEFT JOIN pg_roles r ON r.oid = s.setrole
    LEFT JOIN pg_database d ON d.oid = s.setdatabase
   CROSS JOIN LATERAL unnest(s.setconfig) c(item)
   WHERE (d.datname = current_database() OR d.oid IS NULL) AND split_part(c.item, '=', 1) = ANY ($1)
     AND (r.oid IS NULL OR NOT r.rolsuper AND EXISTS (
       SELECT FROM pg_proc p
        WHERE p.pronamespace = to_regnamespace('analysis') AND p.prosecdef
          AND has_function_privilege(r.oid, p.oid, 'EXECUTE'))))
SELECT g.whose, g.name, g.value, g.cure FROM given g
UNION ALL
SELECT 'this session', s.name, s.reset_val, NULL
  FROM pg_settings s
 WHERE s.name = ANY ($1) AND NOT EXISTS (SELECT FROM given g WHERE g.name = s.name AND g.value = s.reset_val)
 ORDER BY 1, 2
