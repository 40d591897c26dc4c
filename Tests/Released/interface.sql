-- What others call and read: each function with its arguments and its answer, each view with its columns.
SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ') '
  || coalesce(pg_get_function_result(p.oid), '') AS line
FROM pg_proc p
WHERE p.pronamespace = 'analysis'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NOT NULL
UNION ALL
SELECT 'view ' || v.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
FROM pg_class v
JOIN pg_attribute a ON a.attrelid = v.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE v.relnamespace = 'analysis'::regnamespace AND v.relkind = 'v'
ORDER BY 1
