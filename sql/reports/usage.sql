-- A row a user, and in a closed month a row an adjustment.
-- What a zone's clocks show is answered as if it were UTC, so that it travels as a number.
-- $1 the month's label, $2 the zone to show times in or NULL, $3 the moment of the report.
SELECT t.user_ref, t.for_period, t.for_period <> $1::smallint AS is_adjustment, t.plan, t.plan_name,
  t.monthly_limit, t.used, t.over, t.analysed, t.failed, t.cancelled, t.refunded, t.refused, t.calls, t.last_reset,
  timezone('UTC',
    CASE WHEN $2::text IS NULL THEN t.last_reset_local ELSE timezone($2, t.last_reset) END) AS last_reset_local,
  t.zone
FROM analysis.usage_report($1, $3::timestamptz) t
ORDER BY t.line, t.user_ref COLLATE "C", t.shard, t.user_id
