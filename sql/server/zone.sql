-- The zone's name as PostgreSQL spells it; no row for a name that is none. It is looked up in the list,
-- because PostgreSQL itself takes many a misspelling for a zone of the POSIX kind, with the sign the other
-- way round.
SELECT z.name
  FROM pg_catalog.pg_timezone_names z
 WHERE pg_catalog.lower(z.name) = pg_catalog.lower($1::text)
 ORDER BY z.name
 LIMIT 1
