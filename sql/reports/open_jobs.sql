-- Jobs of a month that have neither a result nor died.
-- $1 the month's label.
SELECT analysis.open_jobs($1::smallint) AS open_jobs
