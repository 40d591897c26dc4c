-- The month's totals in one row. What users used comes from the statement when the month is closed, so that it
-- adds up to the usage report; what was found is as it is now.
-- $1 the month's label, $2 the moment of the report.
SELECT u.*, f.*
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
CROSS JOIN analysis.finding_counts($1::smallint) f
