-- Lists of jobs.

-- Those of some jobs of a month that are meant, in the order in which they are named. Called by functions,
-- whose settings hold, and which know what their caller may see: users of p_clinics, NULL for all. p_leased:
-- the jobs that run.
--
-- The statement names its month's tables: to plan and to open those of all months would take longer than the
-- answer.
CREATE OR REPLACE FUNCTION analysis.meant_jobs(
  p_shard smallint, p_month smallint, p_jobs bigint[], p_limit int, p_user bigint, p_state text,
  p_kind smallint, p_clinics int[], p_leased bigint[])
RETURNS SETOF analysis.listed_job
LANGUAGE plpgsql STABLE
SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
  -- $1 shard, $2 month, $3 the jobs, $4 how many, $5 user, $6 state, $7 kind, $8 clinics, $9 the jobs that
  -- run.
  RETURN QUERY EXECUTE format($meant$
    SELECT p.id, $2, a.user_ref, p.kind, p.lane, p.state, p.created_at, p.run_at, p.expires_at, p.finished_at,
      -- Attempts that count: the one that gave the result, or those consumed so far.
      coalesce(p.attempts, (
        SELECT count(*) FROM analysis.attempt_error_p%1$s e
        WHERE e.shard = $1 AND e.period = $2 AND e.job_id = p.id AND e.consumed))::int,
      p.source_name
    FROM (
      SELECT s.* FROM (
        SELECT g.position, j.id, j.user_id, j.kind, j.lane, j.created_at,
          coalesce(n.run_at, j.run_at) AS run_at, j.expires_at, j.source_name,
          coalesce(r.finished_at, d.failed_at) AS finished_at,
          CASE r.outcome WHEN 1 THEN r.attempt ELSE d.attempts END AS attempts,
          CASE WHEN r.outcome = 1 THEN 'succeeded'
               WHEN r.outcome = 2 THEN 'cancelled'
               WHEN d.failed_at IS NOT NULL THEN 'dead'
               WHEN j.id IN (SELECT unnest($9)) THEN 'running'
               WHEN n.run_at IS NOT NULL THEN 'scheduled'
               ELSE 'waiting' END AS state
        FROM unnest($3) WITH ORDINALITY g(id, position)
        CROSS JOIN LATERAL (
          SELECT k.id, k.user_id, k.kind, k.lane, k.created_at, k.run_at, k.expires_at, k.source_name
          FROM analysis.job_p%1$s k WHERE k.shard = $1 AND k.period = $2 AND k.id = g.id OFFSET 0) j
        LEFT JOIN LATERAL (
          SELECT f.outcome, f.attempt, f.finished_at FROM analysis.result_p%1$s f
          WHERE f.shard = $1 AND f.period = $2 AND f.job_id = j.id OFFSET 0) r ON true
        LEFT JOIN LATERAL (
          SELECT x.attempts, x.failed_at FROM analysis.dead x
          WHERE r.outcome IS NULL AND x.shard = $1 AND x.job_id = j.id OFFSET 0) d ON true
        LEFT JOIN LATERAL (
          SELECT q.run_at FROM analysis.scheduled q
          WHERE r.outcome IS NULL AND q.shard = $1 AND q.period = $2 AND q.job_id = j.id OFFSET 0) n ON true
        WHERE ($7 IS NULL OR j.kind = $7) AND ($5 IS NULL OR j.user_id = $5)
          AND ($8 IS NULL OR (
            SELECT c.clinic_id FROM analysis.account c WHERE c.shard = $1 AND c.user_id = j.user_id)
              = ANY ($8))) s
      WHERE $6 IS NULL OR s.state = $6
      ORDER BY s.position LIMIT $4) p
    CROSS JOIN LATERAL (
      SELECT k.user_ref FROM analysis.account k WHERE k.shard = $1 AND k.user_id = p.user_id OFFSET 0) a
    ORDER BY p.position
    $meant$, p_month)
  USING p_shard, p_month, p_jobs, p_limit, p_user, p_state, p_kind, p_clinics, p_leased;
END $$;

-- The statement by which list_jobs looks at the next jobs of a month, the latest first: which there are, and
-- which of them may be meant. Its %1$s is the month's label; $1 is the shard, $2 the month, $3 before which
-- job, $4 how many, $5 the user, $6 and $7 the set of all that can be meant, with their months.
CREATE OR REPLACE FUNCTION analysis.next_jobs(p_state text, p_has_user boolean, p_has_set boolean)
RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_next text;
BEGIN
  v_next := CASE
    WHEN p_has_set THEN
      'SELECT s.id FROM unnest($6, $7) s(id, period) WHERE s.period = $2 AND s.id < $3 ORDER BY s.id DESC'
    WHEN p_state = 'dead' THEN
      'SELECT d.job_id FROM analysis.dead d WHERE d.shard = $1 AND d.period = $2 AND d.job_id < $3'
      || CASE WHEN p_has_user THEN ' AND d.user_id = $5' ELSE '' END || ' ORDER BY d.job_id DESC'
    WHEN p_has_user THEN
      -- By the two together, so that without statistics, too, the index by user is the one that reads least.
      'SELECT j.id FROM analysis.job_p%1$s j '
      'WHERE j.shard = $1 AND j.user_id = $5 AND (j.period, j.id) < ($2, $3)'
      ' ORDER BY j.period DESC, j.id DESC'
    WHEN p_state = 'scheduled' THEN
      'SELECT s.job_id FROM analysis.scheduled s WHERE s.shard = $1 AND s.period = $2 AND s.job_id < $3'
      ' ORDER BY s.job_id DESC'
    WHEN p_state IN ('cancelled', 'succeeded') THEN
      'SELECT r.job_id FROM analysis.result_p%1$s r WHERE r.shard = $1 AND r.period = $2 AND r.job_id < $3'
      || CASE p_state WHEN 'cancelled' THEN ' AND r.outcome = 2' ELSE '' END || ' ORDER BY r.job_id DESC'
    ELSE
      'SELECT j.id FROM analysis.job_p%1$s j '
      'WHERE j.shard = $1 AND j.period = $2 AND j.id < $3'
      -- Whoever looks for what waits passes over the scheduled ones: those of a large submit lie together.
      || CASE p_state WHEN 'waiting' THEN ' AND j.id NOT IN ('
        'SELECT s.job_id FROM analysis.scheduled s WHERE s.shard = $1 AND s.period = $2 AND s.job_id < $3'
        ' ORDER BY s.job_id DESC LIMIT 20000)' ELSE '' END || ' ORDER BY j.id DESC' END;
  -- A job that was only scheduled so far has no virtual time, and one that has ended has a result, unless it
  -- is dead: of all these nothing more is read where what waits is looked for.
  v_next := 'SELECT array_agg(n.id), '
    || CASE WHEN p_state = 'waiting' AND NOT p_has_set THEN
      'array_agg(n.id) FILTER (WHERE k.vt >= 0 AND NOT EXISTS ('
      ' SELECT FROM analysis.result_p%1$s f WHERE f.shard = $1 AND f.period = $2 AND f.job_id = n.id))'
      ' FROM (' || v_next || ' LIMIT $4) n(id)'
      ' CROSS JOIN LATERAL (SELECT j.vt FROM analysis.job_p%1$s j'
      ' WHERE j.shard = $1 AND j.period = $2 AND j.id = n.id OFFSET 0) k'
    ELSE 'array_agg(n.id) FROM (' || v_next || ' LIMIT $4) n(id)' END;
  RETURN v_next;
END $$;

-- What can be read at once of a shard's jobs that a list means: the jobs that run; and all jobs in the state
-- that can be meant, with their months, if they are few: those that run, and those that wait, if that is not
-- much by the kept counts, if there are any. p_looks: how many that are not meant may be looked at, and after
-- it how many are left.
CREATE OR REPLACE FUNCTION analysis.jobs_at_hand(
  p_shard smallint, p_state text, p_kind smallint, p_has_user boolean, INOUT p_looks int,
  OUT o_leased bigint[], OUT o_set bigint[], OUT o_set_in smallint[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_leased_in smallint[];
  v_first smallint := coalesce(analysis.lane_of(p_kind, 0::smallint), 0);
  v_last smallint := coalesce(analysis.quarantine_of(p_kind), 32767);
BEGIN
  SELECT coalesce(array_agg(u.job_id), '{}'), coalesce(array_agg(u.period), '{}') INTO o_leased, v_leased_in
  FROM analysis.lease b CROSS JOIN LATERAL unnest(b.job_ids, b.periods) u(job_id, period)
  WHERE b.shard = p_shard;
  IF p_state = 'running' THEN
    o_set := o_leased;
    o_set_in := v_leased_in;
  ELSIF p_state = 'waiting' AND NOT p_has_user AND NOT EXISTS (
      SELECT FROM analysis.lane_count c
      WHERE c.shard = p_shard AND c.waiting > p_looks * 2 AND c.lane BETWEEN v_first AND v_last) THEN
    SELECT coalesce(array_agg(w.job_id), '{}'), coalesce(array_agg(w.period), '{}') INTO o_set, o_set_in
    FROM (
      SELECT r.job_id, r.period FROM analysis.ready r
      WHERE r.shard = p_shard AND r.lane BETWEEN v_first AND v_last
      LIMIT p_looks * 2) w;
    IF cardinality(o_set) = p_looks * 2 THEN
      p_looks := p_looks / 2;          -- the rows that were read for nothing
      o_set := NULL;
      o_set_in := NULL;
    END IF;
  END IF;
END $$;

-- The months in which there can be jobs that a list means, the latest first; p_user NULL: of any user, and
-- p_set_in NULL: of any month.
CREATE OR REPLACE FUNCTION analysis.months_listed(
  p_shard smallint, p_user bigint, p_state text, p_period smallint, p_before_period smallint,
  p_set_in smallint[])
RETURNS SETOF smallint
LANGUAGE sql STABLE AS $$
  SELECT m.period FROM analysis.partition_made m
  WHERE (p_period IS NULL OR m.period = p_period)
    AND (p_before_period IS NULL OR m.period <= p_before_period)
    AND (p_set_in IS NULL OR m.period = ANY (p_set_in))
    AND (p_user IS NULL OR EXISTS (
      SELECT FROM analysis.usage u WHERE u.shard = p_shard AND u.user_id = p_user AND u.period = m.period))
    AND (p_state IS DISTINCT FROM 'dead' OR EXISTS (
      SELECT FROM analysis.dead d WHERE d.shard = p_shard AND d.period = m.period))
    AND (p_state IS DISTINCT FROM 'scheduled' OR EXISTS (
      SELECT FROM analysis.scheduled s WHERE s.shard = p_shard AND s.period = m.period))
  ORDER BY m.period DESC
$$;

-- The number of a user whom a list names, if it is one of a type that there is; 0: nobody is meant, and NULL:
-- it names none. Called by functions.
CREATE OR REPLACE FUNCTION analysis.user_listed(p_shard smallint, p_user text, p_kind smallint)
RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_kind NOT IN (1, 2) THEN
    RETURN 0;
  ELSIF p_user IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN coalesce((
    SELECT a.user_id FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_ref = normalize(p_user)), 0);
END $$;

-- A page of one shard's jobs, the latest month and the latest job first, of those users whom the caller
-- may see; those of one who shares with the caller are listed for that user alone.
--
-- They are looked for where the filter has them together: a user's jobs by their own index; running,
-- scheduled, dead and cancelled jobs where they are; waiting ones in the queue, if it is short. All others
-- are looked for among the jobs by their numbers. Of jobs that are not meant p_looks are looked at, and
-- for each of them four rows are read at most. Then the page ends, and its last row has a position and no
-- state: all jobs up to it, and the one there, were looked at.
--
-- p_period NULL: of all months. The page begins behind p_before_period and p_before_job, if they are given.
CREATE OR REPLACE FUNCTION analysis.list_jobs(
  p_shard smallint, p_user text, p_state text, p_kind smallint, p_period smallint, p_before_period smallint,
  p_before_job bigint, p_limit int, p_looks int)
RETURNS TABLE (
  o_job bigint, o_period smallint, o_user text, o_kind smallint, o_lane smallint, o_state text,
  o_created_at timestamptz, o_run_at timestamptz, o_expires_at timestamptz, o_finished_at timestamptz,
  o_attempts int, o_source_name text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
  v_clinic int[] := analysis.clinics_seen(analysis.caller());
  v_limit int := least(greatest(p_limit, 1), 10001);
  v_looks int := least(greatest(p_looks, 1), 2500);           -- jobs not meant that may still be looked at
  v_least int := least(greatest(v_looks / 20, 10), v_looks);  -- fewer are not worth a statement
  v_take int := least(v_limit * 2, v_looks);                  -- how many to look at next
  v_user bigint := analysis.user_listed(p_shard, p_user, p_kind);
  v_hand record;
  v_job bigint[];                      -- the next, the latest first
  v_possible bigint[];                 -- those of them that may be meant
  v_before bigint;
  v_found int;
BEGIN
  IF v_user = 0 THEN
    RETURN;
  ELSIF v_user IS NOT NULL AND v_user = ANY (analysis.users_shared(v_clinic, p_shard)) THEN
    v_clinic := NULL;                  -- all that follows is about this user alone
  END IF;
  v_hand := analysis.jobs_at_hand(p_shard, p_state, p_kind, v_user IS NOT NULL, v_looks);
  v_looks := v_hand.p_looks;
  FOR o_period IN
    SELECT m FROM analysis.months_listed(
      p_shard, v_user, p_state, p_period, p_before_period, v_hand.o_set_in) m
  LOOP
    v_before := coalesce(CASE WHEN o_period = p_before_period THEN p_before_job END, 9223372036854775807);
    LOOP
      EXECUTE format(analysis.next_jobs(p_state, v_user IS NOT NULL, v_hand.o_set IS NOT NULL), o_period)
      INTO v_job, v_possible
      USING p_shard, o_period, v_before, v_take, v_user, v_hand.o_set, v_hand.o_set_in;
      EXIT WHEN v_job IS NULL;
      RETURN QUERY
      SELECT m.* FROM analysis.meant_jobs(
        p_shard, o_period, v_possible, v_limit, v_user, p_state, p_kind, v_clinic, v_hand.o_leased) m;
      GET DIAGNOSTICS v_found = ROW_COUNT;
      v_limit := v_limit - v_found;
      v_before := v_job[cardinality(v_job)];
      v_looks := v_looks - (cardinality(v_job) - v_found);
      IF v_limit <= 0 THEN
        RETURN;
      ELSIF v_looks < v_least THEN
        o_job := v_before;
        RETURN NEXT;
        RETURN;
      END IF;
      EXIT WHEN cardinality(v_job) < v_take;
      v_take := least(v_take * 4, v_looks);
    END LOOP;
    v_take := least(v_take, v_looks);
  END LOOP;
END $$;
COMMENT ON FUNCTION analysis.list_jobs IS
  'Answers a page of the jobs of one shard, the latest first.';

-- What a failure's message has in common with those of other jobs: what stands before the first digit.
CREATE OR REPLACE FUNCTION analysis.message_start(p_message text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT left(substring(p_message FROM '^[^0-9]*'), 100)
$$;

-- The dead jobs of one shard that a filter means, those that died last first, at most p_limit; p_user is the
-- filter's user by number, and p_clinics whose users are seen (NULL: all). 2,500 others are looked at: where
-- that ends the search, o_end and o_end_at say where.
CREATE OR REPLACE FUNCTION analysis.find_dead(
  p_shard smallint, p_filter analysis.job_filter, p_user bigint, p_clinics int[], p_before timestamptz,
  p_before_job bigint, p_limit int,
  OUT o_jobs bigint[], OUT o_end bigint, OUT o_end_at timestamptz)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_looks int := 2500;
  v_dead record;
BEGIN
  o_jobs := '{}';
  FOR v_dead IN
    SELECT d.job_id, d.failed_at,
      (p_user IS NULL OR d.user_id = p_user) AND (p_filter.kind IS NULL OR d.kind = p_filter.kind)
      AND (p_filter.month IS NULL OR d.period = p_filter.month)
      AND (p_filter.class IS NULL OR d.class = p_filter.class)
      AND (p_filter.code IS NULL OR coalesce(d.code, '') = p_filter.code)
      AND (p_filter.status IS NULL OR coalesce(d.status, 0) = p_filter.status)
      AND (p_filter.message IS NULL OR analysis.message_start(d.message) = p_filter.message)
      AND (num_nonnulls(p_filter.batch, p_filter.reference) = 0 OR EXISTS (
        SELECT FROM analysis.job_label l
        WHERE l.shard = p_shard AND l.period = d.period AND l.job_id = d.job_id
          AND (p_filter.batch IS NULL OR l.batch_id = p_filter.batch)
          AND (p_filter.reference IS NULL OR l.reference = p_filter.reference) OFFSET 0))
      AND (p_clinics IS NULL OR d.user_id IN (
        SELECT a.user_id FROM analysis.account a
        WHERE a.shard = p_shard AND a.clinic_id = ANY (p_clinics))) AS is_meant
    FROM analysis.dead d
    WHERE d.shard = p_shard
      AND (d.failed_at, d.job_id)
        < (coalesce(p_before, 'infinity'), coalesce(p_before_job, 9223372036854775807))
    ORDER BY d.shard DESC, d.failed_at DESC, d.job_id DESC
    LIMIT v_looks + p_limit
  LOOP
    IF v_dead.is_meant THEN
      o_jobs := o_jobs || v_dead.job_id;
      EXIT WHEN cardinality(o_jobs) >= p_limit;
    ELSE
      v_looks := v_looks - 1;
      IF v_looks <= 0 THEN
        o_end := v_dead.job_id;
        o_end_at := v_dead.failed_at;
        EXIT;
      END IF;
    END IF;
  END LOOP;
END $$;

-- A page of one shard's dead jobs, those that died last first, of those users whom the caller may see, each
-- with its cause and the worker of its last attempt. The page begins behind p_before and p_before_job, if
-- they are given. p_filter is a job_filter; its state does not matter.
--
-- 2,500 dead jobs are looked at. If the page is not full then, its last row has a position and no user: all
-- up to there were looked at.
CREATE OR REPLACE FUNCTION analysis.list_dead(
  p_shard smallint, p_filter jsonb, p_before timestamptz, p_before_job bigint, p_limit int)
RETURNS TABLE (
  o_job bigint, o_ended_at timestamptz, o_user text, o_kind smallint, o_period smallint, o_lane smallint,
  o_created_at timestamptz, o_attempts smallint, o_class text, o_code text, o_status smallint,
  o_message text, o_source_name text, o_worker bigint, o_host text, o_pid int)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  v_filter analysis.job_filter := jsonb_populate_record(NULL::analysis.job_filter, p_filter);
  v_user bigint := analysis.user_listed(p_shard, v_filter."user", NULL);
  v_found record;
BEGIN
  IF v_user = 0 THEN
    RETURN;
  END IF;
  v_found := analysis.find_dead(
    p_shard, v_filter, v_user, analysis.clinics_seen(analysis.caller()), p_before, p_before_job,
    least(greatest(p_limit, 1), 10001));
  RETURN QUERY
  SELECT d.job_id, d.failed_at, a.user_ref, d.kind, d.period, j.lane, j.created_at, d.attempts, d.class,
    d.code, d.status, d.message, j.source_name, e.worker_id, w.host, w.pid
  FROM unnest(v_found.o_jobs) WITH ORDINALITY g(id, position)
  CROSS JOIN LATERAL (
    SELECT x.* FROM analysis.dead x WHERE x.shard = p_shard AND x.job_id = g.id OFFSET 0) d
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.lane, k.created_at, k.source_name FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = d.period AND k.id = d.job_id OFFSET 0) j
  CROSS JOIN LATERAL (
    SELECT k.user_ref FROM analysis.account k WHERE k.shard = p_shard AND k.user_id = j.user_id OFFSET 0) a
  LEFT JOIN LATERAL (
    SELECT t.worker_id FROM analysis.attempt_error t
    WHERE t.shard = p_shard AND t.period = d.period AND t.job_id = d.job_id
    ORDER BY t.at DESC, t.attempt DESC
    LIMIT 1) e ON true
  -- Workers are kept for a day, in a row for each shard.
  LEFT JOIN LATERAL (
    SELECT k.host, k.pid FROM analysis.worker k WHERE k.id = e.worker_id LIMIT 1) w ON true
  ORDER BY g.position;
  IF v_found.o_end IS NOT NULL THEN
    o_job := v_found.o_end;
    o_ended_at := v_found.o_end_at;
    RETURN NEXT;
  END IF;
END $$;
COMMENT ON FUNCTION analysis.list_dead IS
  'Answers a page of the dead jobs of one shard with their causes, those that died last first.';

-- Why some jobs of one shard are dead, where the caller may see them.
CREATE OR REPLACE FUNCTION analysis.deaths_of(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_class text, o_code text, o_status smallint, o_start text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  PERFORM analysis.require_at_most(10000, p_jobs, 'dead jobs');
  RETURN QUERY
  SELECT d.job_id, d.class, d.code, d.status, analysis.message_start(d.message)
  FROM analysis.dead d
  WHERE d.shard = p_shard AND d.job_id = ANY (p_jobs) AND analysis.is_seen(v_seen, p_shard, d.user_id);
END $$;
COMMENT ON FUNCTION analysis.deaths_of IS
  'Answers why some jobs of one shard are dead.';

-- The jobs of one shard that are to be tried again, grouped by the causes of their last attempts: the next
-- p_few of each lane, of users of p_clinics (NULL: all). In the form of failure_groups.
CREATE OR REPLACE FUNCTION analysis.failures_to_retry(p_shard smallint, p_few int, p_clinics int[])
RETURNS TABLE (
  o_state text, o_is_all boolean, o_class text, o_code text, o_status smallint, o_start text, o_count int,
  o_first_at timestamptz, o_last_at timestamptz, o_job bigint, o_message text)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  WITH next AS MATERIALIZED (
    SELECT n.lane, k.job_id, k.user_id, k.period
    FROM generate_series(4, 11) n(lane)
    CROSS JOIN LATERAL (
      SELECT s.job_id, s.user_id, s.period
      FROM analysis.scheduled s
      WHERE s.shard = p_shard AND s.lane = n.lane
      ORDER BY s.shard, s.lane, s.run_at, s.job_id
      LIMIT p_few) k),
  failed AS MATERIALIZED (
    SELECT n.job_id, e.at, e.class, e.code, e.status, e.message
    FROM next n
    CROSS JOIN LATERAL (
      SELECT a.at, a.class, a.code, a.status, a.message
      FROM analysis.attempt_error a
      WHERE a.shard = p_shard AND a.period = n.period AND a.job_id = n.job_id
      ORDER BY a.at DESC, a.attempt DESC
      LIMIT 1) e
    WHERE analysis.is_seen(p_clinics, p_shard, n.user_id)),
  groups AS (
    SELECT f.class, f.code, f.status, analysis.message_start(f.message) AS start, count(*)::int AS count,
      min(f.at) AS first_at, max(f.at) AS last_at, max(f.job_id) AS job
    FROM failed f
    GROUP BY 1, 2, 3, 4)
  SELECT 'scheduled', NOT EXISTS (SELECT FROM next n GROUP BY n.lane HAVING count(*) >= p_few), g.class,
    g.code, g.status, g.start, g.count,
    g.first_at, g.last_at, g.job, (SELECT f.message FROM failed f WHERE f.job_id = g.job LIMIT 1)
  FROM (SELECT) one
  LEFT JOIN groups g ON true;
END $$;

-- Jobs of one shard that failed, grouped by their causes: the dead, and those that are to be tried again,
-- with the cause of their last attempt. p_looks dead jobs are looked at, those that died last, and a tenth
-- of that of those to be tried again, the next ones of each lane; o_is_all says whether that is all of them.
-- One row at least comes for each of the two.
CREATE OR REPLACE FUNCTION analysis.failure_groups(p_shard smallint, p_looks int)
RETURNS TABLE (
  o_state text, o_is_all boolean, o_class text, o_code text, o_status smallint, o_start text, o_count int,
  o_first_at timestamptz, o_last_at timestamptz, o_job bigint, o_message text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  PERFORM analysis.require_argument(
    p_looks BETWEEN 1 AND 100000, 'from 1 to 100000 jobs that failed are looked at');
  RETURN QUERY
  WITH looked AS MATERIALIZED (
    SELECT d.job_id, d.user_id, d.failed_at, d.class, d.code, d.status, d.message
    FROM analysis.dead d
    WHERE d.shard = p_shard
    ORDER BY d.shard DESC, d.failed_at DESC, d.job_id DESC
    LIMIT p_looks),
  groups AS (
    SELECT m.class, m.code, m.status, analysis.message_start(m.message) AS start, sum(m.count)::int AS count,
      min(m.first_at) AS first_at, max(m.last_at) AS last_at, max(m.job) AS job
    FROM (
      -- Most have one of a few messages: their starts are looked for after this.
      SELECT l.class, l.code, l.status, l.message, count(*) AS count, min(l.failed_at) AS first_at,
        max(l.failed_at) AS last_at, max(l.job_id) AS job
      FROM looked l
      WHERE v_seen IS NULL OR l.user_id IN (
        SELECT a.user_id FROM analysis.account a WHERE a.shard = p_shard AND a.clinic_id = ANY (v_seen))
      GROUP BY 1, 2, 3, 4 OFFSET 0) m
    GROUP BY 1, 2, 3, 4)
  SELECT 'dead', (SELECT count(*) FROM looked) < p_looks, g.class, g.code, g.status, g.start, g.count,
    g.first_at, g.last_at, g.job, d.message
  FROM (SELECT) one
  LEFT JOIN groups g ON true
  LEFT JOIN LATERAL (
    SELECT k.message FROM analysis.dead k
    WHERE k.shard = p_shard AND k.job_id = g.job OFFSET 0) d ON true;

  RETURN QUERY SELECT g.* FROM analysis.failures_to_retry(p_shard, greatest(p_looks / 80, 1), v_seen) g;
END $$;
COMMENT ON FUNCTION analysis.failure_groups IS
  'Answers the jobs of one shard that failed, grouped by their causes, up to a bound.';

-- Who holds a running job: its worker, until when its lease lasts unless it is moved on, and the endpoints
-- that the worker calls for jobs of its type, as it last said.
CREATE OR REPLACE FUNCTION analysis.job_holder(p_shard smallint, p_job bigint)
RETURNS TABLE (
  o_worker bigint, o_deadline timestamptz, o_host text, o_pid int, o_version text, o_started_at timestamptz,
  o_silent_seconds float8, o_endpoints text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shared bigint[] := analysis.users_shared(v_seen, p_shard);
BEGIN
  RETURN QUERY
  SELECT b.worker_id, b.deadline, w.host, w.pid, w.version, w.started_at,
    extract(epoch FROM clock_timestamp() - w.heartbeat_at)::float8,
    ARRAY(
      SELECT e ->> 'name'
      FROM analysis.worker k
      CROSS JOIN LATERAL jsonb_array_elements(
        CASE jsonb_typeof(k.report -> 'endpoints') WHEN 'array' THEN k.report -> 'endpoints' END) e
      WHERE k.id = b.worker_id AND e -> 'kinds' ? (
        CASE analysis.kind_of(b.lane) WHEN 1 THEN 'throat' ELSE 'ear' END)
      LIMIT 10)
  FROM analysis.lease b
  CROSS JOIN LATERAL (
    SELECT u.user_id FROM unnest(b.job_ids, b.user_ids) u(job_id, user_id) WHERE u.job_id = p_job) j
  LEFT JOIN analysis.worker w ON w.shard = b.shard AND w.id = b.worker_id
  WHERE b.shard = p_shard AND p_job = ANY (b.job_ids)
    AND (analysis.is_seen(v_seen, b.shard, j.user_id) OR j.user_id = ANY (v_shared));
END $$;
COMMENT ON FUNCTION analysis.job_holder IS
  'Answers which worker holds a running job, and where it sends jobs of its type.';
