-- The server's process of this session.
SELECT pg_catalog.pg_backend_pid() AS process
