-- What must hold in the queue at any moment in which nothing is being changed.

-- The jobs of one shard and month that are nowhere: not ended, not waiting, not scheduled and not running;
-- the lowest numbers first, and with each how many there are. Only of users whom the caller may see.
CREATE OR REPLACE FUNCTION analysis.lost_jobs(p_shard smallint, p_period smallint, p_limit int)
RETURNS TABLE (o_job bigint, o_user text, o_created_at timestamptz, o_count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_nestloop = off SET work_mem = '64MB'
AS $$
DECLARE
  v_clinic int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  PERFORM analysis.require_argument(p_limit BETWEEN 0 AND 100000, 'at most 100000 jobs are answered');
  RETURN QUERY
  -- All of these are read from the same snapshot: a job that is being moved is in one place or the other.
  WITH lost AS (
    SELECT n.job_id AS id FROM analysis.jobs_without_result(p_shard, p_period) n
    EXCEPT SELECT d.job_id FROM analysis.dead d WHERE d.shard = p_shard
    EXCEPT SELECT r.job_id FROM analysis.ready r WHERE r.shard = p_shard AND r.period = p_period
    EXCEPT SELECT s.job_id FROM analysis.scheduled s WHERE s.shard = p_shard AND s.period = p_period
    EXCEPT SELECT unnest(b.job_ids) FROM analysis.lease b WHERE b.shard = p_shard)
  SELECT j.id, a.user_ref, j.created_at, count(*) OVER ()
  FROM lost l
  CROSS JOIN LATERAL (
    SELECT k.id, k.user_id, k.created_at FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = p_period AND k.id = l.id OFFSET 0) j
  CROSS JOIN LATERAL (
    SELECT k.user_ref, k.clinic_id FROM analysis.account k
    WHERE k.shard = p_shard AND k.user_id = j.user_id OFFSET 0) a
  WHERE v_clinic IS NULL OR a.clinic_id = ANY (v_clinic)
  ORDER BY j.id
  LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.lost_jobs IS
  'Answers the jobs of a shard and month that are in no table of the queue.';

-- Where jobs are that have not ended.
CREATE OR REPLACE FUNCTION analysis.queue_places()
RETURNS TABLE (shard smallint, job_id bigint, period smallint, place text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT r.shard, r.job_id, r.period, 'ready' FROM analysis.ready r
  UNION ALL SELECT s.shard, s.job_id, s.period, 'scheduled' FROM analysis.scheduled s
  UNION ALL SELECT b.shard, u.job_id, u.period, 'lease' FROM analysis.lease b
    CROSS JOIN LATERAL unnest(b.job_ids, b.periods) u(job_id, period)
$$;

-- What broken_invariants says of where jobs are, and of what is counted of them.
CREATE OR REPLACE FUNCTION analysis.broken_places()
RETURNS TABLE (rule text, shard smallint, job_id bigint, user_id bigint, detail text)
LANGUAGE sql STABLE AS $$
  WITH places AS (
    -- Every place where a job can be.
    SELECT q.shard, q.job_id, q.period, q.place FROM analysis.queue_places() q
    UNION ALL SELECT r.shard, r.job_id, r.period, CASE r.outcome WHEN 1 THEN 'result' ELSE 'cancelled' END
      FROM analysis.result r
    UNION ALL SELECT d.shard, d.job_id, d.period, 'dead' FROM analysis.dead d),
  jobs AS (
    SELECT j.shard, j.id, j.period, j.user_id, j.closed, j.max_attempts,
           array_agg(p.place ORDER BY p.place) FILTER (WHERE p.place IS NOT NULL) AS places
    FROM analysis.job j
    LEFT JOIN places p ON p.shard = j.shard AND p.job_id = j.id AND p.period = j.period
    GROUP BY j.shard, j.period, j.id),
  counted AS (
    SELECT j.shard, j.user_id, j.period, count(*) AS units FROM jobs j
    WHERE NOT j.places && ARRAY['dead', 'cancelled'] GROUP BY 1, 2, 3),
  owed AS (SELECT f.shard, f.user_id, f.period, count(*) AS units FROM analysis.refund f GROUP BY 1, 2, 3)
  -- I1: a job is in one place and one only; a cancelled one may still be met on its way.
  SELECT 'I1 one place', j.shard, j.id, j.user_id, array_to_string(j.places, ', ', '-') FROM jobs j
  WHERE j.places IS NULL
     OR NOT j.closed AND (cardinality(j.places) <> 1 OR j.places = ARRAY['cancelled'])
     OR j.closed AND (NOT 'cancelled' = ANY (j.places) OR j.places && ARRAY['dead', 'result'])
  UNION ALL
  -- I2: nothing without a submit.
  SELECT 'I2 no job', p.shard, p.job_id, NULL, p.place FROM places p
  WHERE NOT EXISTS (
    SELECT 1 FROM analysis.job j WHERE j.shard = p.shard AND j.period = p.period AND j.id = p.job_id)
  UNION ALL
  -- A lease lists no job twice, here or in another.
  SELECT 'I6 one lease', p.shard, p.job_id, NULL, count(*) || ' leases' FROM places p
  WHERE p.place = 'lease' GROUP BY p.shard, p.job_id HAVING count(*) > 1
  UNION ALL
  -- I4: what is counted is what was analysed or is still open. Of a purged month nothing can be recounted.
  SELECT 'I4 usage', shard, NULL, user_id,
         format('month %s: used %s, owed %s, jobs %s', analysis.period_text(period), u.used, o.units, c.units)
  FROM analysis.usage u FULL JOIN counted c USING (shard, user_id, period)
  FULL JOIN owed o USING (shard, user_id, period)
  WHERE coalesce(u.used, 0) - coalesce(o.units, 0) <> coalesce(c.units, 0)
    AND NOT EXISTS (
      SELECT 1 FROM analysis.purged_month p WHERE p.period = coalesce(u.period, c.period, o.period))
$$;

-- What it says of how jobs ended, and of limits.
CREATE OR REPLACE FUNCTION analysis.broken_ends()
RETURNS TABLE (rule text, shard smallint, job_id bigint, user_id bigint, detail text)
LANGUAGE sql STABLE AS $$
  -- I3: one job row and one end a job, over all months.
  SELECT 'I3 one job', j.shard, j.id, NULL::bigint, count(*) || ' rows'
  FROM analysis.job j GROUP BY j.shard, j.id HAVING count(*) > 1
  UNION ALL
  SELECT 'I3 one result', r.shard, r.job_id, NULL, count(*) || ' results' FROM analysis.result r
  GROUP BY r.shard, r.job_id HAVING count(*) > 1
  UNION ALL
  -- I5: nobody has more than the highest limit that was ever in force.
  SELECT 'I5 limit', u.shard, NULL, u.user_id, format('used %s of %s', u.used, l.highest)
  FROM analysis.usage u
  CROSS JOIN LATERAL (
    SELECT max(coalesce(d.monthly_limit, 2147483647)) AS highest
    FROM analysis.account_plan h JOIN analysis.plan_limit d ON d.plan_id = h.plan_id
    WHERE h.shard = u.shard AND h.user_id = u.user_id) l
  WHERE u.used > l.highest
  UNION ALL
  -- I7: nobody tried more often than allowed, and a dead job says why.
  SELECT 'I7 attempts', j.shard, j.id, j.user_id, format('attempt %s of %s', r.attempt, j.max_attempts)
  FROM analysis.job j
  JOIN analysis.result r ON r.shard = j.shard AND r.period = j.period AND r.job_id = j.id
  WHERE r.attempt > j.max_attempts OR r.outcome = 1 AND r.attempt < 1
  UNION ALL
  SELECT 'I7 dead', j.shard, j.id, j.user_id,
    format('%s of %s attempts, %s', d.attempts, j.max_attempts, d.class)
  FROM analysis.job j JOIN analysis.dead d ON d.shard = j.shard AND d.job_id = j.id
  WHERE d.attempts > j.max_attempts OR d.class = '' OR d.message = ''
     OR NOT EXISTS (SELECT 1 FROM analysis.attempts_of(d.shard, d.job_id) e WHERE e.class = d.class)
$$;

-- What it says of who was erased.
CREATE OR REPLACE FUNCTION analysis.broken_erasures()
RETURNS TABLE (rule text, shard smallint, job_id bigint, user_id bigint, detail text)
LANGUAGE sql STABLE AS $$
  -- I11: who was erased is nowhere: no profile, no key, no image, no review and no job that is open.
  SELECT 'I11 erased', a.shard, x.job_id, a.user_id, x.what FROM analysis.account a
  CROSS JOIN LATERAL (
    SELECT NULL::bigint AS job_id, 'a profile' AS what FROM analysis.profile p
    WHERE p.shard = a.shard AND p.user_id = a.user_id
    UNION ALL
    SELECT k.job_id, 'a key' FROM analysis.idem k WHERE k.shard = a.shard AND k.user_id = a.user_id
    UNION ALL
    SELECT l.job_id, 'a reference' FROM analysis.job_label l
    WHERE l.shard = a.shard AND l.user_id = a.user_id AND l.reference IS NOT NULL
    UNION ALL
    SELECT NULL, 'an image' FROM analysis.image m WHERE m.shard = a.shard AND m.user_id = a.user_id
    UNION ALL
    SELECT v.job_id, 'a review' FROM analysis.review v WHERE v.shard = a.shard AND v.user_id = a.user_id
    UNION ALL
    SELECT c.job_id, 'a comment' FROM analysis.review_comment c
    WHERE c.shard = a.shard AND c.user_id = a.user_id) x
  WHERE a.erased_at IS NOT NULL
  UNION ALL
  SELECT 'I11 erased', j.shard, j.id, j.user_id, 'an open job'
  FROM analysis.job j JOIN analysis.account a ON a.shard = j.shard AND a.user_id = j.user_id
  WHERE a.erased_at IS NOT NULL AND NOT j.closed
    AND (j.shard, j.period, j.id) IN (SELECT p.shard, p.period, p.job_id FROM analysis.queue_places() p)
$$;

-- What it says of labels and batches.
CREATE OR REPLACE FUNCTION analysis.broken_labels()
RETURNS TABLE (rule text, shard smallint, job_id bigint, user_id bigint, detail text)
LANGUAGE sql STABLE AS $$
  -- A label is of its job and its job's user, and its batch is there and of the job's login.
  SELECT 'label', l.shard, l.job_id, l.user_id,
    format('of batch %s, its job is user %s''s of login %s', l.batch_id, j.user_id, s.login)
  FROM analysis.job_label l
  LEFT JOIN analysis.job j ON j.shard = l.shard AND j.period = l.period AND j.id = l.job_id
  LEFT JOIN analysis.submitter s ON s.id = j.submitter
  WHERE j.user_id IS DISTINCT FROM l.user_id OR l.batch_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM analysis.batch b
    JOIN analysis.submitter o ON o.id = b.submitter
    WHERE b.id = l.batch_id AND o.login = s.login)
  UNION ALL
  -- What was refused is of a batch. One in which everybody was erased says nothing of them.
  SELECT 'batch', NULL, NULL, NULL, format('refusals of batch %s, which is not there', f.batch_id)
  FROM analysis.batch_refusal f
  WHERE NOT EXISTS (SELECT FROM analysis.batch b WHERE b.id = f.batch_id)
  GROUP BY f.batch_id
  UNION ALL
  SELECT 'batch', NULL, NULL, NULL, format('batch %s has a name, and all of it are erased', b.id)
  FROM analysis.batch b
  JOIN analysis.job_label l ON l.batch_id = b.id
  JOIN analysis.account a ON a.shard = l.shard AND a.user_id = l.user_id
  WHERE num_nonnulls(b.name, b.key_hash) > 0
  GROUP BY b.id HAVING bool_and(a.erased_at IS NOT NULL)
$$;

-- Users whose next submit would go by terms that are not what they follow from.
CREATE OR REPLACE FUNCTION analysis.broken_terms() RETURNS TABLE (shard smallint, user_id bigint)
LANGUAGE sql STABLE AS $$
  SELECT t.shard, t.user_id
  FROM (SELECT clock_timestamp() AS at OFFSET 0) n
  JOIN analysis.terms t ON n.at >= t.made_at AND n.at < t.valid_until
  JOIN analysis.admission g ON g.version = t.version
  JOIN analysis.usage u ON u.shard = t.shard AND u.user_id = t.user_id AND u.period = t.period
    AND u.terms_at = t.made_at AND u.used < t.most
  LEFT JOIN analysis.account a ON a.shard = t.shard AND a.user_id = t.user_id AND a.erased_at IS NULL
  LEFT JOIN LATERAL analysis.limit_of(t.shard, t.user_id, n.at) l ON true
  WHERE t.most > t.quota OR (t.user_ref, t.key_salt, t.period, t.quota, t.cost)
    IS DISTINCT FROM (
      a.user_ref, a.key_salt, analysis.period_at(n.at, a.zone, a.anchors), l.monthly_limit, l.cost)
$$;

-- What it says of reviews, keys, jobs, images and partitions.
CREATE OR REPLACE FUNCTION analysis.broken_records()
RETURNS TABLE (rule text, shard smallint, job_id bigint, user_id bigint, detail text)
LANGUAGE sql STABLE AS $$
  -- What is said of an analysis goes with it, and is about what was found.
  SELECT 'review', v.shard, v.job_id, v.user_id, 'it is about another finding' FROM analysis.review v
  JOIN analysis.result r ON r.shard = v.shard AND r.period = v.period AND r.job_id = v.job_id
  WHERE (v.primary_id, v.primary_name, v.primary_confidence, v.primary_band, v.primary_normal)
    IS DISTINCT FROM (
      r.primary_id, r.primary_name, r.primary_confidence::numeric, r.primary_band, r.primary_normal)
  UNION ALL
  SELECT 'review', v.shard, v.job_id, v.user_id, 'it is of no analysis'
  FROM (
    SELECT r.shard, r.period, r.job_id, r.user_id FROM analysis.review r
    UNION
    SELECT c.shard, c.period, c.job_id, c.user_id FROM analysis.review_comment c) v
  WHERE NOT EXISTS (
    SELECT FROM analysis.result r
    WHERE r.shard = v.shard AND r.period = v.period AND r.job_id = v.job_id AND r.user_id = v.user_id
      AND r.outcome = 1)
  UNION ALL
  -- A key answers a job that exists, in its month, or that was removed after its time.
  SELECT 'key', i.shard, i.job_id, i.user_id, 'the key names a job that is not there' FROM analysis.idem i
  WHERE NOT EXISTS (
    SELECT 1 FROM analysis.job j WHERE j.shard = i.shard AND j.period = i.period AND j.id = i.job_id)
    AND NOT EXISTS (SELECT 1 FROM analysis.purged_month p WHERE p.period = i.period)
  UNION ALL
  SELECT 'key', i.shard, i.job_id, i.user_id, 'its hashes have not 32 bytes' FROM analysis.idem i
  WHERE octet_length(i.key_hash) <> 32 OR octet_length(i.content_hash) <> 32
  UNION ALL
  SELECT 'job', j.shard, j.id, j.user_id, 'it has a value that no submit takes' FROM analysis.job j
  WHERE NOT (
    j.kind IN (1, 2) AND analysis.kind_of(j.lane) = j.kind AND NOT analysis.is_quarantine(j.lane)
    AND j.image_bytes > 0 AND j.max_attempts BETWEEN 1 AND 100
    AND coalesce(octet_length(j.key_hash) = 32, true)
    AND coalesce(length(j.source_name) <= 500, true))
  UNION ALL
  SELECT 'usage', u.shard, NULL, u.user_id, 'a counter is below zero' FROM analysis.usage u
  WHERE least(u.used, u.refunded, u.refused) < 0
  UNION ALL
  SELECT 'admission', NULL, NULL, NULL, 'submits do not go by what the settings say'
  FROM analysis.admission g, analysis.admission_by_settings() s
  WHERE (g.max_bytes, g.max_all, g.max_waiting, g.only_encrypted, g.photos_once)
    IS DISTINCT FROM (s.max_bytes, s.max_all, s.max_waiting, s.only_encrypted, s.photos_once)
  UNION ALL
  SELECT 'terms', t.shard, NULL, t.user_id, 'submits go by terms that do not hold'
  FROM analysis.broken_terms() t
  UNION ALL
  -- An open job has its image.
  SELECT 'image', j.shard, j.id, j.user_id, 'the image of an open job is gone, or is another'
  FROM analysis.job j
  WHERE NOT j.closed
    AND (j.shard, j.period, j.id) IN (SELECT p.shard, p.period, p.job_id FROM analysis.queue_places() p)
    AND NOT EXISTS (
      SELECT 1 FROM analysis.image m
      WHERE m.shard = j.shard AND m.period = j.image_period AND m.id = j.image_id
        AND substr(m.sha256, 1, 16) = j.image_mark)
  UNION ALL
  -- What is said of the months' partitions is true.
  SELECT 'partition', NULL, NULL, NULL, format('%s of %s', n.name, analysis.period_text(m.period))
  FROM analysis.partition_made m CROSS JOIN unnest(ARRAY['job', 'image', 'result', 'attempt_error']) n(name)
  WHERE to_regclass(format('analysis.%I', n.name || '_p' || m.period)) IS NULL
$$;

-- Every broken rule of the whole queue; none is to be expected ever. It reads all of all months. Who sees
-- some clinics only gets the rows of their users, and none that has no user.
CREATE OR REPLACE FUNCTION analysis.broken_invariants()
RETURNS TABLE (rule text, shard smallint, job_id bigint, user_id bigint, detail text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT b.*
  FROM (
    SELECT p.* FROM analysis.broken_places() p
    UNION ALL SELECT e.* FROM analysis.broken_ends() e
    UNION ALL SELECT x.* FROM analysis.broken_erasures() x
    UNION ALL SELECT l.* FROM analysis.broken_labels() l
    UNION ALL SELECT r.* FROM analysis.broken_records() r) b
  CROSS JOIN (SELECT analysis.clinics_seen(analysis.caller()) AS clinics) s
  WHERE s.clinics IS NULL OR EXISTS (
    SELECT FROM analysis.account a
    WHERE a.shard = b.shard AND a.user_id = b.user_id AND a.clinic_id = ANY (s.clinics))
$$;
COMMENT ON FUNCTION analysis.broken_invariants IS
  'Answers every broken rule of the whole queue; there should be none.';
