-- The server's clock.
SELECT pg_catalog.clock_timestamp() AS at
