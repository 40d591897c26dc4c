-- Removing by row what is past its time in months that live on.
--
-- Each call looks at the next rows behind p_after by the primary key, p_limit at most, and is a short
-- transaction. It answers the last key, how many rows it looked at (none: the end), and what went.
-- p_record: nothing has gone in this run yet, and the first that goes is recorded in the audit.

-- Removes all that is kept of jobs of a month that have ended; the caller holds their rows. Their keys stay,
-- so that a repeated submit is still answered and not done again.
CREATE OR REPLACE FUNCTION analysis.remove_jobs(p_shard smallint, p_period smallint, p_jobs bigint[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_created timestamptz;               -- of the oldest
  v_month smallint;
BEGIN
  -- Planned with the month, of which alone it takes a lock.
  EXECUTE
    'WITH gone AS (
       DELETE FROM analysis.job k WHERE k.shard = $1 AND k.period = $2 AND k.id = ANY ($3)
       RETURNING k.created_at)
     SELECT min(g.created_at) FROM gone g'
  INTO v_created USING p_shard, p_period, p_jobs;
  DELETE FROM analysis.result r WHERE r.shard = p_shard AND r.period = p_period AND r.job_id = ANY (p_jobs);
  DELETE FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = ANY (p_jobs);
  DELETE FROM analysis.job_label l
  WHERE l.shard = p_shard AND l.period = p_period AND l.job_id = ANY (p_jobs);
  DELETE FROM analysis.review r WHERE r.shard = p_shard AND r.period = p_period AND r.job_id = ANY (p_jobs);
  DELETE FROM analysis.review_comment c
  WHERE c.shard = p_shard AND c.period = p_period AND c.job_id = ANY (p_jobs);
  -- Attempts are of the months in which the jobs were: a retry moves them on.
  FOR v_month IN
    SELECT m.period FROM analysis.partition_made m
    WHERE m.period BETWEEN analysis.period_of(v_created, 'UTC') - 1 AND p_period
  LOOP
    DELETE FROM analysis.attempt_error e
    WHERE e.shard = p_shard AND e.period = v_month AND e.job_id = ANY (p_jobs);
  END LOOP;
END $$;
DROP FUNCTION IF EXISTS analysis.remove_job(smallint, smallint, bigint);

-- Gives a month the index by which its images find their jobs. Nothing is submitted into a month that is
-- over, so that building it holds up none but who changes a job of that very month; for one that is
-- running the partition has it from its beginning, if images are kept for less than a month. Without it
-- they are found too, by reading the month. Answers whether it was made. It waits for nobody, so that nobody
-- queues behind it: who cannot have the partition at once gets an error of class 55P03.
CREATE OR REPLACE FUNCTION analysis.index_images(p_period smallint, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_index text := format('analysis.%I', 'job_p' || p_period || '_image');
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399 AND p_now IS NOT NULL, 'an index is of a month, as of a moment');
  PERFORM analysis.check_moment(p_now);
  IF analysis.period_start((p_period + 1)::smallint, 'Etc/GMT+12') > p_now
    OR to_regclass(v_index) IS NOT NULL THEN
    RETURN false;
  END IF;
  BEGIN
    EXECUTE format('LOCK TABLE analysis.%I IN SHARE ROW EXCLUSIVE MODE NOWAIT', 'job_p' || p_period);
  EXCEPTION WHEN undefined_table THEN
    RETURN false;
  END;
  IF to_regclass(v_index) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format(
    'CREATE INDEX %I ON analysis.%I (shard, image_id)', 'job_p' || p_period || '_image', 'job_p' || p_period);
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.index_images IS
  'Gives a month the index by which its images find their jobs.';

-- Those of some images of a month that a job needs: one that has not ended, or ended after p_until, or whose
-- cancellation can still be undone.
CREATE OR REPLACE FUNCTION analysis.images_needed(
  p_shard smallint, p_period smallint, p_images bigint[], p_until timestamptz, p_now timestamptz)
RETURNS TABLE (o_image bigint)
LANGUAGE sql STABLE AS $$
  WITH shown AS MATERIALIZED (
    SELECT k.image_id, k.period, k.id FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = p_period AND k.image_period = p_period
      AND k.image_id = ANY (p_images)
    UNION ALL
    SELECT k.image_id, k.period, k.id FROM analysis.job k
    WHERE k.shard = p_shard AND k.image_period <> k.period AND k.image_period = p_period
      AND k.image_id = ANY (p_images))
  SELECT DISTINCT s.image_id FROM shown s
  LEFT JOIN LATERAL (
    SELECT f.finished_at, f.outcome FROM analysis.result f
    WHERE f.shard = p_shard AND f.period = s.period AND f.job_id = s.id OFFSET 0) r ON true
  LEFT JOIN LATERAL (
    SELECT x.failed_at FROM analysis.dead x WHERE x.shard = p_shard AND x.job_id = s.id OFFSET 0) d ON true
  WHERE coalesce(r.finished_at, d.failed_at, 'infinity') > p_until
    OR r.outcome = 2 AND r.finished_at > p_now - analysis.uncancel_time()
$$;

-- Images of a month that no job needs any more: every job that shows one ended, and the last of them long
-- enough ago. That of a cancelled job stays for as long as the cancellation can be undone.
CREATE OR REPLACE FUNCTION analysis.purge_images(
  p_shard smallint, p_period smallint, p_after bigint, p_limit int, p_now timestamptz, p_dry boolean,
  p_record boolean)
RETURNS TABLE (o_last bigint, o_looked int, o_rows bigint, o_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
  v_until timestamptz := analysis.kept_until('keep_images', p_now);
  v_id bigint[];
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_period IS NOT NULL AND p_after IS NOT NULL
      AND p_limit BETWEEN 1 AND 100000 AND p_now IS NOT NULL AND p_dry IS NOT NULL,
    'a call needs a time, whether it is a dry run, and a number of rows from 1 to 100000');
  PERFORM analysis.refuse_repeatable_read();

  -- 1. The next images; one that was submitted lately is needed in any case. They are held, so that nobody
  --    can name them: a submit or a retry that wants one at this moment either has it first, and it is left,
  --    or finds it gone.
  SELECT max(i.id), count(*), array_agg(i.id) FILTER (WHERE i.used_at <= v_until) INTO o_last, o_looked, v_id
  FROM (SELECT k.id, k.used_at FROM analysis.image k
        WHERE k.shard = p_shard AND k.period = p_period AND k.id > p_after
        ORDER BY k.shard, k.period, k.id LIMIT p_limit) i;
  IF NOT p_dry THEN
    v_id := ARRAY(
      SELECT h.id FROM (SELECT unnest(v_id) AS id ORDER BY 1) g
      CROSS JOIN LATERAL (
        SELECT k.id FROM analysis.image k
        WHERE k.shard = p_shard AND k.period = p_period AND k.id = g.id AND k.used_at <= v_until
        FOR UPDATE SKIP LOCKED) h);
  END IF;

  -- 2. With the locks, in a statement that sees every job that named one before: those that no job needs.
  --    All at once, so that a month without the index is read once for each call.
  SELECT array_agg(i.id), count(*), coalesce(sum(i.byte_count), 0) INTO v_id, o_rows, o_bytes
  FROM (SELECT unnest(v_id) AS id) g
  CROSS JOIN LATERAL (
    SELECT k.id, k.byte_count FROM analysis.image k
    WHERE k.shard = p_shard AND k.period = p_period AND k.id = g.id OFFSET 0) i
  WHERE NOT EXISTS (
    SELECT FROM analysis.images_needed(p_shard, p_period, v_id, v_until, p_now) n WHERE n.o_image = g.id);

  -- 3. They go, each by its key.
  IF o_rows > 0 AND NOT p_dry THEN
    INSERT INTO analysis.lost_object (object_key)
    SELECT k.object_key
    FROM (SELECT unnest(v_id) AS id) g
    CROSS JOIN LATERAL (
      SELECT i.object_key FROM analysis.image i
      WHERE i.shard = p_shard AND i.period = p_period AND i.id = g.id AND i.object_key IS NOT NULL OFFSET 0) k
    ON CONFLICT DO NOTHING;
    FOR i IN 1 .. cardinality(v_id) LOOP
      DELETE FROM analysis.image k WHERE k.shard = p_shard AND k.period = p_period AND k.id = v_id[i];
    END LOOP;
    PERFORM analysis.record_purge('images:' || analysis.period_text(p_period), v_until, p_record);
  END IF;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.purge_images IS
  'Removes images of a shard and month that are past their time.';

-- Results and cancellations of a month, with their jobs and attempts. A job that a worker holds stays
-- until that has let go.
CREATE OR REPLACE FUNCTION analysis.purge_results(
  p_shard smallint, p_period smallint, p_after bigint, p_limit int, p_now timestamptz, p_dry boolean,
  p_record boolean)
RETURNS TABLE (o_last bigint, o_looked int, o_rows bigint, o_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
  v_until timestamptz := analysis.kept_until('keep_results', p_now);
  v_held bigint[] := ARRAY(SELECT unnest(b.job_ids) FROM analysis.lease b WHERE b.shard = p_shard);
  v_job bigint[];
  v_size int[];
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_period IS NOT NULL AND p_after IS NOT NULL
      AND p_limit BETWEEN 1 AND 100000 AND p_now IS NOT NULL AND p_dry IS NOT NULL,
    'a call needs a time, whether it is a dry run, and a number of rows from 1 to 100000');
  PERFORM analysis.refuse_repeatable_read();
  SELECT max(r.job_id), count(*), array_agg(r.job_id) FILTER (WHERE r.is_past),
    array_agg(r.size) FILTER (WHERE r.is_past)
  INTO o_last, o_looked, v_job, v_size
  FROM (SELECT k.job_id, pg_column_size(k.*) AS size, k.finished_at <= v_until
    AND NOT (k.job_id = ANY (v_held)) AS is_past
        FROM analysis.result k
        WHERE k.shard = p_shard AND k.period = p_period AND k.job_id > p_after
        ORDER BY k.shard, k.period, k.job_id LIMIT p_limit) r;
  IF v_job IS NULL OR NOT analysis.is_stated(p_period) THEN
    o_rows := 0;
    o_bytes := 0;
    RETURN NEXT;
    RETURN;
  END IF;

  IF NOT p_dry THEN
    -- Whoever cancels one at this moment has its row; it is left for the next run.
    SELECT array_agg(u.id), array_agg(u.size) INTO v_job, v_size
    FROM (SELECT * FROM unnest(v_job, v_size) t(id, size) ORDER BY 1) u
    CROSS JOIN LATERAL (
      SELECT FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = p_period AND k.id = u.id FOR UPDATE SKIP LOCKED) k;
    PERFORM analysis.remove_jobs(p_shard, p_period, v_job);
  END IF;
  o_rows := coalesce(cardinality(v_job), 0);
  o_bytes := (SELECT coalesce(sum(t), 0) FROM unnest(v_size) t);
  IF o_rows > 0 AND NOT p_dry THEN
    PERFORM analysis.mark_purged(p_period, p_now);
    PERFORM analysis.record_purge('results:' || analysis.period_text(p_period), v_until, p_record);
  END IF;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.purge_results IS
  'Removes results of a shard and month that are past their time.';

-- Jobs that died, with their attempts: a row for each month in which some went, or one without a month.
CREATE OR REPLACE FUNCTION analysis.purge_dead(
  p_shard smallint, p_after bigint, p_limit int, p_now timestamptz, p_dry boolean, p_record boolean)
RETURNS TABLE (o_last bigint, o_looked int, o_period smallint, o_rows bigint, o_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
  v_until timestamptz := analysis.kept_until('keep_dead', p_now);
  v_job bigint[];
  v_gone smallint[];                   -- the months of those that went, and their sizes
  v_size int[];
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_after IS NOT NULL
      AND p_limit BETWEEN 1 AND 100000 AND p_now IS NOT NULL AND p_dry IS NOT NULL,
    'a call needs a time, whether it is a dry run, and a number of rows from 1 to 100000');
  PERFORM analysis.refuse_repeatable_read();
  SELECT max(d.job_id), count(*) INTO o_last, o_looked
  FROM (SELECT k.job_id FROM analysis.dead k WHERE k.shard = p_shard AND k.job_id > p_after
        ORDER BY k.shard, k.job_id LIMIT p_limit) d;
  SELECT array_agg(d.job_id), array_agg(d.period), array_agg(d.size) INTO v_job, v_gone, v_size
  FROM (SELECT k.job_id, k.period, pg_column_size(k.*) AS size FROM analysis.dead k
        WHERE k.shard = p_shard AND k.job_id > p_after AND k.job_id <= o_last AND k.failed_at <= v_until) d
  JOIN (SELECT m.period FROM analysis.partition_made m WHERE analysis.is_stated(m.period) OFFSET 0) m
    ON m.period = d.period;
  IF NOT p_dry THEN
    -- The dead rows first, as a retry does: it has one, or we have.
    SELECT array_agg(u.id), array_agg(u.period), array_agg(u.size) INTO v_job, v_gone, v_size
    FROM (SELECT * FROM unnest(v_job, v_gone, v_size) t(id, period, size) ORDER BY 1) u
    CROSS JOIN LATERAL (
      SELECT FROM analysis.dead k WHERE k.shard = p_shard AND k.job_id = u.id FOR UPDATE SKIP LOCKED) d;
    SELECT array_agg(u.id), array_agg(u.period), array_agg(u.size) INTO v_job, v_gone, v_size
    FROM (SELECT * FROM unnest(v_job, v_gone, v_size) t(id, period, size) ORDER BY 1) u
    CROSS JOIN LATERAL (
      SELECT FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = u.period AND k.id = u.id FOR UPDATE SKIP LOCKED) j;
    PERFORM analysis.remove_jobs(p_shard, g.period, g.jobs), analysis.mark_purged(g.period, p_now)
    FROM (SELECT u.period, array_agg(u.id) AS jobs FROM unnest(v_job, v_gone) u(id, period) GROUP BY 1) g;
  END IF;

  IF NOT p_dry AND cardinality(v_gone) > 0 THEN
    PERFORM analysis.record_purge('dead', v_until, p_record);
  END IF;
  RETURN QUERY
  SELECT o_last, o_looked, g.period, count(g.period), coalesce(sum(g.size), 0)
  FROM (SELECT NULL::smallint AS period, NULL::int AS size WHERE v_gone IS NULL
        UNION ALL SELECT unnest(v_gone), unnest(v_size)) g
  GROUP BY g.period ORDER BY g.period;
END $$;
COMMENT ON FUNCTION analysis.purge_dead IS
  'Removes dead jobs of a shard that are past their time.';
