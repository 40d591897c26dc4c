-- Looking at batches, and finding the jobs of one, or those with a reference.
--
-- A back-end sees the batches that its login has made; operators and clinicians all of them; a role that is
-- restricted to clinics those with a job of its clinics' users, and of them only such jobs are counted.

-- Batches with whether one of their jobs is of a user of p_seen, the newest first, and how many labels were
-- looked at for that. Called by list_batches, which reads one row after the other and stops where it likes.
--
-- Most batches have one user: the first and the last of a batch are looked up by themselves. Only where they
-- differ and neither is seen, the labels are read, up to the first that is, from the index alone. The users
-- that are seen are read once, when the first label is compared with them: IS TRUE keeps the planner from
-- joining them, and the memory from reading them anew for each label.
CREATE OR REPLACE FUNCTION analysis.open_batches_seen(
  p_batch bigint, p_before bigint, p_submitters smallint[], p_seen int[]) RETURNS refcursor
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET work_mem = '64MB' AS $$
DECLARE
  v_shard smallint[] := ARRAY(SELECT h.o_shard FROM analysis.all_shards() h);
  v_batches refcursor;
BEGIN
  OPEN v_batches NO SCROLL FOR
  SELECT b.id, b.name, b.created_at, b.submitter, f.is_seen, f.looks
  FROM analysis.batch b
  CROSS JOIN LATERAL (
    SELECT bool_or(s.is_seen) AS is_seen, sum(100 + s.looks)::bigint AS looks
    FROM unnest(v_shard) h(shard)
    CROSS JOIN LATERAL (
      SELECT
        (SELECT l.user_id FROM analysis.job_label l WHERE l.shard = h.shard AND l.batch_id = b.id
         ORDER BY l.user_id LIMIT 1) AS first,
        (SELECT l.user_id FROM analysis.job_label l WHERE l.shard = h.shard AND l.batch_id = b.id
         ORDER BY l.user_id DESC LIMIT 1) AS last
      OFFSET 0) u
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN u.first IS NULL THEN false
        WHEN EXISTS (
          SELECT FROM analysis.account a
          WHERE a.shard = h.shard AND a.user_id IN (u.first, u.last) AND a.clinic_id = ANY (p_seen) OFFSET 0)
        THEN true
        WHEN u.first = u.last THEN false
        ELSE EXISTS (
          SELECT FROM analysis.job_label l
          WHERE l.shard = h.shard AND l.batch_id = b.id
            AND ((l.shard, l.user_id) IN (
              SELECT a.shard, a.user_id FROM analysis.account a
              WHERE a.shard = ANY (v_shard) AND a.clinic_id = ANY (p_seen))) IS TRUE
          OFFSET 0) END AS is_seen
      OFFSET 0) e
    CROSS JOIN LATERAL (
      SELECT e.is_seen, CASE WHEN e.is_seen OR u.first IS NOT DISTINCT FROM u.last THEN 0 ELSE (
        SELECT count(*) FROM analysis.job_label l
        WHERE l.shard = h.shard AND l.batch_id = b.id) END AS looks
      OFFSET 0) s) f
  WHERE (p_batch IS NULL OR b.id = p_batch) AND (p_before IS NULL OR b.id < p_before)
    AND (p_submitters IS NULL OR b.submitter = ANY (p_submitters))
  ORDER BY b.id DESC;
  RETURN v_batches;
END $$;

-- Batches, the newest first: those before p_before (NULL: from the newest on), or one alone. For a caller
-- that is restricted to clinics about p_looks labels are looked at, of which a batch counts for 100 at least.
-- If that is not enough for all, the last row has a position and no time: all batches down to that one were
-- looked at.
CREATE OR REPLACE FUNCTION analysis.list_batches(p_batch bigint, p_before bigint, p_limit int, p_looks int)
RETURNS TABLE (o_batch bigint, o_name text, o_created_at timestamptz, o_login name, o_refused int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_submitters smallint[] := analysis.own_submitters(analysis.job_readers());
  v_looks bigint := least(greatest(p_looks, 1), 100000);   -- how many labels may still be looked at
  v_limit int := p_limit;
  v_batches refcursor;
  v_batch record;
BEGIN
  PERFORM analysis.require_argument(
    p_limit BETWEEN 1 AND 1000, 'a list has from 1 to 1000 batches');
  IF v_seen IS NULL THEN
    RETURN QUERY
    SELECT b.id, b.name, b.created_at, s.login,
      (SELECT count(*)::int FROM analysis.batch_refusal f WHERE f.batch_id = b.id)
    FROM analysis.batch b
    LEFT JOIN analysis.submitter s ON s.id = b.submitter
    WHERE (p_batch IS NULL OR b.id = p_batch) AND (p_before IS NULL OR b.id < p_before)
      AND (v_submitters IS NULL OR b.submitter = ANY (v_submitters))
    ORDER BY b.id DESC LIMIT p_limit;
    RETURN;
  END IF;
  v_batches := analysis.open_batches_seen(p_batch, p_before, v_submitters, v_seen);
  LOOP
    FETCH v_batches INTO v_batch;
    EXIT WHEN NOT FOUND;
    IF v_batch.is_seen THEN
      o_batch := v_batch.id;
      o_name := v_batch.name;
      o_created_at := v_batch.created_at;
      o_login := (SELECT s.login FROM analysis.submitter s WHERE s.id = v_batch.submitter);
      RETURN NEXT;
      v_limit := v_limit - 1;
      EXIT WHEN v_limit <= 0;
    END IF;
    v_looks := v_looks - v_batch.looks;
    IF v_looks <= 0 AND p_batch IS NULL THEN
      o_batch := v_batch.id;
      o_name := NULL;
      o_created_at := NULL;
      o_login := NULL;
      RETURN NEXT;
      EXIT;
    END IF;
  END LOOP;
  CLOSE v_batches;
END $$;
COMMENT ON FUNCTION analysis.list_batches IS
  'Answers batches, the newest first, that the caller may see.';

-- What batch_counts answers, of the jobs of one month, for batches that are alone: every number from p_lows
-- to p_highs is theirs, and the caller sees all users. Whatever ended there is theirs, so that no job is
-- compared with the labels, and nothing is joined: what died and has a result, too, is looked up, since few
-- die. Called by batch_counts, which knows what its caller may see. The statement names its month's tables,
-- as in meant_jobs.
CREATE OR REPLACE FUNCTION analysis.batch_counts_alone(
  p_shard smallint, p_month smallint, p_batches bigint[], p_lows bigint[], p_highs bigint[],
  p_since timestamptz)
RETURNS TABLE (
  batch bigint, jobs bigint, succeeded bigint, dead bigint, cancelled bigint, lately bigint,
  last_at timestamptz)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_mergejoin = off SET enable_hashjoin = off AS $$
BEGIN
  RETURN QUERY EXECUTE format($counts$
    SELECT b.id, b.high - b.low + 1, r.count - c.count, d.count, c.count, r.lately + d.lately,
      greatest(r.last_at, d.last_at)
    FROM unnest($3, $4, $5) b(id, low, high)
    CROSS JOIN LATERAL (
      SELECT count(*), count(*) FILTER (WHERE f.finished_at > $6) AS lately, max(f.finished_at) AS last_at
      FROM analysis.result_p%1$s f
      WHERE f.shard = $1 AND f.period = $2 AND f.job_id BETWEEN b.low AND b.high) r
    -- Few are cancelled, and an index has them.
    CROSS JOIN LATERAL (
      SELECT count(*) FROM analysis.result_p%1$s f
      WHERE f.shard = $1 AND f.period = $2 AND f.job_id BETWEEN b.low AND b.high AND f.outcome = 2) c
    CROSS JOIN LATERAL (
      SELECT count(*), count(*) FILTER (WHERE x.failed_at > $6) AS lately, max(x.failed_at) AS last_at
      FROM analysis.dead x
      WHERE x.shard = $1 AND x.period = $2 AND x.job_id BETWEEN b.low AND b.high
        AND NOT EXISTS (
          SELECT FROM analysis.result_p%1$s f
          WHERE f.shard = $1 AND f.period = $2 AND f.job_id = x.job_id OFFSET 0)) d
    $counts$, p_month)
  USING p_shard, p_month, p_batches, p_lows, p_highs, p_since;
END $$;

-- The same for batches whose numbers follow one another, and that have others among them, or users whom the
-- caller does not see: what ended there is read as it lies, which takes a fraction of the time of looking up
-- each, and compared with the labels.
CREATE OR REPLACE FUNCTION analysis.batch_counts_near(
  p_shard smallint, p_month smallint, p_batches bigint[], p_lows bigint[], p_highs bigint[], p_seen int[],
  p_since timestamptz)
RETURNS TABLE (
  batch bigint, jobs bigint, succeeded bigint, dead bigint, cancelled bigint, lately bigint,
  last_at timestamptz)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_mergejoin = off SET enable_nestloop = off AS $$
BEGIN
  RETURN QUERY EXECUTE format($counts$
    SELECT b.id, c.*
    FROM unnest($3, $4, $5) b(id, low, high)
    CROSS JOIN LATERAL (
      SELECT count(*) AS jobs, count(*) FILTER (WHERE r.outcome = 1),
        count(d.failed_at) FILTER (WHERE r.job_id IS NULL), count(*) FILTER (WHERE r.outcome = 2),
        count(*) FILTER (WHERE coalesce(r.finished_at, d.failed_at) > $7),
        max(coalesce(r.finished_at, d.failed_at))
      FROM (
        SELECT f.job_id, f.outcome, f.finished_at
        FROM analysis.result_p%1$s f
        WHERE f.shard = $1 AND f.period = $2 AND f.job_id BETWEEN b.low AND b.high OFFSET 0) r
      FULL JOIN (
        SELECT x.job_id, x.failed_at
        FROM analysis.dead x
        WHERE x.shard = $1 AND x.period = $2 AND x.job_id BETWEEN b.low AND b.high OFFSET 0) d
        ON d.job_id = r.job_id
      RIGHT JOIN analysis.job_label l ON l.job_id = coalesce(r.job_id, d.job_id)
      WHERE l.shard = $1 AND l.period = $2 AND l.batch_id = b.id
        AND ($6 IS NULL OR l.user_id IN (
          SELECT a.user_id FROM analysis.account a WHERE a.shard = $1 AND a.clinic_id = ANY ($6)))) c
    WHERE c.jobs > 0
    $counts$, p_month)
  USING p_shard, p_month, p_batches, p_lows, p_highs, p_seen, p_since;
END $$;

-- The same for batches whose numbers have others between them: each job is looked up.
CREATE OR REPLACE FUNCTION analysis.batch_counts_far(
  p_shard smallint, p_month smallint, p_batches bigint[], p_seen int[], p_since timestamptz)
RETURNS TABLE (
  batch bigint, jobs bigint, succeeded bigint, dead bigint, cancelled bigint, lately bigint,
  last_at timestamptz)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_mergejoin = off SET enable_hashjoin = off AS $$
BEGIN
  RETURN QUERY EXECUTE format($counts$
    SELECT l.batch_id, count(*), count(*) FILTER (WHERE r.outcome = 1), count(d.failed_at),
      count(*) FILTER (WHERE r.outcome = 2),
      count(*) FILTER (WHERE coalesce(r.finished_at, d.failed_at) > $5),
      max(coalesce(r.finished_at, d.failed_at))
    FROM analysis.job_label l
    LEFT JOIN LATERAL (
      SELECT f.job_id, f.outcome, f.finished_at
      FROM analysis.result_p%1$s f
      WHERE f.shard = $1 AND f.period = $2 AND f.job_id = l.job_id OFFSET 0) r ON true
    LEFT JOIN LATERAL (
      SELECT x.failed_at
      FROM analysis.dead x
      WHERE r.job_id IS NULL AND x.shard = $1 AND x.job_id = l.job_id OFFSET 0) d ON true
    WHERE l.shard = $1 AND l.period = $2 AND l.batch_id = ANY ($3)
      AND ($4 IS NULL OR l.user_id IN (
        SELECT a.user_id FROM analysis.account a WHERE a.shard = $1 AND a.clinic_id = ANY ($4)))
    GROUP BY l.batch_id
    $counts$, p_month)
  USING p_shard, p_month, p_batches, p_seen, p_since;
END $$;

-- The same for all batches: which is which is seen by their lowest and highest number and how many they are,
-- of those whom the caller sees: few among many are looked up.
CREATE OR REPLACE FUNCTION analysis.batch_counts_in(
  p_shard smallint, p_month smallint, p_batches bigint[], p_seen int[])
RETURNS TABLE (
  batch bigint, jobs bigint, succeeded bigint, dead bigint, cancelled bigint, lately bigint,
  last_at timestamptz)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_since timestamptz := clock_timestamp() - interval '1 minute';
  v_form text;
  v_batch bigint[];
  v_low bigint[];
  v_high bigint[];
BEGIN
  FOR v_form, v_batch, v_low, v_high IN
    SELECT b.form, array_agg(b.id), array_agg(b.low), array_agg(b.high)
    FROM (
      SELECT g.id, e.low, e.high, CASE
          WHEN p_seen IS NULL AND e.high - e.low + 1 = c.count THEN 'alone'
          WHEN e.high - e.low < 4 * c.count THEN 'near'
          ELSE 'far' END AS form
      FROM unnest(p_batches) g(id)
      -- The ends are looked up, and the rest is only counted: half the time of both in one pass.
      CROSS JOIN LATERAL (
        SELECT
          (SELECT l.job_id FROM analysis.job_label l
           WHERE l.shard = p_shard AND l.batch_id = g.id AND l.period = p_month
           ORDER BY l.job_id LIMIT 1) AS low,
          (SELECT l.job_id FROM analysis.job_label l
           WHERE l.shard = p_shard AND l.batch_id = g.id AND l.period = p_month
           ORDER BY l.job_id DESC LIMIT 1) AS high
        OFFSET 0) e
      CROSS JOIN LATERAL (
        SELECT CASE
          WHEN p_seen IS NULL THEN (
            SELECT count(*) FROM analysis.job_label l
            WHERE l.shard = p_shard AND l.batch_id = g.id AND l.period = p_month)
          -- By the index of a batch's users, which has no months.
          ELSE (
            SELECT count(*) FROM analysis.job_label l
            WHERE l.shard = p_shard AND l.batch_id = g.id AND l.user_id IN (
              SELECT a.user_id FROM analysis.account a
              WHERE a.shard = p_shard AND a.clinic_id = ANY (p_seen))) END AS count
        OFFSET 0) c
      WHERE e.low IS NOT NULL) b
    GROUP BY b.form
  LOOP
    CASE v_form
    WHEN 'alone' THEN
      RETURN QUERY
      SELECT c.* FROM analysis.batch_counts_alone(p_shard, p_month, v_batch, v_low, v_high, v_since) c;
    WHEN 'near' THEN
      RETURN QUERY
      SELECT c.*
      FROM analysis.batch_counts_near(p_shard, p_month, v_batch, v_low, v_high, p_seen, v_since) c;
    ELSE
      RETURN QUERY
      SELECT c.* FROM analysis.batch_counts_far(p_shard, p_month, v_batch, p_seen, v_since) c;
    END CASE;
  END LOOP;
END $$;

-- How far batches are in one shard: their jobs, and those of them that have ended, and how; how many ended
-- in the last minute, and when the last did. A batch that the caller may not see has no row.
CREATE OR REPLACE FUNCTION analysis.batch_counts(p_shard smallint, p_batches bigint[])
RETURNS TABLE (
  o_batch bigint, o_jobs bigint, o_succeeded bigint, o_dead bigint, o_cancelled bigint, o_lately bigint,
  o_last_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_mergejoin = off
AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_submitters smallint[] := analysis.own_submitters(analysis.job_readers());
  v_batch bigint[];
  v_first smallint;                    -- the months in which they have jobs
  v_last smallint;
BEGIN
  PERFORM analysis.require_at_most(1000, p_batches, 'batches');
  v_batch := ARRAY(
    SELECT DISTINCT i FROM unnest(p_batches) i
    WHERE v_submitters IS NULL
      OR (SELECT t.submitter FROM analysis.batch t WHERE t.id = i) = ANY (v_submitters));
  SELECT min(e.first), max(e.last) INTO v_first, v_last
  FROM unnest(v_batch) g(id)
  CROSS JOIN LATERAL (
    SELECT
      (SELECT l.period FROM analysis.job_label l WHERE l.shard = p_shard AND l.batch_id = g.id
       ORDER BY l.period, l.job_id LIMIT 1) AS first,
      (SELECT l.period FROM analysis.job_label l WHERE l.shard = p_shard AND l.batch_id = g.id
       ORDER BY l.period DESC, l.job_id DESC LIMIT 1) AS last
    OFFSET 0) e;
  RETURN QUERY
  SELECT c.batch, sum(c.jobs)::bigint, sum(c.succeeded)::bigint, sum(c.dead)::bigint,
    sum(c.cancelled)::bigint, sum(c.lately)::bigint, max(c.last_at)
  FROM analysis.partition_made m
  CROSS JOIN LATERAL analysis.batch_counts_in(p_shard, m.period, v_batch, v_seen) c
  WHERE m.period BETWEEN v_first AND v_last
  GROUP BY c.batch;
END $$;
COMMENT ON FUNCTION analysis.batch_counts IS
  'Answers how many jobs of each of some batches one shard has, and how they ended.';

-- The dead jobs of a batch in one month. Called by batch_causes, which knows what its caller may see. Where
-- few died between its numbers, or its numbers follow one another, the dead ones are read as they lie.
CREATE OR REPLACE FUNCTION analysis.batch_dead_in(p_shard smallint, p_month smallint, p_batch bigint)
RETURNS TABLE (job bigint, user_id bigint, class text, code text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_low bigint;
  v_high bigint;
  v_count bigint;
  v_dead int;                          -- how many died between the two
BEGIN
  v_low := (
    SELECT l.job_id FROM analysis.job_label l
    WHERE l.shard = p_shard AND l.batch_id = p_batch AND l.period = p_month
    ORDER BY l.job_id LIMIT 1);
  IF v_low IS NULL THEN
    RETURN;
  END IF;
  v_high := (
    SELECT l.job_id FROM analysis.job_label l
    WHERE l.shard = p_shard AND l.batch_id = p_batch AND l.period = p_month
    ORDER BY l.job_id DESC LIMIT 1);
  SELECT count(*) INTO v_dead
  FROM (
    SELECT FROM analysis.dead x
    WHERE x.shard = p_shard AND x.period = p_month AND x.job_id BETWEEN v_low AND v_high LIMIT 1000) x;
  IF v_dead = 1000 THEN
    SELECT count(*) INTO v_count FROM analysis.job_label l
    WHERE l.shard = p_shard AND l.batch_id = p_batch AND l.period = p_month;
  END IF;
  IF v_dead < 1000 OR v_high - v_low < 4 * v_count THEN
    RETURN QUERY
    SELECT x.job_id, x.user_id, x.class, x.code
    FROM analysis.dead x
    CROSS JOIN LATERAL (
      SELECT l.batch_id FROM analysis.job_label l
      WHERE l.shard = p_shard AND l.period = p_month AND l.job_id = x.job_id OFFSET 0) l
    WHERE x.shard = p_shard AND x.period = p_month AND x.job_id BETWEEN v_low AND v_high
      AND l.batch_id = p_batch;
  ELSE
    RETURN QUERY
    SELECT x.job_id, x.user_id, x.class, x.code
    FROM analysis.job_label l
    CROSS JOIN LATERAL (
      SELECT d.* FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = l.job_id OFFSET 0) x
    WHERE l.shard = p_shard AND l.batch_id = p_batch AND l.period = p_month;
  END IF;
END $$;

-- Why jobs of a batch in one shard are dead, the most frequent cause first, with the last job of each.
CREATE OR REPLACE FUNCTION analysis.batch_causes(p_shard smallint, p_batch bigint, p_limit int)
RETURNS TABLE (o_class text, o_code text, o_count bigint, o_job bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_submitters smallint[] := analysis.own_submitters(analysis.job_readers());
BEGIN
  PERFORM analysis.require_argument(p_limit BETWEEN 1 AND 1000, 'from 1 to 1000 causes are answered');
  IF v_submitters IS NOT NULL AND NOT EXISTS (
    SELECT FROM analysis.batch t WHERE t.id = p_batch AND t.submitter = ANY (v_submitters)) THEN
    RETURN;
  END IF;
  RETURN QUERY
  SELECT d.class, d.code, count(*), max(d.job)
  FROM analysis.partition_made m
  CROSS JOIN LATERAL analysis.batch_dead_in(p_shard, m.period, p_batch) d
  WHERE v_seen IS NULL OR d.user_id IN (
    SELECT a.user_id FROM analysis.account a WHERE a.shard = p_shard AND a.clinic_id = ANY (v_seen))
  GROUP BY d.class, d.code ORDER BY 3 DESC, 1, 2 LIMIT p_limit;
END $$;
COMMENT ON FUNCTION analysis.batch_causes IS
  'Answers why jobs of a batch are dead in one shard, the most frequent cause first.';

-- The next p_limit jobs of a batch, or with a reference, behind a position, the latest first: of a month and
-- a user where they are given, submitted by p_submitters, of users of p_clinics (NULL: of all).
CREATE OR REPLACE FUNCTION analysis.jobs_labelled(
  p_shard smallint, p_filter analysis.job_filter, p_user bigint, p_submitters smallint[], p_clinics int[],
  p_before_period smallint, p_before_job bigint, p_limit int, OUT o_jobs bigint[], OUT o_periods smallint[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT array_agg(t.job_id), array_agg(t.period) INTO o_jobs, o_periods
  FROM (
    SELECT l.job_id, l.period FROM analysis.job_label l
    WHERE l.shard = p_shard AND (p_filter.batch IS NULL OR l.batch_id = p_filter.batch)
      AND (p_filter.reference IS NULL OR l.reference = p_filter.reference)
      AND (p_filter.month IS NULL OR l.period = p_filter.month) AND (p_user IS NULL OR l.user_id = p_user)
      AND (p_before_period IS NULL OR (l.period, l.job_id) < (p_before_period, p_before_job))
      AND (p_submitters IS NULL OR (
        SELECT k.submitter FROM analysis.job k
        WHERE k.shard = p_shard AND k.period = l.period AND k.id = l.job_id) = ANY (p_submitters))
      AND (p_clinics IS NULL OR l.user_id IN (
        SELECT a.user_id FROM analysis.account a WHERE a.shard = p_shard AND a.clinic_id = ANY (p_clinics)))
    ORDER BY l.period DESC, l.job_id DESC LIMIT p_limit) t;
END $$;

-- Those of some jobs of a month that are meant, as meant_jobs has them; of dead ones nothing more is read
-- than of those that are dead: few are.
CREATE OR REPLACE FUNCTION analysis.found_jobs(
  p_shard smallint, p_month smallint, p_jobs bigint[], p_limit int, p_filter analysis.job_filter,
  p_user bigint, p_clinics int[], p_leased bigint[])
RETURNS SETOF analysis.listed_job
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_filter.state = 'dead' THEN
    p_jobs := ARRAY(
      SELECT t.id FROM unnest(p_jobs) WITH ORDINALITY t(id, position)
      WHERE EXISTS (SELECT FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = t.id OFFSET 0)
      ORDER BY t.position);
  END IF;
  RETURN QUERY
  SELECT m.* FROM analysis.meant_jobs(
    p_shard, p_month, p_jobs, p_limit, p_user, p_filter.state, p_filter.kind, p_clinics, p_leased) m;
END $$;

-- A page of the jobs of a batch, or of those with a reference, the latest month and the latest job first, in
-- the form of list_jobs. p_looks jobs are looked at; if that is not all of them, the last row has a
-- position and no state. A back-end finds what it has submitted itself. p_filter is a job_filter.
CREATE OR REPLACE FUNCTION analysis.find_jobs(
  p_shard smallint, p_filter jsonb, p_before_period smallint, p_before_job bigint, p_limit int, p_looks int)
RETURNS SETOF analysis.listed_job
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
  v_filter analysis.job_filter := jsonb_populate_record(NULL::analysis.job_filter, p_filter);
  v_limit int := least(greatest(p_limit, 1), 10001);
  v_looks int := least(greatest(p_looks, 1), 10000);   -- how many jobs may still be looked at
  v_take int := least(v_limit, v_looks);               -- how many to look at next
  v_submitters smallint[] := analysis.own_submitters(analysis.job_readers());
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_user bigint;
  v_leased bigint[];
  v_end analysis.listed_job;                           -- where the search has come to
  v_of smallint;
  v_found int;
  v_next record;
BEGIN
  PERFORM analysis.require_argument(
    num_nonnulls(v_filter.batch, v_filter.reference) > 0, 'jobs are found by a batch or a reference');
  v_user := analysis.user_listed(p_shard, v_filter."user", v_filter.kind);
  IF v_user = 0 THEN
    RETURN;
  END IF;
  v_leased := ARRAY(SELECT unnest(b.job_ids) FROM analysis.lease b WHERE b.shard = p_shard);
  v_end.o_period := p_before_period;
  v_end.o_job := p_before_job;
  LOOP
    v_next := analysis.jobs_labelled(
      p_shard, v_filter, v_user, v_submitters, v_seen, v_end.o_period, v_end.o_job, v_take);
    FOR v_of IN SELECT DISTINCT t.period FROM unnest(v_next.o_periods) t(period) ORDER BY 1 DESC LOOP
      RETURN QUERY
      SELECT f.* FROM analysis.found_jobs(
        p_shard, v_of, ARRAY(
          SELECT t.id FROM unnest(v_next.o_jobs, v_next.o_periods) WITH ORDINALITY t(id, period, position)
          WHERE t.period = v_of ORDER BY t.position),
        v_limit, v_filter, v_user, v_seen, v_leased) f;
      GET DIAGNOSTICS v_found = ROW_COUNT;
      v_limit := v_limit - v_found;
      IF v_limit <= 0 THEN
        RETURN;
      END IF;
    END LOOP;
    EXIT WHEN coalesce(cardinality(v_next.o_jobs), 0) < v_take;
    v_end.o_job := v_next.o_jobs[v_take];
    v_end.o_period := v_next.o_periods[v_take];
    v_looks := v_looks - v_take;
    IF v_looks <= 0 THEN
      RETURN NEXT v_end;
      RETURN;
    END IF;
    v_take := least(v_take * 4, v_looks);
  END LOOP;
END $$;
COMMENT ON FUNCTION analysis.find_jobs IS
  'Answers a page of the jobs of a batch or with a reference, of one shard, the latest first.';

-- The batch and the reference of a job.
CREATE OR REPLACE FUNCTION analysis.job_label_of(p_shard smallint, p_period smallint, p_job bigint)
RETURNS TABLE (o_batch bigint, o_reference text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shared bigint[] := analysis.users_shared(v_seen, p_shard);
BEGIN
  RETURN QUERY
  SELECT l.batch_id, l.reference FROM analysis.job_label l
  WHERE l.shard = p_shard AND l.period = p_period AND l.job_id = p_job
    AND (v_seen IS NULL OR analysis.is_seen(v_seen, l.shard, l.user_id) OR l.user_id = ANY (v_shared));
END $$;
COMMENT ON FUNCTION analysis.job_label_of IS
  'Answers the batch and the reference of a job.';
