-- One migrator at a time; held until the transaction ends, so that a pooler does no harm. The two numbers
-- are ours alone by choice.
SELECT pg_catalog.pg_advisory_xact_lock(7020110, 1684627055)
