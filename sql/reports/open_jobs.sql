-- Jobs of a month that have neither a result nor failed for good: the units taken and not given back, less
-- the results. Counted so because the tables in which jobs wait are not to be counted.
-- $1 the month's label.
SELECT coalesce((SELECT sum(u.used) FROM analysis.usage u WHERE u.period = $1::smallint), 0)::bigint
  - (SELECT count(*) FROM analysis.refund f WHERE f.period = $1)
  - (SELECT count(*) FROM analysis.result r WHERE r.period = $1 AND r.outcome = 1) AS open_jobs
