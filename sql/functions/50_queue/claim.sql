-- Claiming: the hottest statement.

-- Takes rows of cancelled jobs out of a lane: of the first p_limit rows from virtual time p_from on.
-- Answers how many they were, and from which virtual time on there may be others. Called by claim alone,
-- whose settings hold.
CREATE OR REPLACE FUNCTION analysis.drop_cancelled(
  p_shard smallint, p_lane smallint, p_from bigint, p_limit int, OUT o_dropped int, OUT o_vt bigint)
LANGUAGE plpgsql AS $$
BEGIN
  WITH x AS MATERIALIZED (
    SELECT r.ctid, r.vt, r.job_id, r.period FROM analysis.ready r
    WHERE r.shard = p_shard AND r.lane = p_lane AND r.vt >= p_from
    ORDER BY r.shard, r.lane, r.vt, r.job_id
    LIMIT p_limit FOR UPDATE SKIP LOCKED),
  judged AS MATERIALIZED (
    SELECT x.ctid, x.vt, j.is_open FROM x
    LEFT JOIN LATERAL (
      SELECT true AS is_open FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = x.period AND k.id = x.job_id
        AND NOT k.closed OFFSET 0) j ON true),
  gone AS (
    DELETE FROM analysis.ready d
    WHERE d.ctid = ANY (ARRAY(SELECT j.ctid FROM judged j WHERE j.is_open IS NULL))
      AND d.shard IS NOT DISTINCT FROM p_shard
    RETURNING 1)
  SELECT (SELECT count(*) FROM gone), coalesce(min(j.vt) FILTER (WHERE j.is_open), max(j.vt), p_from)
  INTO o_dropped, o_vt FROM judged j;
END $$;

-- Drops the rows of cancelled jobs from virtual time p_from on, by the thousand, without a lease, until there
-- are few or p_until has come. Answers as drop_cancelled does.
CREATE OR REPLACE FUNCTION analysis.drop_all_cancelled(
  p_shard smallint, p_lane smallint, p_from bigint, p_until timestamptz, OUT o_dropped int, OUT o_vt bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_dropped int;
BEGIN
  o_dropped := 0;
  o_vt := p_from;
  LOOP
    SELECT c.o_dropped, c.o_vt INTO v_dropped, o_vt
    FROM analysis.drop_cancelled(p_shard, p_lane, o_vt, 2000) c;
    o_dropped := o_dropped + v_dropped;
    EXIT WHEN v_dropped < 1000 OR clock_timestamp() > p_until;
  END LOOP;
END $$;

-- Whether a claim names all that it has to. A part of what calls it.
CREATE OR REPLACE FUNCTION analysis.is_claim(
  p_shard smallint, p_worker bytea, p_lease bigint, p_lanes smallint[], p_from bigint[], p_limits int[],
  p_n int, p_lease_ms int)
RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_shard IS NOT NULL AND octet_length(p_worker) = 32 AND p_lease BETWEEN 0 AND 9223372036854775707
    AND p_n BETWEEN 0 AND 100000 AND p_lease_ms BETWEEN 1 AND 86400000 AND cardinality(p_lanes) <= 100
    AND analysis.is_list(p_lanes, cardinality(p_lanes)) AND analysis.is_list(p_from, cardinality(p_lanes))
    AND analysis.is_list(p_limits, cardinality(p_lanes)) AND array_position(p_lanes, NULL) IS NULL
    AND array_position(p_from, NULL) IS NULL AND array_position(p_limits, NULL) IS NULL) IS TRUE
$$;

-- Goes through the lanes in order until p_n jobs are taken, at most p_limits[i] from lane i beginning at
-- virtual time p_from[i]. Of a limit the lower 24 bits count; those above them say which unsanitized jobs
-- are taken: 0 any, else as take_decodable has it. Each lane that yields gets a lease of its own, p_lease + i
-- - 1. Of the lane of quarantined jobs a lease is one job, whatever the limit says.
--
-- No bitmap scan: a table that was analysed while few rows waited invites one, and it reads every dead
-- entry of the lane, each time, since it marks none of them as dead for those who come after.
--
-- A cancellation takes its job out of the queue; rows of cancelled jobs that are met all the same are
-- dropped, for 50 ms at most, so that every claim is short and what it dropped stays dropped. A lane in
-- which that happened has one row more, without a job: from which virtual time on to look the next time.
-- It is not to be taken for empty.
--
-- The commit waits for no disk. If the server crashes before the log is written, which takes it less than a
-- second, the claim is lost: its jobs are in the queue, whoever took them stores nothing since the lease is
-- not there, and they are called for again. No other lease is taken for it, since workers draw the numbers.
-- What ends a job, and each heartbeat, waits for the log with the claim in it. Two claims wait too, since a
-- job that makes the server crash has to be found out: that of a quarantined job, and each of the first
-- seconds of a connection, as all are after a crash.
CREATE OR REPLACE FUNCTION analysis.claim(
  p_shard smallint, p_worker bytea, p_lease bigint, p_lanes smallint[], p_from bigint[], p_limits int[],
  p_n int, p_lease_ms int)
RETURNS TABLE (
  o_lease bigint, o_lane smallint, o_job bigint, o_period smallint, o_attempt smallint, o_vt bigint,
  o_user bigint, o_kind smallint, o_image_period smallint, o_image bigint, o_bytes int,
  o_unsanitized boolean, o_expired boolean, o_max_attempts smallint, o_image_mark bytea)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET enable_bitmapscan = off SET lock_timeout = '500ms'
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_deadline timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_until timestamptz := v_now + interval '50 milliseconds';
  -- When the connection made its first claim. A setting, since a server process knows the age of its
  -- connection only by a look at all processes. Without it, a claim is as the first.
  v_first float8 := nullif(current_setting('analysis.first_claim', true), '');
  v_is_durable boolean := (extract(epoch FROM v_now) >= v_first + 5) IS NOT TRUE;
  v_worker bigint := analysis.worker_number(p_worker);
  v_left int := p_n;
  v_from bigint[] := p_from;           -- where each lane's scan begins; NULL: there is nothing in it
  v_take int;
  v_found int;
  v_dropped int;                       -- rows of cancelled jobs, in this lane
  v_job bigint[];
  v_period smallint[];
  v_tries smallint[];
  v_vt bigint[];
  v_last bigint;
  v_oldest smallint;                   -- the months of what was taken
  v_newest smallint;
BEGIN
  IF NOT analysis.is_claim(p_shard, p_worker, p_lease, p_lanes, p_from, p_limits, p_n, p_lease_ms) THEN
    PERFORM analysis.require_argument(
      false,
      'a claim names a shard, a worker, a lease and its time, lanes with a mark and limit each, a count');
  END IF;
  IF current_setting('transaction_isolation') = 'repeatable read' THEN
    PERFORM analysis.refuse_repeatable_read();
  END IF;

  -- 1. Of several lanes most are empty most of the time. To look at all of them costs less than to set out
  --    once in vain; and a lane that is not is scanned from its first row, so that what lies dead before it
  --    is stepped over once.
  IF cardinality(p_lanes) > 1 THEN
    v_from := ARRAY(
      SELECT (SELECT r.vt FROM analysis.ready r
              WHERE r.shard = p_shard AND r.lane = l.lane AND r.vt >= l.scan_from
              ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT 1)
      FROM (SELECT unnest(p_lanes) AS lane, unnest(p_from) AS scan_from) l);
  END IF;
  FOR i IN 1 .. coalesce(cardinality(p_lanes), 0) LOOP
    v_take := CASE WHEN analysis.is_quarantine(p_lanes[i]) THEN least(v_left, p_limits[i] & 16777215, 1)
      ELSE least(v_left, p_limits[i] & 16777215) END;
    CONTINUE WHEN v_take <= 0 OR p_limits[i] < 0 OR v_from[i] IS NULL;
    v_found := 0;
    v_dropped := 0;
    LOOP
      -- 2. Take the first rows that nobody else is taking. The rows are found inside the DELETE's own WITH,
      -- once; the DELETE reaches them by their address alone. No condition on it may be one that an index
      -- serves: by an index a plan could go through the whole shard, or all jobs of the same virtual time.
      IF p_limits[i] <= 16777215 THEN
        WITH taken AS (
          WITH x AS MATERIALIZED (
            SELECT r.ctid FROM analysis.ready r
            WHERE r.shard = p_shard AND r.lane = p_lanes[i] AND r.vt >= v_from[i]
            ORDER BY r.shard, r.lane, r.vt, r.job_id
            LIMIT v_take FOR UPDATE SKIP LOCKED)
          DELETE FROM analysis.ready d
          WHERE d.ctid = ANY (ARRAY(SELECT x.ctid FROM x)) AND d.shard IS NOT DISTINCT FROM p_shard
          RETURNING d.job_id, d.period, d.tries, d.vt)
        SELECT array_agg(t.job_id), array_agg(t.period), array_agg(t.tries), array_agg(t.vt), max(t.vt),
               min(t.period), max(t.period)
        INTO v_job, v_period, v_tries, v_vt, v_last, v_oldest, v_newest
        FROM taken t;
      ELSE
        SELECT t.o_job, t.o_period, t.o_tries, t.o_vt, d.last, d.oldest, d.newest
        INTO v_job, v_period, v_tries, v_vt, v_last, v_oldest, v_newest
        FROM analysis.take_decodable(
          p_shard, p_lanes[i], v_from[i], v_take, p_limits[i] >> 24, v_worker) t
        CROSS JOIN LATERAL (
          SELECT max(u.vt) AS last, min(u.period) AS oldest, max(u.period) AS newest
          FROM unnest(t.o_vt, t.o_period) u(vt, period)) d;
      END IF;
      EXIT WHEN v_job IS NULL;

      RETURN QUERY
      -- 3. What the worker needs to know of them, each by its whole key: a set of keys could become a walk
      --    through the month in a plan that was made while the table was empty. The months of what was
      --    taken, nearly always one, bound the search: the server sets up the plan for these months alone.
      --    Each month more took a claim of one job 1.5 % longer. Those cancelled meanwhile drop out.
      WITH found AS MATERIALIZED (
        SELECT t.*, j.*
        FROM (SELECT unnest(v_job) AS job_id, unnest(v_period) AS period, unnest(v_tries) AS tries,
          unnest(v_vt) AS vt) t
        CROSS JOIN LATERAL (
          SELECT k.user_id, k.kind, k.image_period, k.image_id, k.image_bytes, k.image_unsanitized,
                 k.max_attempts, k.image_mark, coalesce(k.expires_at <= v_now, false) AS expired
          FROM analysis.job k
          WHERE k.shard = p_shard AND k.period = t.period AND k.id = t.job_id
            AND k.period BETWEEN v_oldest AND v_newest AND NOT k.closed OFFSET 0) j
        ORDER BY t.vt, t.job_id),
      -- 4. The lease.
      leased AS (
        INSERT INTO analysis.lease (
          shard, lane, lease_ms, id, worker_id, deadline, job_ids, periods, tries, user_ids)
        SELECT p_shard, p_lanes[i], p_lease_ms, p_lease + i - 1, v_worker, v_deadline,
               array_agg(f.job_id), array_agg(f.period), array_agg(f.tries), array_agg(f.user_id)
        FROM found f HAVING count(*) > 0)
      SELECT p_lease + i - 1, p_lanes[i], f.job_id, f.period, (analysis.attempts_of(f.tries) + 1)::smallint,
             f.vt, f.user_id, f.kind, f.image_period, f.image_id, f.image_bytes, f.image_unsanitized,
             f.expired, f.max_attempts, f.image_mark
      FROM found f;
      GET DIAGNOSTICS v_found = ROW_COUNT;
      v_dropped := v_dropped + cardinality(v_job) - v_found;
      EXIT WHEN v_found > 0;

      -- 5. All were cancelled, and so may be many behind them.
      SELECT v_dropped + c.o_dropped, c.o_vt INTO v_dropped, v_last
      FROM analysis.drop_all_cancelled(p_shard, p_lanes[i], v_last, v_until) c;
      v_from[i] := v_last;
      v_found := 0;
      EXIT WHEN clock_timestamp() > v_until;
    END LOOP;
    IF v_dropped > 0 THEN
      o_lane := p_lanes[i];
      o_vt := coalesce(v_last, v_from[i]);
      RETURN NEXT;
    END IF;
    v_left := v_left - v_found;
    v_is_durable := v_is_durable OR v_found > 0 AND analysis.is_quarantine(p_lanes[i]);
    EXIT WHEN v_left <= 0;
  END LOOP;

  -- 6. Whether the commit waits.
  IF v_first IS NULL OR v_first > extract(epoch FROM v_now) THEN
    PERFORM set_config('analysis.first_claim', extract(epoch FROM v_now)::text, false);
  END IF;
  IF NOT v_is_durable AND v_left < p_n THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
END $$;
COMMENT ON FUNCTION analysis.claim IS
  'Takes waiting jobs of some lanes for a worker, under one lease a lane.';

-- Takes the first p_limit jobs of a lane from virtual time p_from on, without those whose images have to be
-- cleaned first: none of these at p_unsanitized 1, and one at 2, of a user of whom the worker holds no job.
-- They are left where they wait. Answers the jobs as claim collects them. Called by claim alone, whose
-- settings hold.
CREATE OR REPLACE FUNCTION analysis.take_decodable(
  p_shard smallint, p_lane smallint, p_from bigint, p_limit int, p_unsanitized int, p_worker bigint,
  OUT o_job bigint[], OUT o_period smallint[], OUT o_tries smallint[], OUT o_vt bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  v_row tid[];
BEGIN
  WITH x AS MATERIALIZED (
    SELECT r.ctid, r.vt, r.job_id, r.period FROM analysis.ready r
    WHERE r.shard = p_shard AND r.lane = p_lane AND r.vt >= p_from
    ORDER BY r.shard, r.lane, r.vt, r.job_id
    LIMIT p_limit FOR UPDATE SKIP LOCKED),
  held AS MATERIALIZED (
    SELECT unnest(l.user_ids) AS user_id FROM analysis.lease l
    WHERE l.shard = p_shard AND l.worker_id = p_worker AND p_unsanitized = 2),
  judged AS (
    SELECT x.ctid, x.vt, x.job_id, coalesce(j.image_unsanitized, false) AS unsanitized,
           p_unsanitized = 2 AND j.user_id NOT IN (SELECT h.user_id FROM held h) AS fits
    FROM x
    LEFT JOIN LATERAL (
      SELECT k.image_unsanitized, k.user_id FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = x.period AND k.id = x.job_id OFFSET 0) j ON true),
  counted AS (
    SELECT d.*, count(*) FILTER (WHERE d.unsanitized AND d.fits) OVER (ORDER BY d.vt, d.job_id) AS n
    FROM judged d)
  SELECT array_agg(c.ctid) INTO v_row FROM counted c WHERE NOT c.unsanitized OR c.fits AND c.n = 1;
  WITH taken AS (
    DELETE FROM analysis.ready d
    WHERE d.ctid = ANY (v_row) AND d.shard IS NOT DISTINCT FROM p_shard
    RETURNING d.job_id, d.period, d.tries, d.vt)
  SELECT array_agg(t.job_id), array_agg(t.period), array_agg(t.tries), array_agg(t.vt)
  INTO o_job, o_period, o_tries, o_vt FROM taken t;
END $$;
