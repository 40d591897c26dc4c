-- How many connections there may be and are: of the server (those kept for superusers apart), of this
-- database, of this role.
SELECT current_setting('max_connections')::int, current_setting('superuser_reserved_connections')::int,
       (SELECT count(*)::int FROM pg_stat_activity a
         WHERE a.backend_type = 'client backend' OR a.backend_type IS NULL),
       d.datconnlimit, (SELECT count(*)::int FROM pg_stat_activity a WHERE a.datname = current_database()),
       r.rolconnlimit, (SELECT count(*)::int FROM pg_stat_activity a WHERE a.usename = current_user),
       r.rolname::text
  FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user
