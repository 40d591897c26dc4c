-- What the pages show in scripts/check-dashboard: jobs in every state, workers that live, are lost and have ended, two
-- days of history, clinics, analyses to review, and an audit. The environment's PHOTO is a file that every picture shows.
SET search_path = analysis, pg_catalog;

\set photo `base64 -w0 "$PHOTO"`
SELECT add_clinic('North'), add_clinic('South and <West>');
UPDATE account_plan SET plan_id = 2;
UPDATE account SET clinic_id = (SELECT id FROM clinic WHERE name = 'North') WHERE user_ref LIKE 'north-%';

SELECT count(*)
FROM generate_series(1, 30) g
CROSS JOIN LATERAL submit_image('north-1', 'throat', decode(:'photo', 'base64') || convert_to(g::text, 'UTF8')) s;
SELECT count(*)
FROM generate_series(1, 12) g
CROSS JOIN LATERAL submit_image('south-1', 'ear', '\xffd8ff'::bytea || convert_to('e' || g, 'UTF8')) s;

-- Jobs 1 to 3 died of one cause and 4 of another, each after two attempts; 5 has an analysis; 11 to 20 are a batch, of
-- which two have ended.
DELETE FROM ready WHERE job_id IN (1, 2, 3, 4, 5, 11, 12);
INSERT INTO attempt_error (
  shard, period, attempt, calls, job_id, user_id, worker_id, at, status, maybe_counted, consumed, class, code, message,
  error_id, endpoint)
SELECT j.shard, j.period, a, 1, j.id, j.user_id, 11, j.created_at + make_interval(secs => 20 * a),
  CASE WHEN j.id < 4 THEN 500 END, true, true, CASE WHEN j.id < 4 THEN 'server' ELSE 'outcome_unknown' END,
  CASE WHEN j.id < 4 THEN 'SERVER_ERROR' END,
  CASE WHEN j.id < 4 THEN 'The model ran out of memory after ' || 7 * j.id || ' s.' ELSE 'Timed out while waiting.' END,
  '6f1c0c5e-77aa-4d0c-9c6e-0000000000' || 10 + j.id, 'https://model.example.org/v2'
FROM job j CROSS JOIN generate_series(1, 2) a
WHERE j.id BETWEEN 1 AND 4;
INSERT INTO dead (shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, code, status, message)
SELECT DISTINCT ON (e.job_id) e.shard, e.period, 1, 2, e.job_id, e.user_id, e.at, 2, e.class, e.code, e.status, e.message
FROM attempt_error e
ORDER BY e.job_id, e.attempt DESC;
INSERT INTO result (
  shard, period, kind, outcome, job_id, user_id, finished_at, answered_at, primary_confidence, call_ms, attempt, calls,
  condition_count, primary_band, primary_normal, serious, consult, analysis_id, primary_id, primary_name, endpoint, model,
  version, conditions)
SELECT j.shard, j.period, 1, 1, j.id, j.user_id, j.created_at + interval '31 seconds', j.created_at + interval '30 seconds',
  0.83, 412, 1, 1, 1, 4, false, true, true, 'analysis-' || j.id, 'tonsillitis', 'Tonsillitis',
  'https://model.example.org/v2', 'throat 7', '1.0.0',
  '[{"id": "tonsillitis", "name": "Tonsillitis", "confidence": 0.83, "band": 4, "normal": false}]'
FROM job j
WHERE j.id IN (5, 11, 12);
UPDATE result SET primary_id = 'pharyngitis', primary_name = 'Pharyngitis <acute>',
  primary_confidence = CASE job_id WHEN 11 THEN 0.64 ELSE 0.47 END,
  primary_band = CASE job_id WHEN 11 THEN 3 ELSE 2 END
WHERE job_id IN (11, 12);
UPDATE result SET conditions = jsonb_build_array(
  jsonb_build_object('id', primary_id, 'name', primary_name, 'confidence', primary_confidence, 'band', primary_band,
    'normal', false));
-- What clinicians say of them: one changed their mind.
INSERT INTO review (shard, period, version, verdict, job_id, user_id, at, replaced_at, reviewer, primary_id, primary_name,
  primary_confidence, primary_band, primary_normal)
SELECT r.shard, r.period, v.version, v.verdict, r.job_id, r.user_id, r.finished_at + make_interval(mins => v.minute),
  r.finished_at + make_interval(mins => v.until), v.reviewer, r.primary_id, r.primary_name, r.primary_confidence,
  r.primary_band, r.primary_normal
FROM (VALUES (5, 1, 1, 5, NULL, 'ada'), (5, 1, 2, 7, 20, 'boris'), (5, 2, 1, 20, NULL, 'boris'), (5, 1, 3, 9, NULL, 'chen'),
  (11, 1, 1, 6, NULL, 'ada'), (11, 1, 2, 8, NULL, 'boris'), (12, 1, 2, 3, NULL, 'ada'), (12, 1, 1, 4, NULL, 'boris'),
  (12, 1, 2, 9, NULL, 'chen')) v(job, version, verdict, minute, until, reviewer)
JOIN result r ON r.job_id = v.job;
INSERT INTO review_comment (shard, period, number, job_id, user_id, at, author, body)
SELECT r.shard, r.period, 1, 5, r.user_id, r.finished_at + interval '8 minutes', 'boris',
  E'The left tonsil is <blurred>.\nMay we have another picture?'
FROM result r WHERE r.job_id = 5;
-- Fourteen jobs are to be reviewed, each surer than the one before, and every fifth is serious.
SELECT count(*)
FROM generate_series(1, 14) g
CROSS JOIN LATERAL submit_image('north-2', 'throat', decode(:'photo', 'base64') || convert_to('r' || g, 'UTF8')) s;
SELECT min(j.id) AS first, max(j.id) AS last
FROM job j JOIN account a ON a.shard = j.shard AND a.user_id = j.user_id
WHERE a.user_ref = 'north-2' \gset
DELETE FROM ready WHERE job_id BETWEEN :first AND :last;
INSERT INTO result (
  shard, period, kind, outcome, job_id, user_id, finished_at, answered_at, primary_confidence, secondary_confidence,
  call_ms, attempt, calls, condition_count, primary_band, secondary_band, primary_normal, secondary_normal, serious, consult,
  analysis_id, primary_id, primary_name, secondary_id, secondary_name, endpoint, model, version, conditions)
SELECT j.shard, j.period, 1, 1, j.id, j.user_id, j.created_at + interval '31 seconds', j.created_at + interval '30 seconds',
  c.confidence, 0.3, 412, 1, 1, 2, c.band, 1, false, false, j.id % 5 = 0, true, 'analysis-' || j.id, 'tonsillitis',
  'Tonsillitis', 'pharyngitis', 'Pharyngitis <acute>', 'https://model.example.org/v2', 'throat 7', '1.0.0',
  format('[{"id": "tonsillitis", "name": "Tonsillitis", "confidence": %s, "band": %s, "normal": false},
    {"id": "pharyngitis", "name": "Pharyngitis <acute>", "confidence": 0.3, "band": 1, "normal": false}]',
    c.confidence, c.band)::jsonb
FROM job j
CROSS JOIN LATERAL (
  SELECT s.confidence, CASE WHEN s.confidence >= 0.8 THEN 4 WHEN s.confidence >= 0.6 THEN 3 ELSE 2 END AS band
  FROM (SELECT 0.4 + (j.id - :first) * 0.04 AS confidence) s) c
WHERE j.id BETWEEN :first AND :last;
UPDATE job SET source_name = 'IMG_' || 4700 + id || '.jpg';
SELECT open_batch('ward 3 <morning>');
INSERT INTO job_label (shard, period, job_id, user_id, batch_id, reference)
SELECT j.shard, j.period, j.id, j.user_id, 1, 'visit-' || 4700 + j.id
FROM job j
WHERE j.id BETWEEN 11 AND 20;

INSERT INTO worker (shard, id, host, pid, version, started_at, heartbeat_at, in_flight, reported_at, report)
SELECT 0, 10 + g, 'worker-' || g || '.hospital.example.org', 4000 + g, '1.0.0', now() - interval '3 hours',
  now(), 6, now(),
  jsonb_build_object(
    'counters', jsonb_build_object('jobs_completed', 81234 * g, 'jobs_retried', 31, 'jobs_dead', 4),
    'endpoints', jsonb_build_array(
      jsonb_build_object('name', 'https://model.example.org/v2', 'kinds', '["throat"]'::jsonb, 'state', 'open',
        'in_flight', 5, 'window', 16, 'calls', 9000, 'call_seconds', 1260.5),
      jsonb_build_object('name', 'https://ear-model.example.org', 'kinds', '["ear"]'::jsonb, 'state',
        CASE g WHEN 1 THEN 'shut' ELSE 'open' END, 'reason', 'it answers 503 to every call', 'in_flight', 0,
        'window', 8, 'calls', 120, 'call_seconds', 250.0)))
FROM generate_series(1, 3) g;
INSERT INTO worker (shard, id, host, pid, version, started_at, heartbeat_at, in_flight, ended_at)
VALUES (0, 20, 'worker-9', 991, '1.0.0', now() - interval '1 day', now() - interval '4 minutes', 3, NULL),
  (0, 21, 'worker-8', 77, '1.0.0', now() - interval '2 days', now() - interval '20 minutes', 0,
    now() - interval '20 minutes');

INSERT INTO queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
SELECT 60, date_bin('1 minute', now(), '2000-01-01 00:00:00+00') - make_interval(mins => g),
  400 + 300 * sin(g / 90.0), 12, 3, 700 + 200 * cos(g / 40.0), g % 3, g % 7, 12
FROM generate_series(0, 1439) g
WHERE g NOT BETWEEN 300 AND 360;

SELECT * FROM pause('type', 'ear', 'the model is being replaced', NULL);
SELECT count(*)
FROM generate_series(1, 70) g
CROSS JOIN LATERAL audit_add('test', 'job:' || g, NULL, 'what is written here is looked at in pictures') a;
