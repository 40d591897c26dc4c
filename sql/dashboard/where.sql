-- The database that a page says it was read of. Every login may ask.
SELECT pg_catalog.current_database()::text AS name
