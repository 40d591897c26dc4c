-- How many entries of the audit are not chained, for how many seconds the oldest; and who holds the end of
-- the chain, with the process, and since when where this role may know.
SELECT pg_catalog.count(*)::int,
  extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.min(d.at))::float8,
  ARRAY(
    SELECT CASE WHEN l.pid IS NULL THEN 'a prepared transaction'
        ELSE pg_catalog.concat('login ', a.usename, ' (process ', l.pid, pg_catalog.to_char(
          a.xact_start AT TIME ZONE 'UTC', '", in a transaction since" YYYY-MM-DD HH24:MI:SS "UTC"'), ')') END
      FROM pg_catalog.pg_locks l
      LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
     WHERE l.relation = 'analysis.audit_head'::pg_catalog.regclass AND l.granted
       AND l.database = (
         SELECT b.oid FROM pg_catalog.pg_database b WHERE b.datname = pg_catalog.current_database())
       AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
     GROUP BY l.pid, a.usename, a.xact_start
     ORDER BY a.xact_start)
  FROM analysis.audit_draft d
