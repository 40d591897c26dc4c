-- The server and this session, as far as every role may see them.
SELECT split_part(current_setting('server_version'), ' ', 1), current_setting('server_version_num')::int,
       pg_is_in_recovery(),
       current_setting('default_transaction_read_only')::bool, current_setting('fsync')::bool,
       current_setting('full_page_writes')::bool, current_setting('synchronous_commit'),
       (SELECT pg_encoding_to_char(d.encoding) FROM pg_database d WHERE d.datname = current_database()),
       current_database()::text,
       host(inet_server_addr()),
       coalesce((SELECT s.ssl FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()), false),
       current_user::text, (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user),
       -- The last corrections of a major version come in November of its fifth year; 15 is of 2022.
       now() >= make_date(2012 + current_setting('server_version_num')::int / 10000, 12, 1)
