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
  SELECT count(*) FILTER (WHERE f.kind = 1) AS throat, count(*) FILTER (WHERE f.kind = 2) AS ear,
    count(*) FILTER (WHERE f.serious) AS serious, count(*) FILTER (WHERE f.consult) AS consult,
    count(*) FILTER (WHERE f.condition_count = 0) AS without_condition
  FROM analysis.result f WHERE f.period = $1 AND f.outcome = 1
) r
CROSS JOIN (
  SELECT count(*) FILTER (WHERE e.normal) AS normal,
    count(*) FILTER (WHERE NOT e.normal AND b.band = 1) AS green,
    count(*) FILTER (WHERE NOT e.normal AND b.band = 2) AS yellow,
    count(*) FILTER (WHERE NOT e.normal AND b.band = 3) AS orange,
    count(*) FILTER (WHERE NOT e.normal AND b.band = 4) AS red
  FROM analysis.result f
  CROSS JOIN LATERAL jsonb_to_recordset(f.conditions) AS b(band smallint, normal boolean)
  CROSS JOIN LATERAL (SELECT coalesce(b.normal, false) AS normal) e
  WHERE f.period = $1 AND f.outcome = 1
) c
