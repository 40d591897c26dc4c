-- Who waits for a lock of this database for longer than $1 seconds, for whom, and for what.
SELECT l.pid, array_to_string(pg_blocking_pids(l.pid), ', '),
       coalesce(l.relation::regclass::text, l.locktype),
       extract(epoch FROM clock_timestamp() - l.waitstart)::float8
  FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE NOT l.granted AND a.datname = current_database()
   AND l.waitstart < clock_timestamp() - $1::float8 * interval '1 second'
 ORDER BY l.waitstart LIMIT 10
