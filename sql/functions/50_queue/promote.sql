-- Moves scheduled jobs whose time has come to their lanes, at most p_limit of each lane by age; answers
-- how many rows were moved or dropped in the fullest lane, so that the caller goes on at once while that
-- is p_limit or more.
--
-- Lanes go one after the other, urgent ones first. Where more of a lane are due than one call takes, the
-- next users are given a turn beside: a few jobs each, whatever others have due before them.
CREATE OR REPLACE FUNCTION analysis.promote(p_shard smallint, p_limit int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET enable_bitmapscan = off SET lock_timeout = '500ms'
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_lane smallint;
  v_after bigint;                      -- the user after whom the turns go on
  v_from timestamptz := (analysis.scan_marks(p_shard, v_now)).o_run_from;
  v_count int;
  v_most int := 0;
BEGIN
  IF (p_shard IS NOT NULL AND p_limit BETWEEN 0 AND 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'a promotion names a shard and at most 100000 rows');
  END IF;
  IF current_setting('transaction_isolation') = 'repeatable read' THEN
    PERFORM analysis.refuse_repeatable_read();
  END IF;

  FOR v_lane IN
    SELECT l.lane FROM (SELECT generate_series(4, 11)::smallint AS lane) l
    CROSS JOIN LATERAL (
      SELECT 1 FROM analysis.scheduled s
      WHERE s.shard = p_shard AND s.lane = l.lane AND s.run_at BETWEEN v_from AND v_now
      ORDER BY s.shard, s.lane, s.run_at, s.job_id LIMIT 1) d
    ORDER BY analysis.priority_of(l.lane), l.lane
  LOOP
    BEGIN
      v_count := analysis.promote_oldest(p_shard, v_lane, p_limit, v_from, v_now);
    EXCEPTION WHEN lock_not_available THEN
      -- Somebody else's open transaction has the place of one of the users: those of the others go on.
      v_count := analysis.promote_apart(p_shard, v_lane, v_from, v_now);
    END;
    v_most := greatest(v_most, v_count);
    CONTINUE WHEN v_count < p_limit;
    SELECT c.turn_user INTO v_after FROM analysis.lane_clock c WHERE c.shard = p_shard AND c.lane = v_lane;
    BEGIN
      v_after := analysis.promote_in_turn(p_shard, v_lane, coalesce(v_after, 0), v_from, v_now);
      UPDATE analysis.lane_clock c SET turn_user = v_after
      WHERE c.shard = p_shard AND c.lane = (
        SELECT k.lane FROM analysis.lane_clock k
        WHERE k.shard = p_shard AND k.lane = v_lane FOR NO KEY UPDATE SKIP LOCKED);
    EXCEPTION WHEN lock_not_available THEN
      NULL;
    END;
  END LOOP;
  IF v_most > 0 THEN
    PERFORM analysis.note_taken(p_shard, v_now);
  END IF;
  RETURN v_most;
END $$;
DROP FUNCTION IF EXISTS analysis.promote_oldest(smallint, smallint, int, timestamptz);
DROP FUNCTION IF EXISTS analysis.promote_apart(smallint, smallint, timestamptz);
DROP FUNCTION IF EXISTS analysis.promote_in_turn(smallint, smallint, bigint, timestamptz);
COMMENT ON FUNCTION analysis.promote IS
  'Moves scheduled jobs that are due to their lanes.';

-- The due jobs of a lane that have waited longest; answers how many were moved or dropped. Called by
-- functions, whose settings hold, like the next two.
CREATE OR REPLACE FUNCTION analysis.promote_oldest(
  p_shard smallint, p_lane smallint, p_limit int, p_from timestamptz, p_now timestamptz)
RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  v_count int;
  v_job bigint[];
  v_period smallint[];
  v_tries smallint[];
  v_user bigint[];
  v_counted boolean[];
BEGIN
  -- Taken in the same form as a claim takes. A job that a cancellation is just ending is passed over.
  WITH taken AS (
    WITH x AS MATERIALIZED (
      SELECT s.ctid, s.job_id, s.period FROM analysis.scheduled s
      WHERE s.shard = p_shard AND s.lane = p_lane AND s.run_at BETWEEN p_from AND p_now
      ORDER BY s.shard, s.lane, s.run_at, s.job_id
      LIMIT p_limit FOR UPDATE SKIP LOCKED),
    free AS MATERIALIZED (
      SELECT x.ctid FROM x
      LEFT JOIN LATERAL (
        SELECT true AS held FROM analysis.job k
        WHERE k.shard = p_shard AND k.period = x.period AND k.id = x.job_id
        FOR NO KEY UPDATE SKIP LOCKED) h ON true
      WHERE h.held OR NOT EXISTS (
        SELECT 1 FROM analysis.job k WHERE k.shard = p_shard AND k.period = x.period AND k.id = x.job_id))
    DELETE FROM analysis.scheduled d
    WHERE d.ctid = ANY (ARRAY(SELECT f.ctid FROM free f)) AND d.shard IS NOT DISTINCT FROM p_shard
    RETURNING d.job_id, d.period, d.tries, d.user_id, d.is_counted, d.run_at)
  SELECT array_agg(t.job_id), array_agg(t.period), array_agg(t.tries), array_agg(t.user_id),
    array_agg(t.is_counted), count(*)
  INTO v_job, v_period, v_tries, v_user, v_counted, v_count
  FROM (SELECT u.* FROM taken u ORDER BY u.run_at, u.job_id) t;
  PERFORM analysis.promote_taken(p_shard, p_lane, v_job, v_period, v_tries, v_user, v_counted, p_now);
  RETURN v_count;
END $$;

-- The due jobs of up to 100 users of a lane, user by user, up to 100 of each: one whose place somebody
-- else's open transaction holds is passed over after 10 ms. Answers how many jobs of one user were moved or
-- dropped at most, which is fewer than a round: the caller comes again.
CREATE OR REPLACE FUNCTION analysis.promote_apart(
  p_shard smallint, p_lane smallint, p_from timestamptz, p_now timestamptz)
RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  v_user bigint;
  v_job bigint[];
  v_period smallint[];
  v_tries smallint[];
  v_counted boolean[];
  v_most int := 0;
BEGIN
  PERFORM set_config('lock_timeout', '10ms', true);
  FOR v_user IN
    SELECT d.user_id FROM (
      SELECT DISTINCT u.user_id FROM (
        SELECT s.user_id FROM analysis.scheduled s
        WHERE s.shard = p_shard AND s.lane = p_lane AND s.run_at BETWEEN p_from AND p_now
        ORDER BY s.shard, s.lane, s.run_at, s.job_id LIMIT 10000) u) d
    ORDER BY random() LIMIT 100
  LOOP
    BEGIN
      WITH x AS MATERIALIZED (
        SELECT s.ctid, s.job_id, s.period FROM analysis.scheduled s
        WHERE s.shard = p_shard AND s.lane = p_lane AND s.user_id = v_user
          AND s.run_at BETWEEN p_from AND p_now
        ORDER BY s.shard, s.lane, s.user_id, s.run_at, s.job_id
        LIMIT 100 FOR UPDATE SKIP LOCKED),
      free AS MATERIALIZED (
        SELECT x.ctid FROM x
        CROSS JOIN LATERAL (
          SELECT 1 FROM analysis.job k
          WHERE k.shard = p_shard AND k.period = x.period AND k.id = x.job_id
          FOR NO KEY UPDATE SKIP LOCKED) h),
      taken AS (
        DELETE FROM analysis.scheduled d
        WHERE d.ctid = ANY (ARRAY(SELECT f.ctid FROM free f)) AND d.shard IS NOT DISTINCT FROM p_shard
        RETURNING d.job_id, d.period, d.tries, d.is_counted, d.run_at)
      SELECT array_agg(t.job_id), array_agg(t.period), array_agg(t.tries), array_agg(t.is_counted)
      INTO v_job, v_period, v_tries, v_counted
      FROM (SELECT u.* FROM taken u ORDER BY u.run_at, u.job_id) t;
      CONTINUE WHEN v_job IS NULL;     -- all of them are held
      PERFORM analysis.promote_taken(
        p_shard, p_lane, v_job, v_period, v_tries, array_fill(v_user, ARRAY[cardinality(v_job)]), v_counted,
        p_now);
      v_most := greatest(v_most, cardinality(v_job));
    EXCEPTION WHEN lock_not_available THEN
      NULL;
    END;
  END LOOP;
  PERFORM set_config('lock_timeout', '500ms', true);
  RETURN v_most;
END $$;

-- Up to four due jobs of each of the next 250 users who have any job scheduled in a lane; answers the last
-- of these users, or 0 when the round is complete.
CREATE OR REPLACE FUNCTION analysis.promote_in_turn(
  p_shard smallint, p_lane smallint, p_after bigint, p_from timestamptz, p_now timestamptz)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_next bigint := p_after;
  v_taken record;
  v_job bigint[] := '{}';
  v_period smallint[] := '{}';
  v_tries smallint[] := '{}';
  v_user bigint[] := '{}';
  v_counted boolean[] := '{}';
BEGIN
  FOR i IN 1 .. 250 LOOP
    SELECT s.user_id INTO v_next FROM analysis.scheduled s
    WHERE s.shard = p_shard AND s.lane = p_lane AND s.user_id > v_next AND s.run_at >= p_from
    ORDER BY s.shard, s.lane, s.user_id, s.run_at, s.job_id LIMIT 1;
    EXIT WHEN NOT FOUND;
    FOR v_taken IN
      SELECT t.* FROM (
        SELECT s.run_at, s.job_id, s.period, s.tries, s.is_counted FROM analysis.scheduled s
        WHERE s.shard = p_shard AND s.lane = p_lane AND s.user_id = v_next
          AND s.run_at BETWEEN p_from AND p_now
        ORDER BY s.shard, s.lane, s.user_id, s.run_at, s.job_id
        LIMIT 4 FOR UPDATE SKIP LOCKED) t
      CROSS JOIN LATERAL (
        SELECT 1 FROM analysis.job k
        WHERE k.shard = p_shard AND k.period = t.period AND k.id = t.job_id FOR NO KEY UPDATE SKIP LOCKED) h
    LOOP
      DELETE FROM analysis.scheduled d
      WHERE d.shard = p_shard AND d.lane = p_lane AND d.run_at = v_taken.run_at AND d.job_id = v_taken.job_id;
      v_job := v_job || v_taken.job_id;
      v_period := v_period || v_taken.period;
      v_tries := v_tries || v_taken.tries;
      v_user := v_user || v_next;
      v_counted := v_counted || v_taken.is_counted;
    END LOOP;
  END LOOP;
  PERFORM analysis.promote_taken(p_shard, p_lane, v_job, v_period, v_tries, v_user, v_counted, p_now);
  RETURN coalesce(v_next, 0);
END $$;

-- Queues jobs that were taken out of `scheduled`, less those cancelled before. They take places of a
-- source of their own: a user whose jobs are tried again in numbers, or run at the same hour, delays
-- nobody else.
CREATE OR REPLACE FUNCTION analysis.promote_taken(
  p_shard smallint, p_lane smallint, p_jobs bigint[], p_periods smallint[], p_tries smallint[],
  p_users bigint[], p_counted boolean[], p_now timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_period smallint[];
  v_job bigint[];
  v_vt bigint[];
BEGIN
  IF coalesce(cardinality(p_jobs), 0) = 0 THEN
    RETURN;
  END IF;
  WITH due AS MATERIALIZED (
    SELECT t.*, row_number() OVER (PARTITION BY t.user_id ORDER BY t.i) - 1 AS position
    FROM (SELECT generate_series(1, cardinality(p_jobs)) AS i, unnest(p_jobs) AS job_id,
                 unnest(p_periods) AS period, unnest(p_tries) AS tries, unnest(p_users) AS user_id) t
    CROSS JOIN LATERAL (
      SELECT 1 FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = t.period AND k.id = t.job_id AND NOT k.closed OFFSET 0) j),
  grouped AS MATERIALIZED (
    SELECT g.*, coalesce((SELECT l.cost FROM analysis.limit_of(p_shard, g.user_id, p_now) l), 1000) AS cost
    FROM (SELECT d.user_id, count(*) AS n, (array_agg(d.job_id ORDER BY d.i DESC))[1] AS tail FROM due d
      GROUP BY 1) g),
  wanted AS (
    SELECT array_agg(g.user_id) AS users, array_agg(p_lane) AS lanes, array_agg(g.cost) AS costs,
           array_agg(g.n) AS counts, array_agg(g.tail) AS tails
    FROM grouped g HAVING count(*) > 0),
  places AS MATERIALIZED (
    SELECT p.* FROM wanted w
    CROSS JOIN LATERAL analysis.take_places(
      p_shard, 1::smallint, w.users, w.lanes, w.costs, w.counts, w.tails) p),
  queued AS (
    INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
    SELECT p_shard, p_lane, d.tries, d.period, p.o_first + d.position * g.cost, d.job_id
    FROM due d
    JOIN grouped g ON g.user_id = d.user_id
    JOIN places p ON p.o_user = d.user_id
    RETURNING period, job_id, vt)
  SELECT array_agg(q.period), array_agg(q.job_id), array_agg(q.vt) INTO v_period, v_job, v_vt
  FROM queued q;
  IF v_job IS NOT NULL THEN
    PERFORM analysis.note_places(p_shard, v_period, v_job, v_vt, 1::smallint);
  END IF;

  -- Those that were submitted for later wait no more there.
  INSERT INTO analysis.freed_place (shard, lane, source, later, user_id, vt)
  SELECT p_shard, p_lane, 0, count(*), t.user_id, 0
  FROM (SELECT unnest(p_users) AS user_id, unnest(p_counted) AS is_counted) t
  WHERE t.is_counted
  GROUP BY t.user_id;
END $$;
