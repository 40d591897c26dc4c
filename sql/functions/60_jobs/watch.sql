-- What happens in the queue, for whoever watches it (`analysisctl watch`).
--
-- Nobody writes events down, and no index tells what ended last. So one who watches passes back what the look
-- before has seen, and what has changed since is answered: which jobs are new, and what became of those that
-- workers had or that were next in their lanes. A look sees one state of the database, so a difference of
-- two looks holds whatever the order was in which others began and committed. What each step reads is
-- bounded, however much waits and however much has ended.

-- Where the jobs are that are about to change, in some shards: what workers have, the next p_ahead of each
-- lane, and what is due within ten seconds. o_place is the lane, and 16 times the attempt that runs or comes
-- next; negative while the job waits for it. Called by functions.
CREATE OR REPLACE FUNCTION analysis.places_watched(p_shards smallint[], p_ahead int)
RETURNS TABLE (o_shard smallint, o_period smallint, o_job bigint, o_place smallint)
LANGUAGE sql STABLE AS $$
  SELECT b.shard, u.period, u.job_id, ((analysis.attempts_of(u.tries) + 1) * 16 + b.lane)::smallint
  FROM analysis.lease b
  CROSS JOIN LATERAL unnest(b.periods, b.job_ids, b.tries) u(period, job_id, tries)
  WHERE b.shard = ANY (p_shards)
  UNION ALL
  SELECT s.shard, w.period, w.job_id, (-(analysis.attempts_of(w.tries) + 1) * 16 - l.lane)::smallint
  FROM unnest(p_shards) s(shard)
  CROSS JOIN generate_series(4, 11) l(lane)
  CROSS JOIN LATERAL (
    (SELECT r.period, r.job_id, r.tries FROM analysis.ready r
     WHERE r.shard = s.shard AND r.lane = l.lane::smallint
       -- As claims do: dead rows before it are not stepped over.
       AND r.vt >= coalesce((
         SELECT c.scan_from FROM analysis.lane_clock c
         WHERE c.shard = s.shard AND c.lane = l.lane::smallint), 0)
     ORDER BY r.shard, r.lane, r.vt, r.job_id LIMIT p_ahead)
    UNION ALL
    (SELECT d.period, d.job_id, d.tries FROM analysis.scheduled d
     WHERE d.shard = s.shard AND d.lane = l.lane::smallint
       AND d.run_at <= clock_timestamp() + interval '10 seconds'
     ORDER BY d.shard, d.lane, d.run_at, d.job_id LIMIT p_ahead)) w
$$;

-- How many transactions ago a row was written, by the number that stands in it.
CREATE OR REPLACE FUNCTION analysis.transactions_ago(p_next bigint, p_xmin xid) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_next - p_xmin::text::bigint) & 4294967295
$$;

-- The newest jobs of some shards by number, from p_after on, at most p_limit of each month and in all.
-- Numbers are drawn before the commit, 64 at a time by each session: so a look goes back behind p_seen, the
-- last that the one before has seen, and takes of that what was written at most p_ago transactions ago.
-- p_seen NULL: all of them. Called by functions.
CREATE OR REPLACE FUNCTION analysis.jobs_since(
  p_shards smallint[], p_after bigint, p_seen bigint, p_next bigint, p_ago bigint, p_limit int)
RETURNS TABLE (o_shard smallint, o_period smallint, o_job bigint, o_at timestamptz, o_is_new boolean)
LANGUAGE sql STABLE AS $$
  SELECT s.shard, m.period, j.id, j.created_at,
    coalesce(j.id > p_seen OR analysis.transactions_ago(p_next, j.x) <= p_ago, true)
  FROM unnest(p_shards) s(shard)
  -- The month before, as it may be in the zone of a user, and all to come, for what is to run later.
  CROSS JOIN (
    SELECT g.period FROM analysis.partition_made g
    WHERE g.period >= analysis.period_of(clock_timestamp(), 'UTC') - 1) m
  CROSS JOIN LATERAL (
    SELECT k.id, k.created_at, k.xmin AS x FROM analysis.job k
    WHERE k.shard = s.shard AND k.period = m.period AND k.id > p_after
    ORDER BY k.id LIMIT p_limit) j
  ORDER BY j.id LIMIT p_limit
$$;

-- What became of jobs that are not where the look before has seen them, or are new: p_places[i] is where that
-- was. Failed attempts are those since p_from. Called by functions.
CREATE OR REPLACE FUNCTION analysis.ends_of(
  p_shards smallint[], p_periods smallint[], p_jobs bigint[], p_places smallint[], p_from timestamptz)
RETURNS TABLE (
  o_event text, o_at timestamptz, o_shard smallint, o_period smallint, o_job bigint, o_attempt int,
  o_call_ms int, o_class text, o_code text, o_message text)
LANGUAGE sql STABLE AS $$
  WITH g AS MATERIALIZED (
    SELECT DISTINCT ON (t.shard, t.job_id) t.*
    FROM unnest(p_shards, p_periods, p_jobs, p_places) t(shard, period, job_id, place)
    ORDER BY t.shard, t.job_id, t.period DESC),
  dead AS MATERIALIZED (
    SELECT g.shard, g.period, g.job_id, d.*
    FROM g
    CROSS JOIN LATERAL (
      SELECT x.failed_at, x.attempts, x.class, x.code, x.message FROM analysis.dead x
      WHERE x.shard = g.shard AND x.job_id = g.job_id OFFSET 0) d)
  SELECT 'done', r.finished_at, g.shard, g.period, g.job_id, r.attempt::int, r.call_ms, NULL, NULL, NULL
  FROM g
  CROSS JOIN LATERAL (
    SELECT f.finished_at, f.attempt, f.call_ms FROM analysis.result f
    WHERE f.shard = g.shard AND f.period = g.period AND f.job_id = g.job_id AND f.outcome = 1 OFFSET 0) r
  UNION ALL
  SELECT 'dead', d.failed_at, d.shard, d.period, d.job_id, d.attempts::int, NULL, d.class, d.code, d.message
  FROM dead d
  WHERE d.failed_at >= p_from
  UNION ALL
  SELECT 'retried', a.at, g.shard, g.period, g.job_id, a.attempt::int, NULL, a.class, a.code, a.message
  FROM g
  CROSS JOIN LATERAL (
    SELECT e.at, e.attempt, e.class, e.code, e.message FROM analysis.attempt_error e
    WHERE e.shard = g.shard AND e.period = g.period AND e.job_id = g.job_id AND e.at >= p_from
    ORDER BY e.at DESC LIMIT 20) a
  -- The attempt of which a job died is its death.
  WHERE NOT EXISTS (
    SELECT FROM dead d WHERE d.shard = g.shard AND d.job_id = g.job_id AND d.failed_at = a.at)
$$;

-- What people have done to jobs: cancelled, and queued again after their end. By the audit, which has what
-- was committed in an order of its own: the entries from p_after on, of which 5000 are read, and those that
-- are not chained yet. A call for many jobs has one entry; of all entries p_limit jobs are answered, and
-- how many are left out. Called by functions.
CREATE OR REPLACE FUNCTION analysis.changes_of(p_after bigint, p_shards smallint[], p_limit int)
RETURNS TABLE (
  o_event text, o_at timestamptz, o_shard smallint, o_job bigint, o_by text, o_left_out bigint)
LANGUAGE sql STABLE AS $$
  WITH entry AS MATERIALIZED (
    SELECT a.at, a.action, a.role, a.detail FROM analysis.audit a
    WHERE a.id > p_after AND a.id <= p_after + 5000 AND a.action IN ('cancel', 'retry', 'uncancel')
    UNION ALL
    SELECT d.at, d.action, d.role, d.detail FROM (
      SELECT f.* FROM analysis.audit_draft f ORDER BY f.number DESC LIMIT 2000) d
    WHERE d.action IN ('cancel', 'retry', 'uncancel')),
  named AS (
    SELECT CASE e.action WHEN 'cancel' THEN 'cancelled' ELSE 'requeued' END AS event, e.at,
      (e.detail ->> 'shard')::smallint AS shard, j.job::bigint AS job, e.role,
      row_number() OVER (ORDER BY e.at) AS position, count(*) OVER () AS total
    FROM entry e
    CROSS JOIN LATERAL jsonb_array_elements_text(e.detail -> 'jobs') j(job)
    WHERE (e.detail ->> 'shard')::smallint = ANY (p_shards))
  SELECT n.event, n.at, n.shard, n.job, n.role, greatest(n.total - p_limit, 0)
  FROM named n
  WHERE n.position <= p_limit
$$;

-- What was refused, as counts to compare with those of the look before: of a user by the limits of the
-- months, else of a batch, or of the ten newest batches; of a batch at most 10,000, of the newest 1,000 each.
-- What a back-end submits outside of batches leaves a trace with its user only. Called by functions.
CREATE OR REPLACE FUNCTION analysis.refusals_watched(p_shard smallint, p_user bigint, p_batch bigint)
RETURNS TABLE (o_batch bigint, o_count bigint)
LANGUAGE sql STABLE AS $$
  SELECT NULL, coalesce(sum(u.refused), 0)::bigint FROM analysis.usage u
  WHERE u.shard = p_shard AND u.user_id = p_user
  HAVING p_user IS NOT NULL
  UNION ALL
  SELECT b.id, (
    SELECT count(*) FROM (
      SELECT FROM analysis.batch_refusal f
      WHERE f.batch_id = b.id LIMIT CASE WHEN p_batch IS NULL THEN 1000 ELSE 10000 END) t)
  FROM (
    SELECT k.id FROM analysis.batch k WHERE p_batch IS NULL OR k.id = p_batch ORDER BY k.id DESC LIMIT 10) b
  WHERE p_user IS NULL
$$;

-- What was paused and resumed since a time. A pause that ends by itself has no row for that: its end is when
-- it was to end. Called by functions.
CREATE OR REPLACE FUNCTION analysis.pauses_since(p_from timestamptz)
RETURNS TABLE (o_event text, o_at timestamptz, o_scope text, o_name text, o_reason text, o_by text)
LANGUAGE sql STABLE AS $$
  SELECT e.event, e.at, p.scope, regexp_replace(p.name, '//[^/]*@', '//'), e.reason, e.by
  FROM analysis.pause p
  CROSS JOIN LATERAL (
    VALUES ('paused', p.paused_at, p.reason, p.paused_by),
      ('resumed', coalesce(p.resumed_at, p.until_at), NULL, p.resumed_by)) e(event, at, reason, by)
  WHERE e.at >= p_from AND e.at <= clock_timestamp()
$$;

-- One look: what has happened since the look before, in the order of time, and as the last row ('position')
-- what the next look is to be given: o_at; o_job, o_audit and o_horizon as p_before; and the four arrays. Of
-- the first look all of these are NULL; it answers what the tables still show of the time since p_since, or
-- of none. What committed lately can come in more than one look, and the first one answers the newest jobs
-- whatever their time: who watches leaves out what it has seen, by event, job and time. p_filter is a
-- job_filter, of which the user, the batch and the type count.
--
-- With the position: o_is_cut: more has happened than p_limit of one kind, and the next look is due at once.
-- o_outrun: of so many lanes more was claimed since the look before than it had looked ahead, so that ends
-- may be missing; o_count is then for comparison: what workers have reported as ended, in all.
--
-- Of users whom the caller does not see there is no row, and neither are there counts of what was refused.
-- A first look at a user who is not there, or whom the caller does not see, is refused.
CREATE OR REPLACE FUNCTION analysis.watch(
  p_filter jsonb, p_since timestamptz, p_at timestamptz, p_before bigint[], p_shards smallint[],
  p_periods smallint[], p_jobs bigint[], p_places smallint[], p_ahead int, p_limit int)
RETURNS TABLE (
  o_event text, o_at timestamptz, o_shard smallint, o_period smallint, o_job bigint, o_user text,
  o_kind smallint, o_lane smallint, o_batch bigint, o_reference text, o_file text, o_attempt int,
  o_call_ms int, o_class text, o_code text, o_message text, o_by text, o_count bigint,
  o_audit bigint, o_horizon bigint, o_is_cut boolean, o_outrun int,
  o_shards smallint[], o_periods smallint[], o_jobs bigint[], o_places smallint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_filter analysis.job_filter := jsonb_populate_record(NULL::analysis.job_filter, p_filter);
  v_job_before bigint := p_before[1];
  v_audit_before bigint := p_before[2];
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_next bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  v_oldest bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  v_ago bigint := v_next - least(coalesce(p_before[3], v_oldest), v_oldest);
  -- Failures are found by their time. A transaction that fails jobs lasts two minutes at most.
  v_from timestamptz := coalesce(p_at - interval '10 minutes', p_since, v_now);
  v_in smallint[];                     -- the shards that are looked at
  v_user bigint;
  v_new record;
  v_last bigint := v_job_before;
  v_audit bigint := v_audit_before;
  v_is_cut boolean;
  v_is_still boolean;                  -- every job that is followed is where it was
BEGIN
  PERFORM analysis.require_argument(
    p_ahead BETWEEN 1 AND 10000 AND p_limit BETWEEN 1 AND 10000 AND (v_filter.kind IN (1, 2)) IS NOT FALSE
      AND (length(v_filter."user") <= 200) IS NOT FALSE
      AND num_nulls(p_at, p_before, p_jobs) IN (0, 3)
      AND (p_before IS NULL OR analysis.is_list(p_before, 3) AND 0 <= ALL (p_before)
        AND v_audit_before <= 1000000000000000)
      AND coalesce(cardinality(p_jobs), 0) <= 500000
      AND (p_jobs IS NULL OR analysis.is_list(p_jobs, cardinality(p_jobs))
        AND analysis.is_list(p_shards, cardinality(p_jobs))
        AND analysis.is_list(p_periods, cardinality(p_jobs))
        AND analysis.is_list(p_places, cardinality(p_jobs))),
    'a look names from 1 to 10000 jobs ahead and rows, and all or nothing of the position before');
  PERFORM analysis.require_date(p_since);
  PERFORM analysis.require_date(p_at);
  v_in := ARRAY(SELECT s.o_shard FROM analysis.all_shards() s ORDER BY 1);
  IF v_filter."user" IS NOT NULL THEN
    v_in := ARRAY[analysis.shard_of(v_filter."user")];
    v_user := coalesce((
      SELECT a.user_id FROM analysis.account a
      WHERE a.shard = v_in[1] AND a.user_ref = normalize(v_filter."user")
        AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))), 0);
    -- At the first look: one that is erased later has no events any more.
    -- Whether a user whom the caller does not see exists is not told.
    IF v_user = 0 AND p_at IS NULL AND v_seen IS NOT NULL THEN
      RAISE EXCEPTION 'this login is restricted to clinics, and sees no such user'
        USING ERRCODE = 'no_data_found', TABLE = 'clinic_viewer',
        HINT = 'Check the spelling, or have an administrator let it see the clinic of the user: '
          'analysisctl clinics grant.';
    ELSIF v_user = 0 AND p_at IS NULL THEN
      RAISE EXCEPTION 'there is no such user' USING ERRCODE = 'no_data_found',
        HINT = 'Add the user first: analysisctl users add.';
    END IF;
  END IF;

  IF v_audit_before IS NULL AND p_since IS NOT NULL THEN
    v_audit := (SELECT a.id - 1 FROM analysis.audit a WHERE a.at >= p_since ORDER BY a.at LIMIT 1);
  END IF;

  -- 1. Where the jobs are now, as many of each shard, of users whom the caller sees; and the new ones.
  SELECT array_agg(w.o_shard), array_agg(w.o_period), array_agg(w.o_job), array_agg(w.o_place)
  INTO o_shards, o_periods, o_jobs, o_places
  FROM analysis.places_watched(v_in, greatest(p_ahead / cardinality(v_in), 20)) w
  WHERE v_seen IS NULL OR EXISTS (
    SELECT FROM analysis.job j
    JOIN analysis.account a ON a.shard = j.shard AND a.user_id = j.user_id
    WHERE j.shard = w.o_shard AND j.period = w.o_period AND j.id = w.o_job AND a.clinic_id = ANY (v_seen));
  IF v_last IS NULL THEN
    v_last := coalesce((
      SELECT max(n.id) FROM unnest(v_in) s(shard)
      CROSS JOIN analysis.partition_made m
      CROSS JOIN LATERAL (
        SELECT k.id FROM analysis.job k
        WHERE k.shard = s.shard AND k.period = m.period ORDER BY k.id DESC LIMIT 1) n), 0);
  END IF;
  SELECT array_agg(j.o_shard) FILTER (WHERE j.o_is_new) AS shards,
    array_agg(j.o_period) FILTER (WHERE j.o_is_new) AS periods,
    array_agg(j.o_job) FILTER (WHERE j.o_is_new) AS jobs, array_agg(j.o_at) FILTER (WHERE j.o_is_new) AS at,
    max(j.o_job) AS newest, count(*) AS found
  INTO v_new
  FROM analysis.jobs_since(v_in, v_last - 1000, v_job_before, v_next, v_ago, p_limit + 1000) j;
  v_is_cut := v_new.found >= p_limit + 1000;
  v_is_still := (o_jobs = p_jobs AND o_places = p_places AND o_shards = p_shards) IS TRUE;

  -- 2. What has changed. Where a job was before is compared with where it is now, by both numbers at once.
  RETURN QUERY
  WITH here AS MATERIALIZED (
    SELECT t.* FROM unnest(o_shards, o_periods, o_jobs, o_places) t(shard, period, job, place)
    WHERE NOT v_is_still),
  before AS MATERIALIZED (
    SELECT t.* FROM unnest(p_shards, p_periods, p_jobs, p_places) t(shard, period, job, place)
    WHERE NOT v_is_still),
  born AS MATERIALIZED (
    SELECT t.* FROM unnest(v_new.shards, v_new.periods, v_new.jobs, v_new.at) t(shard, period, job, at)),
  moved AS MATERIALIZED (
    SELECT b.shard, b.period, b.job, b.place FROM before b
    WHERE NOT EXISTS (
      SELECT FROM here h WHERE h.job = b.job AND h.shard = b.shard AND h.place IN (b.place, -b.place)
        AND (h.place = b.place OR b.place < 0))
    UNION ALL
    SELECT n.shard, n.period, n.job, 0::smallint FROM born n
    WHERE p_jobs IS NULL OR NOT EXISTS (SELECT FROM here h WHERE h.job = n.job AND h.shard = n.shard)),
  change AS MATERIALIZED (
    SELECT c.* FROM analysis.changes_of(v_audit, v_in, p_limit) c),
  fact (event, at, shard, period, job, attempt, call_ms, class, code, message, by) AS (
    SELECT 'submitted', n.at, n.shard, n.period, n.job, NULL::int, NULL::int, NULL, NULL, NULL, NULL
    FROM born n
    UNION ALL
    SELECT 'started', v_now, h.shard, h.period, h.job, h.place / 16, NULL, NULL, NULL, NULL, NULL
    FROM here h
    WHERE h.place > 0 AND p_jobs IS NOT NULL AND NOT EXISTS (
      SELECT FROM before b WHERE b.job = h.job AND b.shard = h.shard AND b.place = h.place)
    UNION ALL
    SELECT e.o_event, e.o_at, e.o_shard, e.o_period, e.o_job, e.o_attempt, e.o_call_ms, e.o_class, e.o_code,
      e.o_message, NULL
    FROM (SELECT array_agg(m.shard) AS shards, array_agg(m.period) AS periods, array_agg(m.job) AS jobs,
            array_agg(m.place) AS places FROM moved m) m
    CROSS JOIN LATERAL analysis.ends_of(m.shards, m.periods, m.jobs, m.places, v_from) e
    UNION ALL
    SELECT 'dead', d.failed_at, d.shard, d.period, d.job_id, d.attempts::int, NULL, d.class, d.code,
      d.message, NULL
    FROM unnest(v_in) s(shard)
    CROSS JOIN LATERAL (
      SELECT x.*, x.xmin AS x FROM analysis.dead x
      WHERE x.shard = s.shard AND x.failed_at >= v_from
      ORDER BY x.shard DESC, x.failed_at DESC, x.job_id DESC LIMIT 500) d
    WHERE analysis.transactions_ago(v_next, d.x) <= v_ago OR d.failed_at >= p_since
    UNION ALL
    SELECT c.o_event, c.o_at, c.o_shard, l.o_period, c.o_job, NULL, NULL, NULL, NULL, NULL, c.o_by
    FROM change c
    CROSS JOIN LATERAL analysis.locate_of(c.o_shard, ARRAY[c.o_job], NULL) l)
  SELECT f.event, f.at, f.shard, f.period, f.job, a.user_ref, j.kind, j.lane, l.batch_id, l.reference,
    j.source_name, f.attempt, f.call_ms, f.class, f.code, f.message, f.by, NULL::bigint, NULL::bigint,
    NULL::bigint, NULL::boolean, NULL::int, NULL::smallint[], NULL::smallint[], NULL::bigint[],
    NULL::smallint[]
  FROM fact f
  CROSS JOIN LATERAL (
    SELECT k.user_id, k.kind, k.lane, k.source_name FROM analysis.job k
    WHERE k.shard = f.shard AND k.period = f.period AND k.id = f.job OFFSET 0) j
  CROSS JOIN LATERAL (
    SELECT c.user_ref, c.clinic_id FROM analysis.account c
    WHERE c.shard = f.shard AND c.user_id = j.user_id OFFSET 0) a
  LEFT JOIN LATERAL (
    SELECT b.batch_id, b.reference FROM analysis.job_label b
    WHERE b.shard = f.shard AND b.period = f.period AND b.job_id = f.job OFFSET 0) l ON true
  WHERE (v_user IS NULL OR j.user_id = v_user) AND (v_filter.kind IS NULL OR j.kind = v_filter.kind)
    AND (v_filter.batch IS NULL OR l.batch_id = v_filter.batch)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))
  UNION ALL
  SELECT 'left_out', max(c.o_at), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, c.o_event,
    NULL, NULL, NULL, max(c.o_left_out), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM change c
  WHERE c.o_left_out > 0 AND v_seen IS NULL
  GROUP BY c.o_event
  UNION ALL
  SELECT p.o_event, p.o_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, p.o_scope,
    p.o_name, p.o_reason, p.o_by, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM analysis.pauses_since(v_from) p
  WHERE v_filter.kind IS NULL OR p.o_scope <> 'type'
    OR p.o_name = (ARRAY['throat', 'ear'])[v_filter.kind]
  ORDER BY 2, 5;

  -- 3. What was refused, and the position.
  IF v_seen IS NULL THEN
    FOR o_batch, o_count IN
      SELECT r.o_batch, r.o_count FROM analysis.refusals_watched(v_in[1], v_user, v_filter.batch) r
    LOOP
      o_event := 'refused';
      o_at := v_now;
      RETURN NEXT;
    END LOOP;
  END IF;
  o_event := 'position';
  o_at := v_now;
  o_batch := NULL;
  o_job := greatest(v_last, v_new.newest);
  -- The newest job may be of somebody whom the caller does not see. A later number loses nothing: the next
  -- look takes what was written since by its transaction.
  IF v_seen IS NOT NULL THEN
    o_job := (o_job / 512 + 1) * 512;
  END IF;
  o_audit := (SELECT h.id FROM analysis.audit_head h);
  IF v_audit_before IS NOT NULL THEN
    v_is_cut := v_is_cut OR o_audit > v_audit_before + 5000;
    o_audit := least(o_audit, v_audit_before + 5000);
  END IF;
  o_horizon := v_oldest;
  o_is_cut := v_is_cut;
  o_outrun := CASE WHEN v_is_still THEN 0 ELSE (
    SELECT count(*) FROM (
      SELECT -b.place % 16 AS lane, b.shard, bool_or(h.job IS NOT NULL) AS waits, count(*) AS jobs
      FROM unnest(p_shards, p_jobs, p_places) b(shard, job, place)
      LEFT JOIN unnest(o_shards, o_jobs, o_places) h(shard, job, place)
        ON h.job = b.job AND h.shard = b.shard AND h.place = b.place
      WHERE b.place < 0
      GROUP BY 1, 2) t
    WHERE NOT t.waits AND t.jobs >= greatest(p_ahead / cardinality(v_in), 20)) END;
  o_count := CASE WHEN v_seen IS NULL THEN (
    SELECT sum(
      analysis.counter_of(w.report, 'jobs_completed') + analysis.counter_of(w.report, 'jobs_dead'))
    FROM analysis.worker w WHERE w.reported_at IS NOT NULL) END;
  o_shards := coalesce(o_shards, '{}');
  o_periods := coalesce(o_periods, '{}');
  o_jobs := coalesce(o_jobs, '{}');
  o_places := coalesce(o_places, '{}');
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.watch IS
  'Answers what has happened in the queue since a look before, and from where the next look goes on.';
