-- What process $1 waits for, and who has it: a process, or a prepared transaction by its name; the role;
-- since when its transaction is open, where this role may know.
SELECT coalesce(l.relation::pg_catalog.regclass::text, l.locktype) AS object, nullif(b.pid, 0) AS process,
       x.gid::text AS prepared, coalesce(a.usename, x.owner)::text AS role,
       coalesce(a.xact_start, x.prepared) AS since
  FROM pg_catalog.pg_locks l
 CROSS JOIN LATERAL (
   SELECT DISTINCT u.pid FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(l.pid)) u(pid)) b
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
  LEFT JOIN LATERAL (
       SELECT p.gid, p.owner, p.prepared
         FROM pg_catalog.pg_prepared_xacts p
         JOIN pg_catalog.pg_locks h ON h.pid IS NULL AND h.virtualtransaction = '-1/' || p.transaction::text
        WHERE b.pid = 0 AND h.relation = l.relation) x ON true
 WHERE l.pid = $1 AND NOT l.granted
 ORDER BY since, process
