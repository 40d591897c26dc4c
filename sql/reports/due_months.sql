-- The months that are over in every zone, from the first in which anything was used or stated, the oldest first;
-- and of each, whether its usage can be stated: it is already, or its grace is over and the server is no replica.
-- $1 the moment or NULL for now.
SELECT m.period::smallint AS period,
  s.period IS NOT NULL OR (analysis.statement_due(m.period::smallint) <= t.at AND NOT pg_is_in_recovery()) AS is_due
FROM (SELECT coalesce($1::timestamptz, now()) AS at) t
CROSS JOIN LATERAL (
  SELECT least(
    (SELECT min(u.period) FROM analysis.usage u),
    (SELECT min(x.period) FROM analysis.statement x WHERE x.report = 'usage')) AS first) f
CROSS JOIN LATERAL generate_series(f.first, analysis.period_of(t.at, 'Etc/GMT+12') - 1) AS m(period)
LEFT JOIN analysis.statement s ON s.report = 'usage' AND s.period = m.period
ORDER BY m.period
