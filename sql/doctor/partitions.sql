-- Which months from this one to three ahead lack a partition.
SELECT m.period::smallint, (m.period - t.label)::int
  FROM (SELECT analysis.period_of(now(), 'UTC') AS label) t
 CROSS JOIN LATERAL generate_series(t.label, t.label + 3) m(period)
 WHERE NOT EXISTS (SELECT 1 FROM analysis.partition_made p WHERE p.period = m.period)
    OR EXISTS (SELECT 1 FROM unnest(ARRAY['job', 'image', 'result', 'attempt_error']) n
                WHERE to_regclass(format('analysis.%I', n || '_p' || m.period)) IS NULL)
 ORDER BY 1
