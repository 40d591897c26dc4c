-- What ends statements or sessions by itself, in milliseconds: as it holds for this session, and as it is
-- set for the roles that work as workers.
SELECT 'this session', s.name, s.setting::bigint FROM pg_settings s
 WHERE s.name IN (
   'statement_timeout', 'lock_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout',
   'transaction_timeout')
   AND s.setting::bigint > 0
UNION ALL
SELECT 'role ' || r.rolname, split_part(c.item, '=', 1), m.milliseconds
  FROM pg_db_role_setting s
  JOIN pg_roles r ON r.oid = s.setrole
  CROSS JOIN LATERAL unnest(s.setconfig) c(item)
  CROSS JOIN LATERAL (
    SELECT (extract(
        epoch FROM CASE WHEN split_part(c.item, '=', 2) ~ '^[0-9]+$' THEN split_part(c.item, '=', 2) || ' ms'
                        ELSE split_part(c.item, '=', 2) END::interval) * 1000)::bigint AS milliseconds) m
 WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
   AND r.rolname <> current_user
   AND split_part(c.item, '=', 1) IN ('statement_timeout', 'lock_timeout', 'idle_session_timeout',
     'idle_in_transaction_session_timeout', 'transaction_timeout')
   AND EXISTS (
     SELECT 1 FROM pg_proc p WHERE p.pronamespace = to_regnamespace('analysis') AND p.proname = 'claim'
                  AND has_function_privilege(r.oid, p.oid, 'EXECUTE'))
   AND NOT r.rolsuper
   -- 0 is none.
   AND m.milliseconds > 0
 ORDER BY 1, 2
