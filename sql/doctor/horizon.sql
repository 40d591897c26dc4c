-- What keeps dead rows of this database from being removed, the oldest first: kind, name, age in seconds
-- (NULL where the server does not tell), age in transactions, whether somebody uses it.
SELECT 'transaction',
  format('process %s (%s, %s)', a.pid, coalesce(nullif(a.application_name, ''), 'unnamed'),
    coalesce(a.usename, '-')),
       extract(epoch FROM clock_timestamp() - a.xact_start)::float8,
       greatest(age(a.backend_xmin), age(a.backend_xid))::bigint AS held, true
  FROM pg_stat_activity a
 WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
   AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.backend_type <> 'autovacuum worker'
UNION ALL
SELECT 'prepared', p.gid, extract(epoch FROM clock_timestamp() - p.prepared)::float8,
  age(p.transaction)::bigint, false
  FROM pg_prepared_xacts p WHERE p.database = current_database()
UNION ALL
SELECT 'slot', s.slot_name, NULL, age(s.xmin)::bigint, s.active FROM pg_replication_slots s
WHERE s.xmin IS NOT NULL
UNION ALL
SELECT 'standby', coalesce(nullif(r.application_name, ''), host(r.client_addr), 'process ' || r.pid), NULL,
       age(r.backend_xmin)::bigint, true
  FROM pg_stat_replication r WHERE r.backend_xmin IS NOT NULL
 ORDER BY held DESC NULLS LAST
