-- Removing what has been kept for long enough: the bounds, and whole months.
--
-- Every function here takes the moment that counts as now: a run has one for all that it does, and a test
-- its own. With p_dry nothing is changed, and the same numbers are answered.

-- What a setting keeps and is not later than this has been kept for long enough; NULL: it is kept for
-- ever. Months are those of the calendar in UTC, whatever the session's zone.
CREATE OR REPLACE FUNCTION analysis.kept_until(p_setting text, p_now timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT (analysis.check_moment(p_now) AT TIME ZONE 'UTC' - nullif(s.value, '')::interval) AT TIME ZONE 'UTC'
  FROM analysis.setting s WHERE s.name = p_setting
$$;

-- Records that something is removed: when the caller says that it is the first of its run, and whatever
-- the caller says when no entry of the last day tells of it.
CREATE OR REPLACE FUNCTION analysis.record_purge(p_object text, p_until timestamptz, p_record boolean)
RETURNS void
LANGUAGE sql AS $$
  SELECT analysis.audit_add('purge', p_object, jsonb_build_object('until', analysis.audit_time(p_until)))
  WHERE p_record OR NOT EXISTS (
    SELECT 1 FROM analysis.audit_entry a
    WHERE a.at BETWEEN clock_timestamp() - interval '1 day' AND clock_timestamp()
      AND a.action = 'purge' AND a.object = p_object
      AND a.role = session_user)
$$;

-- The months in which something may be past its time, the oldest first: images, results, all of it.
-- Nothing in a month is older than the month before, in which a period that ends in it may begin, or than its
-- partitions.
CREATE OR REPLACE FUNCTION analysis.purge_months(p_now timestamptz)
RETURNS TABLE (o_period smallint, o_images boolean, o_results boolean, o_whole boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT m.period, coalesce(s.oldest <= k.images, false), coalesce(s.oldest <= k.results, false),
         coalesce(s.ends <= k.results, false)
  FROM analysis.partition_made m
  CROSS JOIN LATERAL (
    SELECT least(m.created_at, analysis.period_start((m.period - 1)::smallint, 'Etc/GMT-14')) AS oldest,
           analysis.period_start((m.period + 1)::smallint, 'Etc/GMT+12') AS ends) s
  CROSS JOIN (
    SELECT analysis.kept_until('keep_images', p_now) AS images,
      analysis.kept_until('keep_results', p_now) AS results) k
  ORDER BY m.period
$$;
COMMENT ON FUNCTION analysis.purge_months IS
  'Answers the months in which something is past its time.';

-- Whether a month's jobs may go: when its usage is stated, so that no bill can miss them, or nothing was used
-- until then. To close a month is the accounts' decision: a purge leaves it.
CREATE OR REPLACE FUNCTION analysis.is_stated(p_period smallint) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period)
    OR NOT EXISTS (SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period < p_period)
      AND NOT EXISTS (SELECT FROM analysis.usage u WHERE u.period <= p_period)
$$;
DROP FUNCTION IF EXISTS analysis.is_stated(smallint, timestamptz, boolean);

-- The months of which something is past its time and stays, since nobody has closed them though they could be
-- closed; the oldest first.
CREATE OR REPLACE FUNCTION analysis.unclosed_months(p_now timestamptz) RETURNS TABLE (o_period smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY
  SELECT k.period
  FROM (
    SELECT m.o_period AS period FROM analysis.purge_months(p_now) m
    WHERE m.o_whole OR m.o_results AND EXISTS (
      SELECT FROM analysis.result r
      WHERE r.period = m.o_period AND r.finished_at <= analysis.kept_until('keep_results', p_now))
    UNION
    SELECT d.period FROM analysis.dead d WHERE d.failed_at <= analysis.kept_until('keep_dead', p_now)) k
  WHERE analysis.statement_due(k.period) <= p_now AND NOT analysis.is_stated(k.period)
  ORDER BY k.period;
END $$;
COMMENT ON FUNCTION analysis.unclosed_months IS
  'Answers the months that have to be closed before what is past its time can go.';

-- Notes that a month is no longer whole.
CREATE OR REPLACE FUNCTION analysis.mark_purged(p_period smallint, p_now timestamptz) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO analysis.purged_month (period, since) VALUES (p_period, p_now) ON CONFLICT (period) DO NOTHING
$$;

-- Whether all of a month is past its time and nothing in it lives: no job that is open, none that failed
-- or ended lately, no image but so many as are going anyway, and no attempt of a job that was moved to
-- another month.
CREATE OR REPLACE FUNCTION analysis.is_month_past(
  p_period smallint, p_now timestamptz, p_dry boolean, p_images bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  v_results timestamptz := analysis.kept_until('keep_results', p_now);
  v_dead timestamptz := analysis.kept_until('keep_dead', p_now);
BEGIN
  -- Maintenance keeps the past month's partitions, and would make them anew.
  IF (analysis.period_start((p_period + 1)::smallint, 'Etc/GMT+12') > v_results) IS NOT FALSE
     OR p_period >= analysis.period_of(p_now, 'UTC') - 1 THEN
    RETURN false;
  END IF;
  -- What died goes by row, before this; a dry run has left it where it is.
  IF EXISTS (SELECT 1 FROM analysis.dead d
             WHERE d.period = p_period AND NOT (p_dry AND coalesce(d.failed_at <= v_dead, false)))
     OR (SELECT count(*) FROM analysis.image i WHERE i.period = p_period) > p_images * p_dry::int
     OR EXISTS (SELECT 1 FROM analysis.result r WHERE r.period = p_period AND r.finished_at > v_results)
     OR EXISTS (SELECT 1 FROM analysis.job j
                WHERE j.period = p_period
                  AND NOT EXISTS (SELECT 1 FROM analysis.result r
                                  WHERE r.period = p_period AND r.shard = j.shard AND r.job_id = j.id)
                  AND NOT EXISTS (
                    SELECT 1 FROM analysis.dead d WHERE d.shard = j.shard AND d.job_id = j.id)) THEN
    RETURN false;
  END IF;
  RETURN NOT EXISTS (
    SELECT 1 FROM (
      SELECT DISTINCT e.shard, e.job_id FROM analysis.attempt_error e WHERE e.period = p_period) e
    CROSS JOIN analysis.partition_made m
    CROSS JOIN LATERAL (
      SELECT 1 FROM analysis.job k
      WHERE k.shard = e.shard AND k.period = m.period AND k.id = e.job_id OFFSET 0) k
    WHERE m.period <> p_period);
END $$;

-- Removes the labels of a month's jobs; their batches go when they have no job any more (prepare_months).
CREATE OR REPLACE FUNCTION analysis.purge_labels(p_period smallint) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM analysis.job_label l
  WHERE l.shard IN (SELECT h.o_shard FROM analysis.all_shards() h) AND l.period = p_period
$$;

-- Removes what clinicians said of a month's analyses.
CREATE OR REPLACE FUNCTION analysis.purge_reviews(p_period smallint) RETURNS void
LANGUAGE sql AS $$
  DELETE FROM analysis.review r
  WHERE r.shard IN (SELECT h.o_shard FROM analysis.all_shards() h) AND r.period = p_period;
  DELETE FROM analysis.review_comment c
  WHERE c.shard IN (SELECT h.o_shard FROM analysis.all_shards() h) AND c.period = p_period
$$;

-- Removes a month as a whole, when all of it is past its time: its partitions go, which is no work for
-- rows, and so does the record that it has any. Answers whether it went, with how many results. The tables
-- are locked for the moment in which the partitions leave them; who cannot have them at once (a back-end
-- that submitted may keep its transaction open) gets an error of class 55P03, has changed nothing and
-- tries again. Nothing can come into the month between looking and locking: no job is submitted into a
-- month that is over, and without a dead job none is moved.
CREATE OR REPLACE FUNCTION analysis.purge_month(
  p_period smallint, p_now timestamptz, p_dry boolean, p_images bigint)
RETURNS TABLE (o_gone boolean, o_rows bigint, o_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '200ms'
AS $$
DECLARE
  v_parent text;
  v_child text;
BEGIN
  PERFORM analysis.require_argument(
    p_period IS NOT NULL AND p_now IS NOT NULL AND p_dry IS NOT NULL AND p_images >= 0,
    'a call needs a time, whether it is a dry run, and a number of images');
  PERFORM analysis.refuse_repeatable_read();
  o_gone := analysis.is_month_past(p_period, p_now, p_dry, p_images)
    AND analysis.is_stated(p_period);
  SELECT count(*), coalesce(sum(pg_column_size(r.*)), 0) INTO o_rows, o_bytes
  FROM analysis.result r WHERE o_gone AND r.period = p_period;
  IF o_gone AND NOT p_dry THEN
    -- Of two who remove it one finds it gone.
    DELETE FROM analysis.partition_made m WHERE m.period = p_period;
    o_gone := FOUND;
  END IF;
  IF o_gone AND NOT p_dry THEN
    PERFORM analysis.purge_labels(p_period);
    PERFORM analysis.purge_reviews(p_period);
    LOCK TABLE ONLY analysis.image, ONLY analysis.job, ONLY analysis.result, ONLY analysis.attempt_error
      IN ACCESS EXCLUSIVE MODE;
    -- A review that was being added held its job, and is there now.
    PERFORM analysis.purge_reviews(p_period);
    FOREACH v_parent IN ARRAY ARRAY['image', 'job', 'result', 'attempt_error'] LOOP
      v_child := v_parent || '_p' || p_period;
      EXECUTE format('ALTER TABLE analysis.%I DETACH PARTITION analysis.%I', v_parent, v_child);
      EXECUTE format('DROP TABLE analysis.%I', v_child);
    END LOOP;
    INSERT INTO analysis.purged_month AS k (period, since, dropped_at) VALUES (p_period, p_now, p_now)
    ON CONFLICT (period) DO UPDATE SET dropped_at = EXCLUDED.dropped_at;
    PERFORM analysis.audit_add(
      'purge', 'month:' || analysis.period_text(p_period), jsonb_build_object('results', o_rows));
  END IF;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.purge_month IS
  'Removes a whole month in which nothing is needed any more.';
