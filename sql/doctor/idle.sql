-- Sessions of this database that began a transaction and do nothing, for longer than $1 seconds.
SELECT a.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), coalesce(a.usename::text, '-'),
       extract(epoch FROM clock_timestamp() - a.state_change)::float8
  FROM pg_stat_activity a
 WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.state LIKE 'idle in transaction%'
   AND a.state_change < clock_timestamp() - $1::float8 * interval '1 second'
 ORDER BY a.state_change LIMIT 10
