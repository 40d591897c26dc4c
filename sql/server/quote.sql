-- Two texts as they stand in a statement that takes no parameters.
SELECT pg_catalog.quote_nullable($1::text) AS reading, pg_catalog.quote_nullable($2::text) AS zone
