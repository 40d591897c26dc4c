-- Where the chain begins and ends; the entries that are not chained yet, with the age of the oldest; and
-- the server's clock.
SELECT h.installation::text AS installation, h.id, h.hash, h.first_id, h.first_previous,
       d.count::int AS pending,
       extract(epoch FROM pg_catalog.clock_timestamp() - d.oldest)::float8 AS oldest_seconds,
       pg_catalog.clock_timestamp() AS now
  FROM (
    SELECT pg_catalog.count(*) AS count, pg_catalog.min(a.at) AS oldest
      FROM analysis.audit_draft a) d
  LEFT JOIN analysis.audit_head h ON true
