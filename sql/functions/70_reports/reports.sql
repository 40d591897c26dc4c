-- What reports ask for in more than one place, and the closing of a month.

-- The moment at which a month may be closed: the grace after its end where it ends last on earth. No user's
-- period that is labelled by it ends later, whatever the anchor.
CREATE OR REPLACE FUNCTION analysis.statement_due(p_period smallint) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT analysis.period_start((p_period + 1)::smallint, 'Etc/GMT+12')
    + coalesce((SELECT s.value::interval FROM analysis.setting s WHERE s.name = 'statement_grace'),
        interval '3 days')
$$;
COMMENT ON FUNCTION analysis.statement_due IS
  'Answers the moment from which a month may be closed.';

-- Whether so many jobs are open that to count a month's analyses takes less time than to look these jobs up:
-- one look takes as long as to count some twenty. It stops at that number, however many wait.
CREATE OR REPLACE FUNCTION analysis.are_many_open() RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT count(*) > 100000 FROM (SELECT FROM analysis.queue_places() LIMIT 100001) q
$$;

-- What every user used in a month, as it is now: each account that was there before the month ended for it,
-- and each that used something nevertheless. Plan and limit are those in force now or, when the month is
-- over for the user, at its end. A unit whose refund is still to be applied does not count as used. Of
-- users of p_clinics; NULL: of all. Safe to run in parallel, or none of the report that reads it would.
--
-- A unit is of a job that is analysed or open, which reconcile checks. p_counts: whether the analyses are
-- counted, as for a statement; else they are the units less the open jobs, which are looked up. So a job that
-- is lost, which reconcile names, counts as analysed there.
CREATE OR REPLACE FUNCTION analysis.usage_of(
  p_period smallint, p_now timestamptz, p_clinics int[], p_counts boolean)
RETURNS TABLE (
  shard smallint, user_id bigint, user_ref text, zone text, plan text, plan_name text, monthly_limit bigint,
  used bigint, over bigint, analysed bigint, failed bigint, cancelled bigint, refunded bigint,
  refused bigint, calls bigint, last_reset timestamptz, last_reset_local timestamp)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT a.shard, a.user_id, a.user_ref, a.zone, p.name, p.display_name, l.monthly_limit::bigint,
    n.used, CASE WHEN l.monthly_limit IS NULL THEN 0 ELSE greatest(n.used - l.monthly_limit, 0) END,
    d.results - coalesce(w.cancelled, 0), coalesce(w.failed, 0), coalesce(w.cancelled, 0),
    coalesce(u.refunded, 0) + coalesce(w.units, 0), coalesce(u.refused, 0)::bigint,
    d.results + coalesce(w.calls, 0), m.starts, m.starts_local
  FROM analysis.account a
  -- Once for a zone and its anchors, not for each user: OFFSET 0 keeps the planner from moving it. Every
  -- account finds its own; a LEFT JOIN says so to the planner, which would expect few users otherwise.
  LEFT JOIN (
    SELECT z.zone, z.anchors, b.starts, timezone(z.zone, b.starts) AS starts_local,
      analysis.period_ends(p_period, z.zone, z.anchors) AS ends
    FROM (SELECT DISTINCT a.zone, coalesce(a.anchors, '{}') AS anchors FROM analysis.account a) z
    CROSS JOIN LATERAL (
      SELECT analysis.period_begins(p_period, z.zone, z.anchors) AS starts OFFSET 0) b
    OFFSET 0) m
    ON m.zone = a.zone AND m.anchors = coalesce(a.anchors, '{}')
  LEFT JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id AND u.period = p_period
  -- Where they are counted, all results are, by one index, as if each were an analysis after one call. The
  -- next join has by how much the others differ from that.
  LEFT JOIN (
    SELECT k.shard, k.user_id, count(*) AS results FROM analysis.result k
    WHERE k.period = p_period AND p_counts GROUP BY k.user_id, k.shard
  ) r ON r.shard = a.shard AND r.user_id = a.user_id
  -- What few users have, by one join: each costs the report of many users more than to read it.
  LEFT JOIN (
    SELECT x.shard, x.user_id, sum(x.units) AS units, sum(x.open) AS open, sum(x.failed) AS failed,
      sum(x.cancelled) AS cancelled, sum(x.calls) AS calls
    FROM (
      SELECT f.shard, f.user_id, 1 AS units, 0 AS open, 0 AS failed, 0 AS cancelled, 0 AS calls
      FROM analysis.refund f
      WHERE f.period = p_period
      UNION ALL
      SELECT j.shard, j.user_id, 0, 1, 0, 0, 0
      FROM analysis.queue_places() q
      CROSS JOIN LATERAL (
        SELECT k.shard, k.user_id FROM analysis.job k
        WHERE k.shard = q.shard AND k.period = p_period AND k.id = q.job_id AND NOT k.closed OFFSET 0) j
      WHERE q.period = p_period AND NOT p_counts
      UNION ALL
      SELECT f.shard, f.user_id, 0, 0, 1, 0, 0 FROM analysis.dead f WHERE f.period = p_period
      UNION ALL
      SELECT f.shard, f.user_id, 0, 0, 0, 0, f.calls::int FROM analysis.attempt_error f
      WHERE f.period = p_period
      UNION ALL
      SELECT f.shard, f.user_id, 0, 0, 0, (f.outcome = 2)::int, f.calls - 1 FROM analysis.result f
      WHERE f.period = p_period AND (f.outcome = 2 OR f.calls <> 1)) x
    GROUP BY x.shard, x.user_id
  ) w ON w.shard = a.shard AND w.user_id = a.user_id
  CROSS JOIN LATERAL (SELECT coalesce(u.used, 0) - coalesce(w.units, 0) AS used) n
  CROSS JOIN LATERAL (
    SELECT CASE WHEN p_counts THEN coalesce(r.results, 0)
      ELSE n.used - coalesce(w.open, 0) + coalesce(w.cancelled, 0) END AS results) d
  -- All plans at once, each with its end, and all limits: one look for each user would take longer.
  LEFT JOIN (
    SELECT v.shard, v.user_id, v.plan_id, v.valid_from,
      lead(v.valid_from, 1, 'infinity') OVER (PARTITION BY v.shard, v.user_id ORDER BY v.valid_from) AS until
    FROM analysis.account_plan v
  ) h ON h.shard = a.shard AND h.user_id = a.user_id AND h.valid_from <= p_now AND h.valid_from < m.ends
    AND NOT (h.until <= p_now AND h.until < m.ends)
  LEFT JOIN analysis.plan p ON p.id = h.plan_id
  LEFT JOIN (
    SELECT v.plan_id, v.monthly_limit, v.valid_from,
      lead(v.valid_from, 1, 'infinity') OVER (PARTITION BY v.plan_id ORDER BY v.valid_from) AS until
    FROM analysis.plan_limit v
  ) l ON l.plan_id = h.plan_id AND l.valid_from <= p_now AND l.valid_from < m.ends
    AND NOT (l.until <= p_now AND l.until < m.ends)
  WHERE (a.created_at < m.ends OR u.user_id IS NOT NULL)
    AND (p_clinics IS NULL OR a.clinic_id = ANY (p_clinics))
$$;
DROP FUNCTION IF EXISTS analysis.usage_of(smallint, timestamptz, int[]);

-- By how much each month that is stated before p_period changed since: what is used, refunded and refused
-- now, less what was stated with the adjustments that followed. Only the counters that touch a bill are
-- compared, and what lies over the limit is judged by the limit that was stated.
CREATE OR REPLACE FUNCTION analysis.usage_adjustments(p_period smallint)
RETURNS TABLE (
  for_period smallint, shard smallint, user_id bigint, user_ref text, zone text, used bigint, over bigint,
  refunded bigint, refused bigint, last_reset timestamptz, last_reset_local timestamp)
LANGUAGE sql STABLE AS $$
  SELECT c.period, a.shard, a.user_id, a.user_ref, a.zone, c.used - c.stated_used, c.over - c.stated_over,
    c.refunded - c.stated_refunded, c.refused - c.stated_refused,
    s.starts, timezone(a.zone, s.starts)
  FROM (
    SELECT u.period, u.shard, u.user_id, n.used, u.refunded + coalesce(w.units, 0) AS refunded,
      u.refused::bigint AS refused,
      CASE WHEN b.monthly_limit IS NULL THEN 0 ELSE greatest(n.used - b.monthly_limit, 0) END AS over,
      coalesce(b.used, 0) AS stated_used, coalesce(b.over, 0) AS stated_over,
      coalesce(b.refunded, 0) AS stated_refunded, coalesce(b.refused, 0) AS stated_refused
    FROM analysis.statement s
    JOIN analysis.usage u ON u.period = s.period
    LEFT JOIN (
      SELECT f.shard, f.user_id, f.period, count(*) AS units FROM analysis.refund f
      GROUP BY f.shard, f.user_id, f.period
    ) w ON w.shard = u.shard AND w.user_id = u.user_id AND w.period = u.period
    LEFT JOIN (
      SELECT t.for_period, t.shard, t.user_id, max(t.monthly_limit) AS monthly_limit,
        sum(t.used)::bigint AS used, sum(t.over)::bigint AS over, sum(t.refunded)::bigint AS refunded,
        sum(t.refused)::bigint AS refused
      FROM analysis.statement_line t WHERE t.report = 'usage'
      GROUP BY t.for_period, t.shard, t.user_id
    ) b ON b.for_period = u.period AND b.shard = u.shard AND b.user_id = u.user_id
    CROSS JOIN LATERAL (SELECT u.used - coalesce(w.units, 0) AS used) n
    WHERE s.report = 'usage' AND s.period < p_period
  ) c
  JOIN analysis.account a ON a.shard = c.shard AND a.user_id = c.user_id
  CROSS JOIN LATERAL (
    SELECT analysis.period_begins(c.period, a.zone, a.anchors) AS starts OFFSET 0) s
  WHERE (c.used, c.over, c.refunded, c.refused)
    IS DISTINCT FROM (c.stated_used, c.stated_over, c.stated_refunded, c.stated_refused)
$$;

-- The lines of a month without an order: the statement's when it is closed, else what it is now. Of users of
-- p_clinics (NULL: of all), or of one alone (NULL: of each). The condition on the statement is decided once,
-- so that only one half is read. p_counts: as in usage_of.
CREATE OR REPLACE FUNCTION analysis.month_lines(
  p_period smallint, p_now timestamptz, p_clinics int[], p_shard smallint, p_user_id bigint, p_counts boolean)
RETURNS TABLE (
  line bigint, for_period smallint, shard smallint, user_id bigint, user_ref text, zone text, plan text,
  plan_name text, monthly_limit bigint, used bigint, over bigint, analysed bigint, failed bigint,
  cancelled bigint, refunded bigint, refused bigint, calls bigint, last_reset timestamptz,
  last_reset_local timestamp)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT t.line, t.for_period, t.shard, t.user_id, t.user_ref, t.zone, t.plan, t.plan_name, t.monthly_limit,
    t.used, t.over, t.analysed, t.failed, t.cancelled, t.refunded, t.refused, t.calls, t.last_reset,
    t.last_reset_local
  FROM analysis.statement_line t
  WHERE t.report = 'usage' AND t.period = p_period
    AND (p_clinics IS NULL OR analysis.is_seen(p_clinics, t.shard, t.user_id))
    AND (p_user_id IS NULL OR t.shard = p_shard AND t.user_id = p_user_id)
  UNION ALL
  SELECT 0, p_period, n.shard, n.user_id, n.user_ref, n.zone, n.plan, n.plan_name, n.monthly_limit, n.used,
    n.over, n.analysed, n.failed, n.cancelled, n.refunded, n.refused, n.calls, n.last_reset,
    n.last_reset_local
  FROM analysis.usage_of(p_period, p_now, p_clinics, p_counts) n
  WHERE NOT EXISTS (SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period)
    AND (p_user_id IS NULL OR n.shard = p_shard AND n.user_id = p_user_id)
$$;

-- A month's usage as it is reported: the statement's lines in their order when the month is closed, else what
-- it is now by the bytes of the users' names, of the users whom the caller sees; before them a line without
-- a month, which is their sum. p_clinic, p_user: only users who are of that clinic now, only that user;
-- refused if the caller sees none such. p_idle: whether a user who used nothing has a line, as every account
-- of a person who was erased in an earlier month. What the clocks of p_zone (NULL: of each user's) show has
-- no zone. The condition on the statement is decided once, so that only one half is read.
CREATE OR REPLACE FUNCTION analysis.usage_lines(
  p_period smallint, p_zone text, p_now timestamptz, p_clinic text, p_user text, p_idle boolean)
RETURNS TABLE (
  line bigint, for_period smallint, shard smallint, user_id bigint, user_ref text, zone text, plan text,
  plan_name text, monthly_limit bigint, used bigint, over bigint, analysed bigint, open bigint, failed bigint,
  cancelled bigint, refunded bigint, refused bigint, calls bigint, last_reset timestamptz,
  last_reset_local timestamp)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' SET enable_mergejoin = off AS $$
DECLARE
  v_clinics int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint;
  v_user bigint;
  v_closed boolean := EXISTS (
    SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period);
  v_counts boolean := p_user IS NOT NULL OR analysis.are_many_open();
BEGIN
  IF p_clinic IS NOT NULL THEN
    SELECT ARRAY[h.o_clinic] INTO v_clinics FROM analysis.statement_holder(p_clinic, NULL) h;
  END IF;
  IF p_user IS NOT NULL THEN
    SELECT h.o_shard, h.o_user INTO v_shard, v_user FROM analysis.statement_holder(NULL, p_user) h;
  END IF;
  RETURN QUERY
  WITH lines AS MATERIALIZED (
    SELECT x.*, x.used - x.analysed AS open
    FROM analysis.month_lines(p_period, p_now, v_clinics, v_shard, v_user, v_counts) x
    -- An adjustment says nothing of jobs, so that it stays.
    WHERE p_idle OR (x.used, x.analysed, x.failed, x.cancelled, x.refunded, x.refused, x.calls)
      IS DISTINCT FROM (0, 0, 0, 0, 0, 0, 0))
  SELECT y.line, y.for_period, y.shard, y.user_id, y.user_ref, y.zone, y.plan, y.plan_name, y.monthly_limit,
    y.used, y.over, y.analysed, y.open, y.failed, y.cancelled, y.refunded, y.refused, y.calls, y.last_reset,
    CASE WHEN p_zone IS NULL THEN y.last_reset_local ELSE timezone(p_zone, y.last_reset) END
  FROM (
    SELECT l.* FROM lines l
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, coalesce(sum(l.used), 0)::bigint,
      coalesce(sum(l.over), 0)::bigint, coalesce(sum(l.analysed), 0)::bigint,
      coalesce(sum(l.failed), 0)::bigint, coalesce(sum(l.cancelled), 0)::bigint,
      coalesce(sum(l.refunded), 0)::bigint, coalesce(sum(l.refused), 0)::bigint,
      coalesce(sum(l.calls), 0)::bigint, NULL, NULL, coalesce(sum(l.open), 0)::bigint
    FROM lines l) y
  -- The lines of a draft are all 0: without them the name is sorted by first, which takes less time.
  ORDER BY CASE WHEN v_closed THEN y.line END NULLS FIRST, y.user_ref COLLATE "C" NULLS FIRST, y.shard,
    y.user_id;
END $$;
COMMENT ON FUNCTION analysis.usage_lines IS
  'Answers what users used of a month, the adjustments of a closed one, and the sum.';

-- The same of all users whom the caller sees, without the sum. Version 1.0 asks it.
CREATE OR REPLACE FUNCTION analysis.usage_report(p_period smallint, p_zone text, p_now timestamptz)
RETURNS TABLE (
  line bigint, for_period smallint, shard smallint, user_id bigint, user_ref text, zone text, plan text,
  plan_name text, monthly_limit bigint, used bigint, over bigint, analysed bigint, failed bigint,
  cancelled bigint, refunded bigint, refused bigint, calls bigint, last_reset timestamptz,
  last_reset_local timestamp)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.line, l.for_period, l.shard, l.user_id, l.user_ref, l.zone, l.plan, l.plan_name, l.monthly_limit,
    l.used, l.over, l.analysed, l.failed, l.cancelled, l.refunded, l.refused, l.calls, l.last_reset,
    l.last_reset_local
  FROM analysis.usage_lines(p_period, p_zone, p_now, NULL, NULL, true) l
  WHERE l.for_period IS NOT NULL
$$;
COMMENT ON FUNCTION analysis.usage_report IS
  'Answers what each user used of a month, and the adjustments of a closed one.';

-- Jobs of a month that have neither a result nor died: the units taken and not refunded, less the results.
-- Not looked up as in usage_of, since any number of jobs may wait.
CREATE OR REPLACE FUNCTION analysis.open_jobs(p_period smallint) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  RETURN (
    SELECT coalesce(sum(u.used), 0) FROM analysis.usage u
    WHERE u.period = p_period AND (v_seen IS NULL OR analysis.is_seen(v_seen, u.shard, u.user_id)))
  - (
    SELECT count(*) FROM analysis.refund f
    WHERE f.period = p_period AND (v_seen IS NULL OR analysis.is_seen(v_seen, f.shard, f.user_id)))
  - (
    -- All are counted by one index, and the few that were cancelled by another.
    SELECT count(*) FROM analysis.result r
    WHERE r.period = p_period
      AND (v_seen IS NULL
        OR (r.shard, r.user_id) IN (
          SELECT u.o_shard, u.o_user FROM analysis.users_seen(analysis.caller()) u)))
  + (
    SELECT count(*) FROM analysis.result r
    WHERE r.period = p_period AND r.outcome = 2
      AND (v_seen IS NULL
        OR (r.shard, r.user_id) IN (
          SELECT u.o_shard, u.o_user FROM analysis.users_seen(analysis.caller()) u)));
END $$;
COMMENT ON FUNCTION analysis.open_jobs IS
  'Answers how many jobs of a month have neither a result nor died.';

-- How often each condition was found in a month, over all conditions of each analysis. Of several names
-- the first in byte order is shown. Bands are those stored with the result: 1 green to 4 red. Called by
-- functions, which have asked whose results p_clinics are. Safe to run in parallel, as usage_of is.
CREATE OR REPLACE FUNCTION analysis.condition_counts(p_period smallint, p_clinics int[])
RETURNS TABLE (
  id text, name text, normal boolean, green bigint, yellow bigint, orange bigint, red bigint, total bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT c.id, min(c.name COLLATE "C"), coalesce(c.normal, false),
    count(*) FILTER (WHERE c.band = 1), count(*) FILTER (WHERE c.band = 2),
    count(*) FILTER (WHERE c.band = 3), count(*) FILTER (WHERE c.band = 4), count(*)
  FROM analysis.result r
  CROSS JOIN LATERAL jsonb_to_recordset(r.conditions) AS c(id text, name text, band smallint, normal boolean)
  WHERE r.period = p_period AND r.outcome = 1
    AND (p_clinics IS NULL OR (r.shard, r.user_id) IN (
      SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (p_clinics)))
  GROUP BY c.id, coalesce(c.normal, false)
$$;

-- The same cell by cell, for whoever is not shown counts of fewer than p_least persons: of each condition in
-- each band (1) and in all (2), the sums of these over all conditions, normal ones and others apart (3, 4),
-- and the analyses without a condition (5). What is hidden in a row, or in a sum, is hidden in both.
CREATE OR REPLACE FUNCTION analysis.condition_cells(p_period smallint, p_clinics int[], p_least int)
RETURNS TABLE (
  kind int, id text, name text, normal boolean, band smallint, total bigint, persons bigint,
  is_hidden boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  WITH counted AS MATERIALIZED (
    SELECT row_number() OVER ()::int AS cell,
      g.*
    FROM (
      SELECT CASE GROUPING(c.id) WHEN 0 THEN 1 ELSE 3 END + GROUPING(c.band) AS kind, c.id,
        min(c.name COLLATE "C") AS name, n.normal, c.band, count(*) AS total,
        count(DISTINCT (r.shard, r.user_id)) AS persons
      FROM analysis.result r
      CROSS JOIN LATERAL jsonb_to_recordset(r.conditions)
        AS c(id text, name text, band smallint, normal boolean)
      CROSS JOIN LATERAL (SELECT coalesce(c.normal, false) AS normal) n
      WHERE r.period = p_period AND r.outcome = 1
        AND (p_clinics IS NULL OR (r.shard, r.user_id) IN (
          SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (p_clinics)))
      GROUP BY n.normal, CUBE (c.id, c.band)
      UNION ALL
      SELECT 5, NULL, NULL, NULL, NULL, count(*), count(DISTINCT (r.shard, r.user_id))
      FROM analysis.result r
      WHERE r.period = p_period AND r.outcome = 1 AND r.condition_count = 0
        AND (p_clinics IS NULL OR (r.shard, r.user_id) IN (
          SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (p_clinics)))) g),
  lines (line, cell) AS (
    SELECT format('%s id %s', c.normal, c.id), c.cell FROM counted c WHERE c.kind IN (1, 2)
    UNION ALL
    SELECT format('%s band %s', c.normal, c.band), c.cell FROM counted c WHERE c.kind IN (1, 3)
    UNION ALL
    SELECT format('%s ids', c.normal), c.cell FROM counted c WHERE c.kind IN (2, 4)
    UNION ALL
    SELECT format('%s bands', c.normal), c.cell FROM counted c WHERE c.kind IN (3, 4)
    UNION ALL
    -- Where each has one condition these add up to the analyses, and how many these are everybody is told.
    SELECT 'analyses', c.cell FROM counted c WHERE c.kind IN (4, 5)),
  hidden AS (
    SELECT analysis.hidden_cells(
      ARRAY(SELECT c.persons FROM counted c ORDER BY c.cell),
      ARRAY(SELECT l.line FROM lines l ORDER BY l.line, l.cell),
      ARRAY(SELECT l.cell FROM lines l ORDER BY l.line, l.cell), p_least) AS cells)
  SELECT c.kind, c.id, c.name, c.normal, c.band, c.total, c.persons, c.cell = ANY (h.cells)
  FROM counted c CROSS JOIN hidden h;
END $$;

-- What was found in a month in users of clinics, where counts of fewer than p_least persons are hidden: see
-- finding_counts.
CREATE OR REPLACE FUNCTION analysis.finding_counts_of(p_period smallint, p_clinics int[], p_least int)
RETURNS TABLE (
  throat bigint, ear bigint, serious bigint, consult bigint, without_condition bigint,
  normal bigint, green bigint, yellow bigint, orange bigint, red bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED AS $$
DECLARE
  v_normal bigint[];
  v_band bigint[];
  v_tells_few boolean;
BEGIN
  SELECT count(*) FILTER (WHERE r.kind = 1), count(*) FILTER (WHERE r.kind = 2),
    count(*) FILTER (WHERE r.serious), count(*) FILTER (WHERE r.consult)
  INTO throat, ear, serious, consult
  FROM analysis.result r
  WHERE r.period = p_period AND r.outcome = 1 AND (r.shard, r.user_id) IN (
    SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (p_clinics));
  -- Each of these is one of the counts, or a difference of two of them and the pictures.
  SELECT EXISTS (
    SELECT FROM analysis.result r
    CROSS JOIN LATERAL (
      SELECT r.serious IS TRUE AS serious, r.consult IS TRUE AS consult, r.condition_count > 0 AS found) f
    CROSS JOIN LATERAL (VALUES
      (1, f.serious), (2, NOT f.serious), (3, f.consult), (4, NOT f.consult),
      (5, f.serious AND NOT f.consult), (6, f.consult AND NOT f.serious),
      (7, f.found AND NOT f.serious), (8, f.found AND NOT f.consult)) g(number, is_in)
    WHERE r.period = p_period AND r.outcome = 1 AND g.is_in AND (r.shard, r.user_id) IN (
      SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (p_clinics))
    GROUP BY g.number
    HAVING count(DISTINCT (r.shard, r.user_id)) < p_least)
  INTO v_tells_few;
  WITH cells AS MATERIALIZED (SELECT c.* FROM analysis.condition_cells(p_period, p_clinics, p_least) c)
  SELECT (SELECT CASE WHEN c.is_hidden THEN NULL ELSE c.total END FROM cells c WHERE c.kind = 5),
    coalesce(
      (SELECT array_agg(CASE WHEN c.is_hidden THEN NULL ELSE c.total END) FROM cells c
       WHERE c.kind = 4 AND c.normal), '{0}'),
    (SELECT array_agg(CASE WHEN c.is_hidden THEN NULL ELSE coalesce(c.total, 0) END ORDER BY g.band)
     FROM generate_series(1, 4) g(band)
     LEFT JOIN cells c ON c.kind = 3 AND NOT c.normal AND c.band = g.band)
  INTO without_condition, v_normal, v_band;
  normal := v_normal[1];
  green := v_band[1];
  yellow := v_band[2];
  orange := v_band[3];
  red := v_band[4];
  IF v_tells_few OR num_nulls(without_condition, normal, green, yellow, orange, red) > 0 THEN
    serious := NULL;
    consult := NULL;
  END IF;
  RETURN NEXT;
END $$;

-- What was found in a month in all: counts for who may not read whose analysis said what. What is of too few
-- persons for the caller is NULL. How many pictures there were of each type is what users are billed by, and
-- is not hidden. So what is serious, or calls for a consultation, is hidden too where the others are of few
-- persons; and where anything else is hidden, since the endpoint makes both of the conditions and bands.
CREATE OR REPLACE FUNCTION analysis.finding_counts(p_period smallint)
RETURNS TABLE (
  throat bigint, ear bigint, serious bigint, consult bigint, without_condition bigint,
  normal bigint, green bigint, yellow bigint, orange bigint, red bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_least int := analysis.least_persons();
BEGIN
  IF v_least <= 1 THEN
    -- The first two conditions of each analysis stand in columns of their own too: only of those that have
    -- more is the whole list read. RETURN QUERY runs in parallel, which SELECT INTO does not.
    RETURN QUERY
    SELECT f.throat, f.ear, f.serious, f.consult, f.without_condition, f.normal + coalesce(m.counts[1], 0),
      f.green + coalesce(m.counts[2], 0), f.yellow + coalesce(m.counts[3], 0),
      f.orange + coalesce(m.counts[4], 0), f.red + coalesce(m.counts[5], 0)
    FROM (
      SELECT count(*) FILTER (WHERE r.kind = 1) AS throat, count(*) FILTER (WHERE r.kind = 2) AS ear,
        count(*) FILTER (WHERE r.serious) AS serious, count(*) FILTER (WHERE r.consult) AS consult,
        count(*) FILTER (WHERE r.condition_count = 0) AS without_condition,
        count(*) FILTER (WHERE r.condition_count > 2) AS longer,
        count(*) FILTER (WHERE r.primary_normal) + count(*) FILTER (WHERE r.secondary_normal) AS normal,
        count(*) FILTER (WHERE NOT r.primary_normal AND r.primary_band = 1)
          + count(*) FILTER (WHERE NOT r.secondary_normal AND r.secondary_band = 1) AS green,
        count(*) FILTER (WHERE NOT r.primary_normal AND r.primary_band = 2)
          + count(*) FILTER (WHERE NOT r.secondary_normal AND r.secondary_band = 2) AS yellow,
        count(*) FILTER (WHERE NOT r.primary_normal AND r.primary_band = 3)
          + count(*) FILTER (WHERE NOT r.secondary_normal AND r.secondary_band = 3) AS orange,
        count(*) FILTER (WHERE NOT r.primary_normal AND r.primary_band = 4)
          + count(*) FILTER (WHERE NOT r.secondary_normal AND r.secondary_band = 4) AS red
      FROM analysis.result r
      WHERE r.period = p_period AND r.outcome = 1
        AND (v_seen IS NULL OR (r.shard, r.user_id) IN (
          SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (v_seen)))) f
    CROSS JOIN LATERAL (
      SELECT CASE WHEN f.longer > 0 THEN (
        SELECT ARRAY[count(*) FILTER (WHERE n.normal), count(*) FILTER (WHERE NOT n.normal AND c.band = 1),
          count(*) FILTER (WHERE NOT n.normal AND c.band = 2),
          count(*) FILTER (WHERE NOT n.normal AND c.band = 3),
          count(*) FILTER (WHERE NOT n.normal AND c.band = 4)]
        FROM analysis.result r
        CROSS JOIN LATERAL ROWS FROM (
          jsonb_to_recordset(r.conditions) AS (band smallint, normal boolean))
          WITH ORDINALITY c(band, normal, place)
        CROSS JOIN LATERAL (SELECT coalesce(c.normal, false) AS normal) n
        WHERE r.period = p_period AND r.outcome = 1 AND r.condition_count > 2 AND c.place > 2
          AND (v_seen IS NULL OR (r.shard, r.user_id) IN (
            SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY (v_seen)))) END
          AS counts OFFSET 0) m;
    RETURN;
  END IF;
  RETURN QUERY SELECT f.* FROM analysis.finding_counts_of(p_period, v_seen, v_least) f;
END $$;
COMMENT ON FUNCTION analysis.finding_counts IS
  'Answers how many findings of each kind a month has; counts only.';

-- Record that the report of conditions or of analyses of a month is read, and answer what the functions
-- that give its rows ask for once that is committed. Who may not call one of these may not read that
-- report, and leaves no entry.
CREATE OR REPLACE FUNCTION analysis.open_conditions(p_period smallint, p_detail jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399, 'a report is of a month of the years 2000 to 2699');
  RETURN analysis.open_reading(
    'report', 'report:conditions:' || analysis.period_text(p_period), analysis.audit_detail(p_detail));
END $$;
COMMENT ON FUNCTION analysis.open_conditions IS
  'Records that the report of conditions is read; answers what report_conditions asks for.';

-- The same for the report of analyses, with the shares by which the login reads users.
CREATE OR REPLACE FUNCTION analysis.open_analyses(p_period smallint, p_detail jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399, 'a report is of a month of the years 2000 to 2699');
  RETURN analysis.open_reading(
    'report', 'report:analyses:' || analysis.period_text(p_period),
    coalesce(analysis.audit_detail(p_detail), '{}') || jsonb_strip_nulls(jsonb_build_object('shares', (
      SELECT jsonb_agg(s.id ORDER BY s.id)
      FROM analysis.all_shards() h CROSS JOIN LATERAL analysis.shares_of_login(h.o_shard) s))));
END $$;
COMMENT ON FUNCTION analysis.open_analyses IS
  'Records that the report of analyses is read; answers what its functions ask for.';

-- The report of conditions, by the bytes of their ids; the normal ones apart, at the end. What is of too few
-- persons for the caller is NULL.
CREATE OR REPLACE FUNCTION analysis.report_conditions(p_period smallint, p_reading text)
RETURNS TABLE (
  id text, name text, normal boolean, green bigint, yellow bigint, orange bigint, red bigint, total bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_least int := analysis.least_persons();
BEGIN
  PERFORM analysis.require_reading(
    'report', 'report:conditions:' || analysis.period_text(p_period), p_reading);
  IF v_least <= 1 THEN
    RETURN QUERY
    SELECT c.* FROM analysis.condition_counts(p_period, v_seen) c ORDER BY c.normal, c.id COLLATE "C";
    RETURN;
  END IF;
  RETURN QUERY
  WITH cells AS MATERIALIZED (SELECT c.* FROM analysis.condition_cells(p_period, v_seen, v_least) c)
  SELECT t.id, t.name, t.normal, b.counts[1], b.counts[2], b.counts[3], b.counts[4],
    CASE WHEN t.is_hidden THEN NULL ELSE t.total END
  FROM cells t
  CROSS JOIN LATERAL (
    SELECT array_agg(CASE WHEN c.is_hidden THEN NULL ELSE coalesce(c.total, 0) END ORDER BY g.band) AS counts
    FROM generate_series(1, 4) g(band)
    LEFT JOIN cells c ON c.kind = 1 AND c.id = t.id AND c.normal = t.normal AND c.band = g.band) b
  WHERE t.kind = 2
  ORDER BY t.normal, t.id COLLATE "C";
END $$;
COMMENT ON FUNCTION analysis.report_conditions IS
  'Answers how often each condition was found in a month.';

-- Between which jobs' numbers each shard's analyses of a month are; shards without any are left out.
CREATE OR REPLACE FUNCTION analysis.analyses_bounds(p_period smallint, p_reading text)
RETURNS TABLE (shard smallint, first_job bigint, last_job bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_reading('report', 'report:analyses:' || analysis.period_text(p_period), p_reading);
  RETURN QUERY
  SELECT g.shard::smallint, b.lowest, b.highest
  FROM analysis.setting s
  CROSS JOIN LATERAL generate_series(0, s.value::int - 1) g(shard)
  CROSS JOIN LATERAL (
    SELECT min(r.job_id) AS lowest, max(r.job_id) AS highest
    FROM analysis.result r
    WHERE r.shard = g.shard::smallint AND r.period = p_period) b
  WHERE s.name = 'shards' AND b.lowest IS NOT NULL
  ORDER BY g.shard;
END $$;
COMMENT ON FUNCTION analysis.analyses_bounds IS
  'Answers between which job numbers each shard''s analyses of a month are.';

-- A page of the report of analyses: of one shard, the jobs with these numbers, in order. A function's rows
-- are all kept before the first is sent: in pages they never meet the disk. What the clocks of the zone
-- (NULL: of each user's) show has no zone. Results of persons who were erased tell nothing.
CREATE OR REPLACE FUNCTION analysis.report_analyses(
  p_period smallint, p_reading text, p_zone text, p_shard smallint, p_first bigint, p_last bigint)
RETURNS TABLE (
  job_id bigint, user_ref text, kind smallint,
  primary_id text, primary_name text, primary_confidence double precision, primary_band smallint,
  primary_normal boolean,
  secondary_id text, secondary_name text, secondary_confidence double precision, secondary_band smallint,
  secondary_normal boolean, condition_count smallint, serious boolean, consult boolean,
  endpoint_serious boolean, endpoint_consult boolean, attempt smallint, calls smallint,
  analysis_id text, endpoint text, model text, answered_at timestamptz, answered_local timestamp,
  finished_at timestamptz,
  finished_local timestamp)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shared bigint[] := analysis.users_shared(v_seen, p_shard);
BEGIN
  PERFORM analysis.require_reading('report', 'report:analyses:' || analysis.period_text(p_period), p_reading);
  RETURN QUERY
  SELECT r.job_id, a.user_ref, r.kind,
    r.primary_id, r.primary_name, r.primary_confidence, r.primary_band, r.primary_normal,
    r.secondary_id, r.secondary_name, r.secondary_confidence, r.secondary_band, r.secondary_normal,
    r.condition_count, r.serious, r.consult, r.endpoint_serious, r.endpoint_consult, r.attempt, r.calls,
    r.analysis_id, r.endpoint, r.model,
    r.answered_at, timezone(coalesce(p_zone, a.zone), r.answered_at),
    r.finished_at, timezone(coalesce(p_zone, a.zone), r.finished_at)
  FROM analysis.result r
  JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id
  WHERE r.shard = p_shard AND r.period = p_period AND r.job_id BETWEEN p_first AND p_last
    AND r.outcome = 1 AND r.condition_count IS NOT NULL
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen) OR a.user_id = ANY (v_shared))
  ORDER BY r.job_id;
END $$;
COMMENT ON FUNCTION analysis.report_analyses IS
  'Answers a page of the report of analyses.';

-- States a month: its own lines, then the adjustments by month of what changed since p_since, each by the
-- bytes of the user's name; and with them their segments. All of it is of one moment, so that the segments'
-- units add up to their line's.
CREATE OR REPLACE FUNCTION analysis.state_month(p_period smallint, p_now timestamptz, p_since timestamptz)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  WITH stated AS MATERIALIZED (
    SELECT row_number() OVER (
        ORDER BY x.for_period <> p_period, x.for_period, x.user_ref COLLATE "C", x.shard, x.user_id) AS line,
      x.*
    FROM (
      SELECT p_period AS for_period, n.shard, n.user_id, n.user_ref, n.zone, n.plan, n.plan_name,
        n.monthly_limit, n.used, n.over, n.analysed, n.failed, n.cancelled, n.refunded, n.refused, n.calls,
        n.last_reset, n.last_reset_local
      FROM analysis.usage_of(p_period, p_now, NULL, true) n
      UNION ALL
      SELECT a.for_period, a.shard, a.user_id, a.user_ref, a.zone, NULL, NULL, NULL, a.used, a.over, NULL,
        NULL, NULL, a.refunded, a.refused, NULL, a.last_reset, a.last_reset_local
      FROM analysis.usage_adjustments(p_period) a) x),
  lines AS (
    INSERT INTO analysis.statement_line (
      report, period, line, for_period, shard, user_id, user_ref, zone, plan, plan_name, monthly_limit, used,
      over, analysed, failed, cancelled, refunded, refused, calls, last_reset, last_reset_local)
    SELECT 'usage', p_period, t.line, t.for_period, t.shard, t.user_id, t.user_ref, t.zone, t.plan,
      t.plan_name, t.monthly_limit, t.used, t.over, t.analysed, t.failed, t.cancelled, t.refunded, t.refused,
      t.calls, t.last_reset, t.last_reset_local
    FROM stated t)
  INSERT INTO analysis.statement_segment (
    report, period, line, segment, clinic_id, plan, plan_name, monthly_limit, units, over, price, amount,
    starts, ends, starts_local, ends_local, currency, reason)
  SELECT 'usage', p_period, t.line, s.segment, s.clinic_id, s.plan, s.plan_name, s.monthly_limit, s.units,
    s.over, s.price, s.amount, s.starts, s.ends, s.starts_local, s.ends_local, s.currency, NULL
  FROM stated t
  JOIN analysis.usage_segments(p_period, NULL, NULL, NULL) s ON s.shard = t.shard AND s.user_id = t.user_id
  WHERE t.for_period = p_period
  UNION ALL
  SELECT 'usage', p_period, t.line, s.segment, s.clinic_id, s.plan, s.plan_name, s.monthly_limit, s.units,
    s.over, s.price, s.amount, s.starts, s.ends, timezone(t.zone, s.starts), timezone(t.zone, s.ends),
    s.currency, s.reason
  FROM stated t
  CROSS JOIN LATERAL analysis.adjustment_segments(
    t.for_period, t.shard, t.user_id, t.zone, t.used, t.over, p_since) s
  WHERE t.for_period <> p_period;
END $$;

-- Closes a month: stores its lines, and the adjustments of earlier months, unless it is closed already,
-- its grace is not over, or its number is none that the programs know (the years 2000 to 2699). Answers
-- whether this call closed it, and records it then. p_now is for tests; callers leave it out.
CREATE OR REPLACE FUNCTION analysis.close_usage(p_period smallint, p_now timestamptz DEFAULT now())
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s' AS $$
DECLARE
  v_since timestamptz;                 -- when the last month was closed
BEGIN
  PERFORM analysis.require_argument(p_now IS NOT NULL, 'a month is closed at a moment');
  PERFORM analysis.refuse_repeatable_read();
  PERFORM analysis.check_moment(p_now);
  IF (p_period BETWEEN 24000 AND 32399) IS NOT TRUE THEN
    RETURN false;
  END IF;
  IF p_now < analysis.statement_due(p_period)
     OR EXISTS (SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period) THEN
    RETURN false;
  END IF;
  PERFORM analysis.refuse_restricted_closing(p_period);

  -- One closing at a time, of whatever month: two at once could state the same adjustment twice. Readers
  -- are not held up. What another has closed meanwhile is seen by the statements below, each of which
  -- takes a new snapshot.
  LOCK TABLE analysis.statement IN SHARE ROW EXCLUSIVE MODE;
  v_since := (SELECT max(s.closed_at) FROM analysis.statement s WHERE s.report = 'usage');
  INSERT INTO analysis.statement (report, period, closed_at) VALUES ('usage', p_period, p_now)
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;

  PERFORM analysis.state_month(p_period, p_now, v_since);
  PERFORM analysis.keep_clinic_counts(p_period);
  PERFORM analysis.audit_add(
    'close_month', 'month:' || analysis.period_text(p_period), jsonb_build_object('lines', (
      SELECT count(*) FROM analysis.statement_line t WHERE t.report = 'usage' AND t.period = p_period)));
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.close_usage IS
  'Closes a month: stores its usage as a statement, unless it is closed or its grace is not over.';

-- The running month in the installation's zone.
CREATE OR REPLACE FUNCTION analysis.current_month() RETURNS smallint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT analysis.period_of(now(), coalesce(analysis.setting_value('zone'), 'UTC'))
$$;
COMMENT ON FUNCTION analysis.current_month IS
  'Answers the running month in the installation''s time zone.';

-- What there is to know of a month before its rows are read: the moment of the report, whether and since
-- when its usage is stated, whether it may be closed, whether it is over everywhere, whether the server is
-- a replica, and since when results of it have been removed. p_now NULL: now.
CREATE OR REPLACE FUNCTION analysis.month_facts(p_period smallint, p_now timestamptz)
RETURNS TABLE (
  at timestamptz, closed_at timestamptz, is_due boolean, is_over boolean, is_replica boolean,
  purged_since timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT m.at, s.closed_at, analysis.statement_due(p_period) <= m.at,
    analysis.period_start((p_period + 1)::smallint, 'Etc/GMT+12') <= m.at, pg_is_in_recovery(), p.since
  FROM (SELECT coalesce(p_now, now()) AS at) m
  LEFT JOIN analysis.statement s ON s.report = 'usage' AND s.period = p_period
  LEFT JOIN analysis.purged_month p ON p.period = p_period
$$;
COMMENT ON FUNCTION analysis.month_facts IS
  'Answers whether a month is closed, over and may be closed, and since when results were removed.';

-- The months that are over in every zone, from the first in which anything was used or stated, the oldest
-- first; and of each, whether its usage can be stated: it is already, or its grace is over and the server
-- is no replica. Version 1.0 asks it; list_months tells more. p_now NULL: now.
CREATE OR REPLACE FUNCTION analysis.due_months(p_now timestamptz)
RETURNS TABLE (period smallint, is_due boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT m.period::smallint,
    s.period IS NOT NULL OR (analysis.statement_due(m.period::smallint) <= t.at AND NOT pg_is_in_recovery())
  FROM (SELECT coalesce(p_now, now()) AS at) t
  CROSS JOIN LATERAL (
    SELECT least(
      (SELECT min(u.period) FROM analysis.usage u),
      (SELECT min(x.period) FROM analysis.statement x WHERE x.report = 'usage')) AS first) f
  CROSS JOIN LATERAL generate_series(f.first, analysis.period_of(t.at, 'Etc/GMT+12') - 1) m(period)
  LEFT JOIN analysis.statement s ON s.report = 'usage' AND s.period = m.period
  ORDER BY m.period
$$;
COMMENT ON FUNCTION analysis.due_months IS
  'Answers the months that are over, and whether each can be stated.';

-- The month's totals in one row. What users used comes from the statement when the month is closed, so
-- that it adds up to the usage report; what was found is as it is now.
CREATE OR REPLACE FUNCTION analysis.summary_report(p_period smallint, p_now timestamptz)
RETURNS TABLE (
  users bigint, active_users bigint, used bigint, over bigint, analysed bigint, open bigint, failed bigint,
  cancelled bigint, refunded bigint, refused bigint, calls bigint, adjusted bigint, throat bigint, ear bigint,
  serious bigint, consult bigint, without_condition bigint, normal bigint, green bigint, yellow bigint,
  orange bigint,
  red bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_counts boolean := analysis.are_many_open();
BEGIN
  RETURN QUERY
  SELECT u.*, f.*
  FROM (
    SELECT count(*) FILTER (WHERE o.own), count(*) FILTER (WHERE o.own AND t.used > 0),
      coalesce(sum(t.used) FILTER (WHERE o.own), 0)::bigint,
      coalesce(sum(t.over) FILTER (WHERE o.own), 0)::bigint,
      coalesce(sum(t.analysed), 0)::bigint,
      coalesce(sum(t.used - t.analysed), 0)::bigint,
      coalesce(sum(t.failed), 0)::bigint,
      coalesce(sum(t.cancelled), 0)::bigint,
      coalesce(sum(t.refunded) FILTER (WHERE o.own), 0)::bigint,
      coalesce(sum(t.refused) FILTER (WHERE o.own), 0)::bigint,
      coalesce(sum(t.calls), 0)::bigint,
      coalesce(sum(t.used) FILTER (WHERE NOT o.own), 0)::bigint
    FROM analysis.month_lines(p_period, p_now, v_seen, NULL, NULL, v_counts) t
    CROSS JOIN LATERAL (SELECT t.for_period = p_period AS own) o) u
  CROSS JOIN analysis.finding_counts(p_period) f;
END $$;
COMMENT ON FUNCTION analysis.summary_report IS
  'Answers the totals of a month.';
