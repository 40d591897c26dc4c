-- A row an analysis, in the order in which they finished; those of persons who were erased tell nothing.
-- What a zone's clocks show is answered as if it were UTC, so that it travels as a number.
-- $1 the month's label, $2 the zone to show times in or NULL.
SELECT r.job_id, a.user_ref, r.kind,
  r.primary_id, r.primary_name, r.primary_confidence, r.primary_band, r.primary_normal,
  r.secondary_id, r.secondary_name, r.secondary_confidence, r.secondary_band, r.secondary_normal,
  r.condition_count, r.serious, r.consult, r.attempt, r.calls, r.analysis_id, r.endpoint, r.model,
  r.answered_at, timezone('UTC', timezone(coalesce($2::text, a.zone), r.answered_at)) AS answered_local,
  r.finished_at, timezone('UTC', timezone(coalesce($2, a.zone), r.finished_at)) AS finished_local
FROM analysis.result r
JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id
WHERE r.period = $1::smallint AND r.outcome = 1 AND r.condition_count IS NOT NULL
ORDER BY r.finished_at, r.job_id
