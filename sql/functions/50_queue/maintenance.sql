-- What any worker does for all: turns, gauges, partitions.

-- Whether it is the caller's turn at a task: true for one caller in each interval. Where somebody else's
-- open transaction is taking the turn it is theirs.
CREATE OR REPLACE FUNCTION analysis.take_turn(p_shard smallint, p_task text, p_every_ms int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_next timestamptz := v_now + p_every_ms * interval '1 millisecond';
  v_far timestamptz := v_next + interval '10 seconds';
BEGIN
  IF (p_shard BETWEEN 0 AND 1023 AND p_task IN ('sweep', 'gauges', 'partitions')
      AND p_every_ms BETWEEN 1 AND 3600000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'a turn is taken in a shard, at sweep, gauges or partitions, after 1 ms to an hour');
  END IF;

  -- Not due is the usual answer and takes no lock. What is further ahead than an interval, and than
  -- callers can be apart, is from before the server's clock was set back, and due.
  IF EXISTS (SELECT 1 FROM analysis.maintenance m
             WHERE m.shard = p_shard AND m.task = p_task AND m.next_at > v_now AND m.next_at <= v_far) THEN
    RETURN false;
  END IF;
  INSERT INTO analysis.maintenance AS m (shard, task, next_at) VALUES (p_shard, p_task, v_next)
  ON CONFLICT (shard, task) DO UPDATE SET next_at = EXCLUDED.next_at
    WHERE NOT (m.next_at > v_now AND m.next_at <= v_far);
  RETURN FOUND;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;
COMMENT ON FUNCTION analysis.take_turn IS
  'Answers whether it is this caller''s turn at a task that one process does once an interval.';

-- How much waits, as the server counts anyway: without a SET of its own, so that it becomes a part of the
-- expression that asks.
CREATE OR REPLACE FUNCTION analysis.counted_waiting() RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT pg_stat_get_live_tuples('analysis.ready'::regclass)
    + pg_stat_get_live_tuples('analysis.scheduled'::regclass)
$$;

-- How large the database is where nobody has measured it lately: as large as it was then, or as many pages as
-- vacuum has counted since; those of the server's shared tables are no part of a database. No file is looked
-- at, of which there may be many thousands. Called with jit off: it would take longer than the sum.
CREATE OR REPLACE FUNCTION analysis.counted_bytes() RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT greatest(
    (SELECT g.value FROM analysis.gauge g WHERE g.name = 'database_bytes'),
    (SELECT sum(c.relpages::bigint) * current_setting('block_size')::int FROM pg_class c
     WHERE c.relkind IN ('r', 'm', 't', 'i', 'S') AND NOT c.relisshared))::bigint
$$;

-- What a gauge shows: measured.
CREATE OR REPLACE FUNCTION analysis.measure(p_gauge text) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE p_gauge
    WHEN 'database_bytes' THEN pg_database_size(current_database())
    WHEN 'waiting' THEN analysis.counted_waiting()
  END
$$;

-- Where somebody else's open transaction is doing the same it is left to them.
CREATE OR REPLACE FUNCTION analysis.refresh_gauges() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
BEGIN
  INSERT INTO analysis.gauge AS g (name, value, at)
  SELECT n, analysis.measure(n), clock_timestamp() FROM unnest(ARRAY['database_bytes', 'waiting']) n
  ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, at = EXCLUDED.at;
  -- Workers that ended or were lost a day ago: nobody lists them any more.
  DELETE FROM analysis.worker w
  WHERE w.heartbeat_at NOT BETWEEN clock_timestamp() - interval '1 day'
    AND clock_timestamp() + interval '1 day';
EXCEPTION WHEN lock_not_available THEN
  NULL;
END $$;
COMMENT ON FUNCTION analysis.refresh_gauges IS
  'Measures anew how much waits and how large the database is; removes workers gone for a day.';

-- Makes the partition of a table for a month: apart, and then attached, which stops neither claims nor
-- submits.
CREATE OR REPLACE FUNCTION analysis.make_partition(p_parent text, p_period smallint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_child text := p_parent || '_p' || p_period;
  v_index text;
BEGIN
  EXECUTE format(
    'CREATE TABLE analysis.%I (LIKE analysis.%I '
    'INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)',
    v_child, p_parent);
  IF p_parent = 'attempt_error' THEN
    EXECUTE format('ALTER TABLE analysis.%I REPLICA IDENTITY FULL', v_child);  -- it has no key
  END IF;
  -- Only ever grown, so vacuum comes by inserts: early enough for index-only scans of the reports.
  EXECUTE format('ALTER TABLE analysis.%I SET (autovacuum_vacuum_insert_scale_factor = 0.05)', v_child);
  -- The primary key after the indexes that begin as it does, and before those that begin otherwise: of
  -- indexes that cost the same, as all do while the month is empty, the planner takes the newest, and plans
  -- outlive that. What needs one of the others asks for its order: "user_id BETWEEN u AND u ... ORDER BY
  -- user_id" is found by the index of users alone, where "user_id = u" may be looked for in the whole month.
  -- The parent's indexes find these when the month is attached.
  FOR v_index IN
    SELECT CASE WHEN c.oid IS NOT NULL
      THEN format('ALTER TABLE analysis.%I ADD %s', v_child, pg_get_constraintdef(c.oid))
      ELSE regexp_replace(pg_get_indexdef(i.indexrelid), ' INDEX \S+ ON (ONLY )?\S+ ',
                          format(' INDEX ON analysis.%I ', v_child)) END
    FROM pg_index i
    LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u')
    WHERE i.indrelid = format('analysis.%I', p_parent)::regclass
    ORDER BY i.indkey[0] <> ALL (
      SELECT p.indkey[0] FROM pg_index p WHERE p.indrelid = i.indrelid AND p.indisprimary),
      i.indisprimary, i.indexrelid
  LOOP
    EXECUTE v_index;
  END LOOP;
  EXECUTE format('ALTER TABLE analysis.%I ATTACH PARTITION analysis.%I FOR VALUES FROM (%s) TO (%s)',
                 p_parent, v_child, p_period, p_period + 1);
END $$;

-- Makes the months' partitions that are not there yet; answers how many months were made.
CREATE OR REPLACE FUNCTION analysis.ensure_partitions(p_from smallint, p_to smallint) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_present smallint := analysis.period_of(clock_timestamp(), 'UTC');
  v_made int := 0;
  v_parent text;
BEGIN
  PERFORM analysis.require_argument(
    p_from >= v_present - 36
      AND p_to <= v_present + 24, 'months are made from 36 months ago to 24 months ahead');
  FOR v_period IN p_from .. p_to LOOP
    -- Whoever inserts the row makes the month; a second caller waits for the first and then has nothing to
    -- do.
    INSERT INTO analysis.partition_made (period) VALUES (v_period) ON CONFLICT (period) DO NOTHING;
    CONTINUE WHEN NOT FOUND;
    FOREACH v_parent IN ARRAY ARRAY['job', 'image', 'result', 'attempt_error'] LOOP
      PERFORM analysis.make_partition(v_parent, v_period::smallint);
    END LOOP;
    -- File names and hashes are not to be copied into the planner's statistics, where no erasure finds them.
    EXECUTE format(
      'ALTER TABLE analysis.%I ALTER COLUMN source_name SET STATISTICS 0, '
      'ALTER COLUMN image_mark SET STATISTICS 0', 'job_p' || v_period);
    -- Images that are removed while their month runs have to find its jobs meanwhile.
    IF (SELECT nullif(s.value, '')::interval < interval '28 days' FROM analysis.setting s
      WHERE s.name = 'keep_images') THEN
      EXECUTE format(
        'CREATE INDEX %I ON analysis.%I (shard, image_id)', 'job_p' || v_period || '_image',
        'job_p' || v_period);
    END IF;
    v_made := v_made + 1;
  END LOOP;
  RETURN v_made;
END $$;
COMMENT ON FUNCTION analysis.ensure_partitions IS
  'Makes the missing partitions of a range of months.';

-- Removes batches that were opened 30 days ago or more and have no job: nothing of them was taken, or it is
-- gone. One that an open submit uses is left.
CREATE OR REPLACE FUNCTION analysis.remove_empty_batches() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_batch bigint[] := ARRAY(
    SELECT b.id FROM analysis.batch b
    WHERE b.created_at < clock_timestamp() - interval '30 days' AND NOT EXISTS (
      SELECT FROM analysis.all_shards() h
      CROSS JOIN LATERAL (
        SELECT FROM analysis.job_label l WHERE l.shard = h.o_shard AND l.batch_id = b.id LIMIT 1) l)
    ORDER BY b.id FOR UPDATE OF b SKIP LOCKED);
BEGIN
  -- In a statement of its own, which sees the jobs of submits that have just ended.
  WITH gone AS (
    DELETE FROM analysis.batch b
    WHERE b.id = ANY (v_batch) AND NOT EXISTS (
      SELECT FROM analysis.all_shards() h
      CROSS JOIN LATERAL (
        SELECT FROM analysis.job_label l WHERE l.shard = h.o_shard AND l.batch_id = b.id LIMIT 1) l)
    RETURNING b.id)
  DELETE FROM analysis.batch_refusal f USING gone g WHERE f.batch_id = g.id;
END $$;

-- Makes what is missing of the partitions from the past month to three months ahead; answers how many
-- months were made. Batches without a job go too: a worker calls this once an hour. What somebody else makes
-- in an open transaction is waited for, for two seconds at most.
CREATE OR REPLACE FUNCTION analysis.prepare_months() RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  v_month smallint := analysis.period_of(clock_timestamp(), 'UTC');
BEGIN
  PERFORM analysis.remove_empty_batches();
  RETURN analysis.ensure_partitions((v_month - 1)::smallint, (v_month + 3)::smallint);
END $$;
COMMENT ON FUNCTION analysis.prepare_months IS
  'Makes the missing partitions from the past month to three months ahead, and removes empty batches.';

-- The months that have partitions, the latest first.
CREATE OR REPLACE FUNCTION analysis.months() RETURNS TABLE (o_period smallint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT m.period
  FROM analysis.partition_made m
  ORDER BY m.period DESC
$$;
COMMENT ON FUNCTION analysis.months IS
  'Answers the months that have partitions, the latest first.';
