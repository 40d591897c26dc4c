-- What functions read of jobs. Nobody but the owner may read a view: a plan tells how many rows it left out.

-- Every job and where it is. Name shard and month (analysis.locate answers a job's) to find one by its key.
CREATE OR REPLACE VIEW analysis.job_status WITH (security_barrier) AS
SELECT j.shard, j.id AS job_id, j.period, j.user_id, a.user_ref, j.kind, j.lane,
  CASE WHEN r.outcome = 1 THEN 'succeeded'
       WHEN r.outcome = 2 THEN 'cancelled'
       WHEN d.job_id IS NOT NULL THEN 'dead'
       WHEN b.job_id IS NOT NULL THEN 'running'
       WHEN s.job_id IS NOT NULL THEN 'scheduled'
       ELSE 'waiting' END AS state,
  j.created_at,
  CASE WHEN r.job_id IS NULL AND d.job_id IS NULL THEN coalesce(s.run_at, j.run_at)
    ELSE j.run_at END AS run_at,
  j.expires_at,
  coalesce(r.finished_at, d.failed_at) AS finished_at,
  -- Attempts that count: the one that gave the result, or those consumed so far.
  CASE WHEN r.outcome = 1 THEN r.attempt
       WHEN d.job_id IS NOT NULL THEN d.attempts
       ELSE (SELECT count(*)::smallint FROM analysis.attempt_error e
             WHERE e.shard = j.shard AND e.period = j.period AND e.job_id = j.id
               AND e.consumed) END AS attempts,
  j.max_attempts, j.source_name, j.image_period, j.image_id,
  d.class AS error_class, d.code AS error_code, d.message AS error_message
FROM analysis.job j
JOIN analysis.account a ON a.shard = j.shard AND a.user_id = j.user_id
LEFT JOIN analysis.result r ON r.shard = j.shard AND r.period = j.period AND r.job_id = j.id
LEFT JOIN analysis.dead d ON d.shard = j.shard AND d.job_id = j.id
LEFT JOIN analysis.scheduled s ON s.shard = j.shard AND s.period = j.period AND s.job_id = j.id
LEFT JOIN (SELECT h.shard, u.job_id FROM analysis.lease h CROSS JOIN LATERAL unnest(h.job_ids) u(job_id)) b
  ON b.shard = j.shard AND b.job_id = j.id
WHERE (SELECT analysis.clinics_seen(current_user)) IS NULL
  OR a.clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user)))
  -- And those who share with the login.
  OR (a.shard, a.user_id) IN (
    SELECT s.shard, s.user_id
    FROM analysis.all_shards() h
    CROSS JOIN LATERAL analysis.shares_of_login(h.o_shard) s);
