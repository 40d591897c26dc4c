-- Makes what is missing of the partitions from the past month to three months ahead.
SELECT analysis.ensure_partitions((m.label - 1)::smallint, (m.label + 3)::smallint)
  FROM (SELECT analysis.period_of(now(), 'UTC') AS label) m
