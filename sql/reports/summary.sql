-- The month's totals in one row. What users used comes from the statement when the month is closed, so that it
-- adds up to the usage report; what was found is as it is now.
-- $1 the month's label, $2 the moment of the report.
SELECT u.*, r.*, c.*
FROM (
  SELECT count(*) FILTER (WHERE own) AS users, count(*) FILTER (WHERE own AND t.used > 0) AS active_users,
    coalesce(sum(t.used) FILTER (WHERE own), 0)::bigint AS used,
    coalesce(sum(t.over) FILTER (WHERE own), 0)::bigint AS over,
    coalesce(sum(t.analysed), 0)::bigint AS analysed,
    coalesce(sum(t.used - t.analysed), 0)::bigint AS open,
    coalesce(sum(t.failed), 0)::bigint AS failed, coalesce(sum(t.cancelled), 0)::bigint AS cancelled,
    coalesce(sum(t.refunded) FILTER (WHERE own), 0)::bigint AS refunded,
    coalesce(sum(t.refused) FILTER (WHERE own), 0)::bigint AS refused,
    coalesce(sum(t.calls), 0)::bigint AS calls,
    coalesce(sum(t.used) FILTER (WHERE NOT own), 0)::bigint AS adjusted
  FROM analysis.usage_report($1::smallint, $2::timestamptz) t
  CROSS JOIN LATERAL (SELECT t.for_period = $1 AS own) o
) u
CROSS JOIN (
  SELECT coalesce(sum(f.throat), 0)::bigint AS throat, coalesce(sum(f.ear), 0)::bigint AS ear,
    coalesce(sum(f.serious), 0)::bigint AS serious, coalesce(sum(f.consult), 0)::bigint AS consult,
    coalesce(sum(f.without_condition), 0)::bigint AS without_condition
  FROM analysis.analysis_count f WHERE f.period = $1
) r
CROSS JOIN (
  SELECT coalesce(sum(f.total) FILTER (WHERE f.normal), 0)::bigint AS normal,
    coalesce(sum(f.green) FILTER (WHERE NOT f.normal), 0)::bigint AS green,
    coalesce(sum(f.yellow) FILTER (WHERE NOT f.normal), 0)::bigint AS yellow,
    coalesce(sum(f.orange) FILTER (WHERE NOT f.normal), 0)::bigint AS orange,
    coalesce(sum(f.red) FILTER (WHERE NOT f.normal), 0)::bigint AS red
  FROM analysis.condition_count f WHERE f.period = $1
) c
