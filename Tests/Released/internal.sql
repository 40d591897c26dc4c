-- The functions that only other functions call, each with its arguments and its answer.
SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ') ' || pg_get_function_result(p.oid) AS line
FROM pg_proc p
WHERE p.pronamespace = 'analysis'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL
  AND p.prorettype <> 'trigger'::regtype
ORDER BY 1
