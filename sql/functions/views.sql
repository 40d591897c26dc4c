-- What people and back-ends read. A view reads with its owner's rights, whom no rule of the rows concerns: each asks by
-- itself which clinics' users its reader sees, and lets no function of the reader's near the others.

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
  CASE WHEN r.job_id IS NULL AND d.job_id IS NULL THEN coalesce(s.run_at, j.run_at) ELSE j.run_at END AS run_at,
  j.expires_at,
  coalesce(r.finished_at, d.failed_at) AS finished_at,
  -- Attempts that count: the one that gave the result, or those burnt so far.
  CASE WHEN r.outcome = 1 THEN r.attempt
       WHEN d.job_id IS NOT NULL THEN d.attempts
       ELSE (SELECT count(*)::smallint FROM analysis.attempt_error e
             WHERE e.shard = j.shard AND e.period = j.period AND e.job_id = j.id AND e.burnt) END AS attempts,
  j.max_attempts, j.source_name, j.image_period, j.image_id,
  d.class AS error_class, d.code AS error_code, d.message AS error_message
FROM analysis.job j
JOIN analysis.account a ON a.shard = j.shard AND a.user_id = j.user_id
LEFT JOIN analysis.result r ON r.shard = j.shard AND r.period = j.period AND r.job_id = j.id
LEFT JOIN analysis.dead d ON d.shard = j.shard AND d.job_id = j.id
LEFT JOIN analysis.scheduled s ON s.shard = j.shard AND s.period = j.period AND s.job_id = j.id
LEFT JOIN (SELECT h.shard, u.job_id FROM analysis.batch h CROSS JOIN LATERAL unnest(h.job_ids) u(job_id)) b
  ON b.shard = j.shard AND b.job_id = j.id
WHERE (SELECT analysis.clinics_seen(current_user)) IS NULL OR a.clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user)));

-- Results of analyses with the user they belong to. Those of persons who were erased tell nothing and have no number of
-- conditions.
CREATE OR REPLACE VIEW analysis.user_result WITH (security_barrier) AS
SELECT r.shard, a.user_ref, r.job_id, r.period, CASE r.kind WHEN 1 THEN 'throat' WHEN 2 THEN 'ear' END AS kind,
  r.analysis_id, r.finished_at, r.answered_at,
  r.primary_id, r.primary_name, r.primary_confidence,
  (ARRAY['green', 'yellow', 'orange', 'red'])[r.primary_band] AS primary_band, r.primary_normal,
  r.secondary_id, r.secondary_name, r.secondary_confidence,
  (ARRAY['green', 'yellow', 'orange', 'red'])[r.secondary_band] AS secondary_band, r.secondary_normal,
  r.serious, r.consult, r.condition_count, r.conditions, r.endpoint, r.model, r.version, r.attempt
FROM analysis.result r
JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id
WHERE r.outcome = 1 AND r.condition_count IS NOT NULL
  AND ((SELECT analysis.clinics_seen(current_user)) IS NULL OR a.clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user))));

-- What was found in a month, as counts: for reports of those who may not read whose analysis said what. No function of
-- a reader's own is let near the rows that are counted.
CREATE OR REPLACE VIEW analysis.analysis_count WITH (security_barrier) AS
SELECT r.period,
  count(*) FILTER (WHERE r.kind = 1) AS throat, count(*) FILTER (WHERE r.kind = 2) AS ear,
  count(*) FILTER (WHERE r.serious) AS serious, count(*) FILTER (WHERE r.consult) AS consult,
  count(*) FILTER (WHERE r.condition_count = 0) AS without_condition
FROM analysis.result r
WHERE r.outcome = 1
  AND ((SELECT analysis.clinics_seen(current_user)) IS NULL
       OR (r.shard, r.user_id) IN (SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u))
GROUP BY r.period;

-- How often each condition was found in a month, over all conditions of each analysis. Of several names the first in byte
-- order is shown. Bands are those stored with the result: 1 green to 4 red.
CREATE OR REPLACE VIEW analysis.condition_count WITH (security_barrier) AS
SELECT r.period, c.id, min(c.name COLLATE "C") AS name, coalesce(c.normal, false) AS normal,
  count(*) FILTER (WHERE c.band = 1) AS green, count(*) FILTER (WHERE c.band = 2) AS yellow,
  count(*) FILTER (WHERE c.band = 3) AS orange, count(*) FILTER (WHERE c.band = 4) AS red,
  count(*) AS total
FROM analysis.result r
CROSS JOIN LATERAL jsonb_to_recordset(r.conditions) AS c(id text, name text, band smallint, normal boolean)
WHERE r.outcome = 1
  AND ((SELECT analysis.clinics_seen(current_user)) IS NULL
       OR (r.shard, r.user_id) IN (SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u))
GROUP BY r.period, c.id, coalesce(c.normal, false);

-- A user's result by the job's number; no row while there is none, or if the job is another user's.
CREATE OR REPLACE FUNCTION analysis.result_of(p_user text, p_job bigint) RETURNS SETOF analysis.user_result
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
  SELECT u.* FROM (SELECT analysis.shard_of(p_user) AS shard) h
  CROSS JOIN LATERAL analysis.locate(h.shard, ARRAY[p_job]) l
  CROSS JOIN LATERAL (
    SELECT v.* FROM analysis.user_result v
    WHERE v.shard = h.shard AND v.period = l.o_period AND v.job_id = p_job AND v.user_ref = p_user) u
$$;
