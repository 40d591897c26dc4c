-- How many entries of the audit are not chained, and for how many seconds the oldest.
SELECT pg_catalog.count(*)::int,
  extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.min(d.at))::float8
  FROM analysis.audit_draft d
