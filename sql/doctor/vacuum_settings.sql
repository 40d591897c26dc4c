-- Whether vacuum comes by itself at all, and how far the oldest row of a database is from where the server
-- stops.
SELECT current_setting('autovacuum')::bool, current_setting('track_counts')::bool,
       current_setting('autovacuum_freeze_max_age')::bigint, d.datname::text,
       greatest(age(d.datfrozenxid), 0)::bigint
  FROM pg_database d ORDER BY age(d.datfrozenxid) DESC LIMIT 1
