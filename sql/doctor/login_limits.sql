-- The logins with roles of this installation, with these roles and with the time limits that the server sets
-- for each in this database, in milliseconds; -1: none is set.
WITH roles AS (
  SELECT d.o_role AS name, r.oid
    FROM (SELECT o_role FROM analysis.role_rights() UNION ALL SELECT 'owner') d
    JOIN pg_roles r ON r.rolname = analysis.role_prefix() || '_' || d.o_role)
SELECT l.rolname::text, h.held,
       ARRAY(
         SELECT coalesce((
           SELECT (extract(
               epoch FROM CASE WHEN c.value ~ '^[0-9]+$' THEN c.value || ' ms'
                 ELSE c.value END::interval) * 1000)::bigint
             FROM pg_db_role_setting s
            CROSS JOIN LATERAL unnest(s.setconfig) u(item)
            CROSS JOIN LATERAL (SELECT split_part(u.item, '=', 2) AS value) c
            WHERE s.setrole IN (l.oid, 0) AND split_part(u.item, '=', 1) = n.name
              AND s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
            ORDER BY s.setrole <> 0 DESC, s.setdatabase <> 0 DESC LIMIT 1), -1)
           FROM (VALUES (1, 'statement_timeout'), (2, 'lock_timeout'),
             (3, 'idle_in_transaction_session_timeout')) n(position, name)
          ORDER BY n.position)
  FROM pg_roles l
 CROSS JOIN LATERAL (
   SELECT array_agg(r.name ORDER BY r.name) AS held FROM roles r WHERE pg_has_role(l.oid, r.oid, 'MEMBER')) h
 WHERE l.rolcanlogin AND NOT l.rolsuper AND h.held IS NOT NULL
 ORDER BY 1
