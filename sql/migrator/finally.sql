-- At the end of each migration: the rights, and what is missing of the partitions from the past month to three months
-- ahead.
SELECT analysis.apply_rights(), analysis.ensure_partitions((m.label - 1)::smallint, (m.label + 3)::smallint)
  FROM (SELECT analysis.period_of(pg_catalog.now(), 'UTC') AS label) m
