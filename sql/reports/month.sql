-- What there is to know of a month before its rows are read: whether its usage is stated and since when,
-- whether it may be closed, whether it is over everywhere, and since when results of it have been removed.
-- $1 the month's label, $2 the moment of the report or NULL for now.
SELECT m.at, s.closed_at, analysis.statement_due($1::smallint) <= m.at AS is_due,
  analysis.period_start(($1 + 1)::smallint, 'Etc/GMT+12') <= m.at AS is_over,
  pg_is_in_recovery() AS is_replica, p.since AS purged_since
FROM (SELECT coalesce($2::timestamptz, now()) AS at) m
LEFT JOIN analysis.statement s ON s.report = 'usage' AND s.period = $1
LEFT JOIN analysis.purged_month p ON p.period = $1
