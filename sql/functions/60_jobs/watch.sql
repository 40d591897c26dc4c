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

-- Refuses a look that is none.
CREATE OR REPLACE FUNCTION analysis.require_look(
  p_filter analysis.job_filter, p_since timestamptz, p_at timestamptz, p_position bigint[],
  p_places analysis.places, p_ahead int, p_limit int)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_count int := cardinality(p_places.jobs);
BEGIN
  PERFORM analysis.require_argument(
    p_ahead BETWEEN 1 AND 10000 AND p_limit BETWEEN 1 AND 10000 AND (p_filter.kind IN (1, 2)) IS NOT FALSE
      AND (length(p_filter."user") <= 200) IS NOT FALSE
      AND num_nulls(p_at, p_position, p_places.jobs) IN (0, 3)
      AND (p_position IS NULL OR analysis.is_list(p_position, 3) AND 0 <= ALL (p_position)
        AND p_position[2] <= 1000000000000000)
      AND coalesce(v_count, 0) <= 500000
      AND (v_count IS NULL OR analysis.is_list(p_places.jobs, v_count)
        AND analysis.is_list(p_places.shards, v_count) AND analysis.is_list(p_places.periods, v_count)
        AND analysis.is_list(p_places.places, v_count)),
    'a look names from 1 to 10000 jobs ahead and rows, and all or nothing of the position before');
  PERFORM analysis.require_date(p_since);
  PERFORM analysis.require_date(p_at);
END $$;

-- The number of the user who is watched; 0: there is none. At the first look that is refused: one that is
-- erased later has no events any more. Whether a user whom the caller does not see exists is not told.
CREATE OR REPLACE FUNCTION analysis.watched_user(p_user text, p_clinics int[], p_is_first boolean)
RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_user bigint := (
    SELECT a.user_id FROM analysis.account a
    WHERE a.shard = analysis.shard_of(p_user) AND a.user_ref = normalize(p_user)
      AND (p_clinics IS NULL OR a.clinic_id = ANY (p_clinics)));
BEGIN
  IF v_user IS NULL AND p_is_first AND p_clinics IS NOT NULL THEN
    RAISE EXCEPTION 'this login is restricted to clinics, and sees no such user'
      USING ERRCODE = 'no_data_found', TABLE = 'clinic_viewer',
      HINT = 'Check the spelling, or have an administrator let it see the clinic of the user: '
        'analysisctl clinics grant.';
  ELSIF v_user IS NULL AND p_is_first THEN
    RAISE EXCEPTION 'there is no such user' USING ERRCODE = 'no_data_found',
      HINT = 'Add the user first: analysisctl users add.';
  END IF;
  RETURN coalesce(v_user, 0);
END $$;

-- What one look is to find, after the position of the one before (NULL: it is the first).
CREATE OR REPLACE FUNCTION analysis.look_after(
  p_filter analysis.job_filter, p_since timestamptz, p_at timestamptz, p_position bigint[], p_ahead int,
  p_limit int)
RETURNS analysis.look
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_look analysis.look;
BEGIN
  v_look.at := clock_timestamp();
  v_look.since := p_since;
  v_look.is_first := p_at IS NULL;
  -- Failures are found by their time. A transaction that fails jobs lasts two minutes at most.
  v_look.failed_from := coalesce(p_at - interval '10 minutes', p_since, v_look.at);
  v_look.clinics := analysis.clinics_seen(analysis.caller());
  v_look.next := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  v_look.oldest := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  v_look.ago := v_look.next - least(coalesce(p_position[3], v_look.oldest), v_look.oldest);
  v_look.kind := p_filter.kind;
  v_look.batch := p_filter.batch;
  v_look.shards := ARRAY(SELECT s.o_shard FROM analysis.all_shards() s ORDER BY 1);
  IF p_filter."user" IS NOT NULL THEN
    v_look.shards := ARRAY[analysis.shard_of(p_filter."user")];
    v_look.user_id := analysis.watched_user(p_filter."user", v_look.clinics, v_look.is_first);
  END IF;
  v_look.ahead := greatest(p_ahead / cardinality(v_look.shards), 20);
  v_look.most := p_limit;
  v_look.audit := p_position[2];
  IF v_look.audit IS NULL AND p_since IS NOT NULL THEN
    v_look.audit := (SELECT a.id - 1 FROM analysis.audit a WHERE a.at >= p_since ORDER BY a.at LIMIT 1);
  END IF;
  RETURN v_look;
END $$;

-- Where the jobs are now, as many of each shard, of users whom the caller sees.
CREATE OR REPLACE FUNCTION analysis.places_seen(p_look analysis.look) RETURNS analysis.places
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_place analysis.places;
BEGIN
  SELECT array_agg(w.o_shard), array_agg(w.o_period), array_agg(w.o_job), array_agg(w.o_place)
  INTO v_place.shards, v_place.periods, v_place.jobs, v_place.places
  FROM analysis.places_watched(p_look.shards, p_look.ahead) w
  WHERE p_look.clinics IS NULL OR EXISTS (
    SELECT FROM analysis.job j
    JOIN analysis.account a ON a.shard = j.shard AND a.user_id = j.user_id
    WHERE j.shard = w.o_shard AND j.period = w.o_period AND j.id = w.o_job
      AND a.clinic_id = ANY (p_look.clinics));
  RETURN v_place;
END $$;

-- The jobs that are new since the one with number p_seen (NULL: this is the first look).
CREATE OR REPLACE FUNCTION analysis.jobs_born(p_look analysis.look, p_seen bigint)
RETURNS analysis.born_jobs
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_last bigint := p_seen;
  v_born analysis.born_jobs;
BEGIN
  IF v_last IS NULL THEN
    v_last := coalesce((
      SELECT max(n.id) FROM unnest(p_look.shards) s(shard)
      CROSS JOIN analysis.partition_made m
      CROSS JOIN LATERAL (
        SELECT k.id FROM analysis.job k
        WHERE k.shard = s.shard AND k.period = m.period ORDER BY k.id DESC LIMIT 1) n), 0);
  END IF;
  SELECT array_agg(j.o_shard) FILTER (WHERE j.o_is_new), array_agg(j.o_period) FILTER (WHERE j.o_is_new),
    array_agg(j.o_job) FILTER (WHERE j.o_is_new), array_agg(j.o_at) FILTER (WHERE j.o_is_new),
    greatest(v_last, max(j.o_job)), count(*) >= p_look.most + 1000
  INTO v_born
  FROM analysis.jobs_since(
    p_look.shards, v_last - 1000, p_seen, p_look.next, p_look.ago, p_look.most + 1000) j;
  RETURN v_born;
END $$;

-- What became of jobs, by where they were before and where they are now, and of those that are new or died.
-- Where a job was is compared with where it is by both numbers at once.
CREATE OR REPLACE FUNCTION analysis.facts_watched(
  p_look analysis.look, p_before analysis.places, p_here analysis.places, p_born analysis.born_jobs)
RETURNS TABLE (
  event text, at timestamptz, shard smallint, period smallint, job bigint, attempt int, call_ms int,
  class text, code text, message text)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  WITH here AS MATERIALIZED (
    SELECT t.* FROM unnest(p_here.shards, p_here.periods, p_here.jobs, p_here.places)
      t(shard, period, job, place)),
  before AS MATERIALIZED (
    SELECT t.* FROM unnest(p_before.shards, p_before.periods, p_before.jobs, p_before.places)
      t(shard, period, job, place)),
  born AS MATERIALIZED (
    SELECT t.* FROM unnest(p_born.shards, p_born.periods, p_born.jobs, p_born.at) t(shard, period, job, at)),
  moved AS MATERIALIZED (
    SELECT b.shard, b.period, b.job, b.place FROM before b
    WHERE NOT EXISTS (
      SELECT FROM here h WHERE h.job = b.job AND h.shard = b.shard AND h.place IN (b.place, -b.place)
        AND (h.place = b.place OR b.place < 0))
    UNION ALL
    SELECT n.shard, n.period, n.job, 0::smallint FROM born n
    WHERE p_look.is_first OR NOT EXISTS (SELECT FROM here h WHERE h.job = n.job AND h.shard = n.shard))
  SELECT 'submitted', n.at, n.shard, n.period, n.job, NULL::int, NULL::int, NULL, NULL, NULL
  FROM born n
  UNION ALL
  SELECT 'started', p_look.at, h.shard, h.period, h.job, h.place / 16, NULL, NULL, NULL, NULL
  FROM here h
  WHERE h.place > 0 AND NOT p_look.is_first AND NOT EXISTS (
    SELECT FROM before b WHERE b.job = h.job AND b.shard = h.shard AND b.place = h.place)
  UNION ALL
  SELECT e.o_event, e.o_at, e.o_shard, e.o_period, e.o_job, e.o_attempt, e.o_call_ms, e.o_class, e.o_code,
    e.o_message
  FROM (SELECT array_agg(m.shard) AS shards, array_agg(m.period) AS periods, array_agg(m.job) AS jobs,
          array_agg(m.place) AS places FROM moved m) m
  CROSS JOIN LATERAL analysis.ends_of(m.shards, m.periods, m.jobs, m.places, p_look.failed_from) e
  UNION ALL
  SELECT 'dead', d.failed_at, d.shard, d.period, d.job_id, d.attempts::int, NULL, d.class, d.code, d.message
  FROM unnest(p_look.shards) s(shard)
  CROSS JOIN LATERAL (
    SELECT x.*, x.xmin AS x FROM analysis.dead x
    WHERE x.shard = s.shard AND x.failed_at >= p_look.failed_from
    ORDER BY x.shard DESC, x.failed_at DESC, x.job_id DESC LIMIT 500) d
  WHERE analysis.transactions_ago(p_look.next, d.x) <= p_look.ago OR d.failed_at >= p_look.since;
END $$;

-- What has happened since the look before, in the order of time.
CREATE OR REPLACE FUNCTION analysis.events_watched(
  p_look analysis.look, p_before analysis.places, p_here analysis.places, p_born analysis.born_jobs)
RETURNS SETOF analysis.watched
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  WITH change AS MATERIALIZED (
    SELECT c.* FROM analysis.changes_of(p_look.audit, p_look.shards, p_look.most) c),
  fact AS (
    SELECT f.*, NULL::text AS by FROM analysis.facts_watched(p_look, p_before, p_here, p_born) f
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
  WHERE (p_look.user_id IS NULL OR j.user_id = p_look.user_id)
    AND (p_look.kind IS NULL OR j.kind = p_look.kind)
    AND (p_look.batch IS NULL OR l.batch_id = p_look.batch)
    AND (p_look.clinics IS NULL OR a.clinic_id = ANY (p_look.clinics))
  UNION ALL
  SELECT 'left_out', max(c.o_at), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, c.o_event,
    NULL, NULL, NULL, max(c.o_left_out), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM change c
  WHERE c.o_left_out > 0 AND p_look.clinics IS NULL
  GROUP BY c.o_event
  UNION ALL
  SELECT p.o_event, p.o_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, p.o_scope,
    p.o_name, p.o_reason, p.o_by, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM analysis.pauses_since(p_look.failed_from) p
  WHERE p_look.kind IS NULL OR p.o_scope <> 'type' OR p.o_name = (ARRAY['throat', 'ear'])[p_look.kind]
  ORDER BY 2, 5;
END $$;

-- Of how many lanes more was claimed since the look before than it had looked ahead.
CREATE OR REPLACE FUNCTION analysis.lanes_outrun(
  p_before analysis.places, p_here analysis.places, p_ahead int)
RETURNS int
LANGUAGE sql STABLE AS $$
  SELECT count(*)::int FROM (
    SELECT -b.place % 16 AS lane, b.shard, bool_or(h.job IS NOT NULL) AS waits, count(*) AS jobs
    FROM unnest(p_before.shards, p_before.jobs, p_before.places) b(shard, job, place)
    LEFT JOIN unnest(p_here.shards, p_here.jobs, p_here.places) h(shard, job, place)
      ON h.job = b.job AND h.shard = b.shard AND h.place = b.place
    WHERE b.place < 0
    GROUP BY 1, 2) t
  WHERE NOT t.waits AND t.jobs >= p_ahead
$$;

-- Where a look has come to: what the next one is to be given.
CREATE OR REPLACE FUNCTION analysis.position_watched(
  p_look analysis.look, p_position bigint[], p_here analysis.places, p_born analysis.born_jobs,
  p_outrun int)
RETURNS analysis.watched
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_end analysis.watched;
BEGIN
  v_end.o_event := 'position';
  v_end.o_at := p_look.at;
  -- The newest job may be of somebody whom the caller does not see. A later number loses nothing: the next
  -- look takes what was written since by its transaction.
  v_end.o_job := CASE WHEN p_look.clinics IS NULL THEN p_born.last ELSE (p_born.last / 512 + 1) * 512 END;
  v_end.o_audit := (SELECT h.id FROM analysis.audit_head h);
  v_end.o_is_cut := p_born.is_cut;
  IF p_position[2] IS NOT NULL THEN
    v_end.o_is_cut := v_end.o_is_cut OR v_end.o_audit > p_position[2] + 5000;
    v_end.o_audit := least(v_end.o_audit, p_position[2] + 5000);
  END IF;
  v_end.o_horizon := p_look.oldest;
  v_end.o_outrun := p_outrun;
  v_end.o_count := CASE WHEN p_look.clinics IS NULL THEN (
    SELECT sum(
      analysis.counter_of(w.report, 'jobs_completed') + analysis.counter_of(w.report, 'jobs_dead'))
    FROM analysis.worker w WHERE w.reported_at IS NOT NULL) END;
  v_end.o_shards := coalesce(p_here.shards, '{}');
  v_end.o_periods := coalesce(p_here.periods, '{}');
  v_end.o_jobs := coalesce(p_here.jobs, '{}');
  v_end.o_places := coalesce(p_here.places, '{}');
  RETURN v_end;
END $$;

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
RETURNS SETOF analysis.watched
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  v_filter analysis.job_filter := jsonb_populate_record(NULL::analysis.job_filter, p_filter);
  v_before analysis.places := ROW(p_shards, p_periods, p_jobs, p_places);
  v_none analysis.places;
  v_here analysis.places;
  v_look analysis.look;
  v_born analysis.born_jobs;
  v_is_still boolean;                  -- every job that is followed is where it was
  v_refused analysis.watched;
BEGIN
  PERFORM analysis.require_look(v_filter, p_since, p_at, p_before, v_before, p_ahead, p_limit);
  v_look := analysis.look_after(v_filter, p_since, p_at, p_before, p_ahead, p_limit);
  v_here := analysis.places_seen(v_look);
  v_born := analysis.jobs_born(v_look, p_before[1]);
  v_is_still := (v_here.jobs = p_jobs AND v_here.places = p_places AND v_here.shards = p_shards) IS TRUE;
  IF v_is_still THEN
    RETURN QUERY SELECT e.* FROM analysis.events_watched(v_look, v_none, v_none, v_born) e;
  ELSE
    RETURN QUERY SELECT e.* FROM analysis.events_watched(v_look, v_before, v_here, v_born) e;
  END IF;
  IF v_look.clinics IS NULL THEN
    v_refused.o_event := 'refused';
    v_refused.o_at := v_look.at;
    FOR v_refused.o_batch, v_refused.o_count IN
      SELECT r.o_batch, r.o_count
      FROM analysis.refusals_watched(v_look.shards[1], v_look.user_id, v_look.batch) r
    LOOP
      RETURN NEXT v_refused;
    END LOOP;
  END IF;
  RETURN NEXT analysis.position_watched(
    v_look, p_before, v_here, v_born,
    CASE WHEN v_is_still THEN 0 ELSE analysis.lanes_outrun(v_before, v_here, v_look.ahead) END);
END $$;
COMMENT ON FUNCTION analysis.watch IS
  'Answers what has happened in the queue since a look before, and from where the next look goes on.';
