-- What was used on some days, added up by day, clinic, plan or type.

-- The units of jobs of months, and the calls of jobs that have gone to a later month since; of one user alone
-- where p_user names one. p_kinds: with the types of those, too.
CREATE OR REPLACE FUNCTION analysis.units_taken(
  p_from smallint, p_to smallint, p_shard smallint, p_user bigint, p_kinds boolean)
RETURNS TABLE (
  shard smallint, user_id bigint, period smallint, kind smallint, at timestamptz, jobs int, used int,
  analysed int, failed int, cancelled int, calls int)
LANGUAGE sql STABLE AS $$
  SELECT j.shard, j.user_id, j.period, j.kind, coalesce(j.run_at, j.created_at) AS at, 1 AS jobs,
    (NOT j.closed AND d.job_id IS NULL)::int AS used, (r.outcome IS NOT DISTINCT FROM 1)::int AS analysed,
    (d.job_id IS NOT NULL)::int AS failed, (r.outcome IS NOT DISTINCT FROM 2)::int AS cancelled,
    coalesce(r.calls, 0) + coalesce(e.calls, 0) AS calls
  FROM analysis.job j
  LEFT JOIN analysis.result r ON r.shard = j.shard AND r.period = j.period AND r.job_id = j.id
    AND r.period BETWEEN p_from AND p_to
  LEFT JOIN analysis.dead d ON d.shard = j.shard AND d.job_id = j.id AND d.period BETWEEN p_from AND p_to
  LEFT JOIN (
    SELECT f.shard, f.period, f.job_id, sum(f.calls)::int AS calls FROM analysis.attempt_error f
    WHERE f.period BETWEEN p_from AND p_to GROUP BY f.shard, f.period, f.job_id
  ) e ON e.shard = j.shard AND e.period = j.period AND e.job_id = j.id
  WHERE j.period BETWEEN p_from AND p_to
    AND (p_user IS NULL OR j.shard = p_shard AND j.user_id = p_user)
  UNION ALL
  -- The calls of jobs that have gone to a later month since.
  SELECT f.shard, f.user_id, f.period, k.kind, f.at, 0, 0, 0, 0, 0, f.calls
  FROM analysis.attempt_error f
  LEFT JOIN LATERAL (
    SELECT j.kind
    FROM analysis.partition_made m
    CROSS JOIN LATERAL (
      SELECT o.kind FROM analysis.job o
      WHERE o.shard = f.shard AND o.period = m.period AND o.id = f.job_id OFFSET 0) j
    WHERE m.period > f.period LIMIT 1) k ON p_kinds
  WHERE f.period BETWEEN p_from AND p_to AND f.calls > 0
    AND (p_user IS NULL OR f.shard = p_shard AND f.user_id = p_user)
    AND NOT EXISTS (
      SELECT FROM analysis.job j WHERE j.shard = f.shard AND j.period = f.period AND j.id = f.job_id)
$$;

-- The same with the day on which each counts, the clinic of its user, and the plan that the user had where
-- p_by asks for it; of users of p_clinics (NULL: of all).
CREATE OR REPLACE FUNCTION analysis.units_placed(
  p_by text, p_from smallint, p_to smallint, p_shard smallint, p_user bigint, p_clinics int[])
RETURNS TABLE (
  shard smallint, user_id bigint, kind smallint, day date, clinic_id int, plan_id smallint, jobs int,
  used int, analysed int, failed int, cancelled int, calls int)
LANGUAGE sql STABLE AS $$
  -- OFFSET 0: how few rows the days leave cannot be foreseen, so that they are joined before.
  SELECT u.shard, u.user_id, u.kind,
    CASE WHEN a.anchors IS NULL
      THEN least(greatest(timezone(a.zone, u.at)::date, make_date(u.period / 12, u.period % 12 + 1, 1)),
        make_date((u.period + 1) / 12, (u.period + 1) % 12 + 1, 1) - 1)
      ELSE least(
        greatest(timezone(a.zone, u.at)::date,
          analysis.period_end_day((u.period - 1)::smallint, a.anchors)),
        analysis.period_end_day(u.period, a.anchors) - 1) END,
    a.clinic_id, h.plan_id, u.jobs, u.used, u.analysed, u.failed, u.cancelled, u.calls
  FROM analysis.units_taken(p_from, p_to, p_shard, p_user, p_by = 'type') u
  JOIN analysis.account a ON a.shard = u.shard AND a.user_id = u.user_id
  LEFT JOIN analysis.plan_spans(NULL, NULL) h ON p_by = 'plan' AND h.shard = u.shard AND h.user_id = u.user_id
    AND u.at >= h.valid_from AND u.at < h.until
  WHERE p_clinics IS NULL OR a.clinic_id = ANY (p_clinics) OFFSET 0
$$;

-- The days of which usage is asked for, and the months that may have units of them; whether these are all
-- days of months.
CREATE OR REPLACE FUNCTION analysis.usage_days(
  p_by text, p_first text, p_last text,
  OUT o_first date, OUT o_last date, OUT o_from smallint, OUT o_to smallint, OUT o_is_whole boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_by IN ('day', 'clinic', 'plan', 'type'), 'usage is added up by day, clinic, plan or type');
  PERFORM analysis.require_argument(
    p_first ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' AND p_last ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
    'a day is written as 2026-10-01');
  o_first := p_first;
  o_last := p_last;
  PERFORM analysis.require_argument(
    o_first BETWEEN '2000-01-01' AND '2699-12-31' AND o_last BETWEEN o_first AND '2699-12-31'
      AND o_last - o_first < 366, 'usage is of 1 to 366 days of the years 2000 to 2699');
  o_from := date_part('year', o_first) * 12 + date_part('month', o_first) - 1;
  o_to := date_part('year', o_last) * 12 + date_part('month', o_last) - 1;
  o_is_whole := date_part('day', o_first) = 1 AND date_part('day', o_last + 1) = 1;
  -- Late days of a month may be of periods that end in the next.
  IF NOT o_is_whole AND EXISTS (SELECT FROM analysis.account a WHERE a.anchors IS NOT NULL) THEN
    o_to := o_to + 1;
  END IF;
END $$;

-- What was used from p_first to p_last, both days included, in groups: by 'day' as YYYY-MM-DD, by 'clinic'
-- whose patient a user is now, by 'plan' as it was at the moment of the unit, or by 'type'. The group is NULL
-- for who is of no clinic or had no plan. A group without a job has no row. The first row is the sum, in
-- which a user counts once. A day is written as 2026-10-01.
--
-- All that is counted of a job stands under the day on which its unit was taken by the clocks of the user's
-- zone, as in its segment: at the submit, at the time for which it was submitted, or when it was queued
-- again. After a change of the zone a unit may lie outside of its period by the new clocks: it counts with
-- the period's first or last day. Where p_first and p_last are the first and last day of months, all is
-- counted that these months' periods have, also what lies on days before; so the days of a month have what
-- the month has. Of other days, what lies on them is counted, whatever its period. Calls of a job that was
-- queued again in a later month are of the month and the day in which they were made. Jobs that were removed
-- after their time are missing. p_clinic, p_user: as in usage_lines.
CREATE OR REPLACE FUNCTION analysis.usage_groups(
  p_by text, p_first text, p_last text, p_clinic text, p_user text)
RETURNS TABLE (
  o_group text, o_label text, o_users bigint, o_used bigint, o_analysed bigint, o_open bigint,
  o_failed bigint, o_cancelled bigint, o_calls bigint, o_is_sum boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan SET enable_partitionwise_join = on SET work_mem = '64MB' AS $$
DECLARE
  v_clinics int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint;
  v_user bigint;
  v_first date;
  v_last date;
  v_from smallint;
  v_to smallint;
  v_is_whole boolean;                  -- all days of the months are counted
BEGIN
  SELECT d.* INTO v_first, v_last, v_from, v_to, v_is_whole FROM analysis.usage_days(p_by, p_first, p_last) d;
  IF p_clinic IS NOT NULL THEN
    SELECT ARRAY[h.o_clinic] INTO v_clinics FROM analysis.statement_holder(p_clinic, NULL) h;
  END IF;
  IF p_user IS NOT NULL THEN
    SELECT h.o_shard, h.o_user INTO v_shard, v_user FROM analysis.statement_holder(NULL, p_user) h;
  END IF;
  RETURN QUERY
  WITH counted AS MATERIALIZED (
    SELECT
      CASE p_by WHEN 'day' THEN p.day - DATE '2000-01-01' WHEN 'clinic' THEN p.clinic_id
        WHEN 'plan' THEN p.plan_id ELSE p.kind END AS key,
      p.shard, p.user_id, sum(p.jobs) AS jobs, sum(p.used) AS used, sum(p.analysed) AS analysed,
      sum(p.failed) AS failed, sum(p.cancelled) AS cancelled, sum(p.calls) AS calls
    FROM analysis.units_placed(p_by, v_from, v_to, v_shard, v_user, v_clinics) p
    WHERE v_is_whole OR p.day BETWEEN v_first AND v_last
    GROUP BY 1, 2, 3),
  sums AS (
    SELECT c.key, count(*) FILTER (WHERE c.jobs > 0) AS users, sum(c.used) AS used,
      sum(c.analysed) AS analysed, sum(c.failed) AS failed, sum(c.cancelled) AS cancelled,
      sum(c.calls) AS calls, false AS is_sum
    FROM counted c GROUP BY c.key
    UNION ALL
    SELECT NULL, (
        SELECT count(*) FROM (SELECT DISTINCT o.shard, o.user_id FROM counted o WHERE o.jobs > 0) p),
      sum(c.used), sum(c.analysed), sum(c.failed), sum(c.cancelled), sum(c.calls), true
    FROM counted c)
  SELECT n.name, coalesce(p.display_name, n.name), s.users, coalesce(s.used, 0)::bigint,
    coalesce(s.analysed, 0)::bigint, coalesce(s.used - s.analysed, 0)::bigint, coalesce(s.failed, 0)::bigint,
    coalesce(s.cancelled, 0)::bigint, coalesce(s.calls, 0)::bigint, s.is_sum
  FROM sums s
  LEFT JOIN analysis.clinic c ON p_by = 'clinic' AND c.id = s.key
  LEFT JOIN analysis.plan p ON p_by = 'plan' AND p.id = s.key
  CROSS JOIN LATERAL (
    SELECT CASE p_by WHEN 'day' THEN to_char(DATE '2000-01-01' + s.key, 'YYYY-MM-DD')
      WHEN 'clinic' THEN c.name WHEN 'plan' THEN p.name ELSE (ARRAY['throat', 'ear'])[s.key] END AS name) n
  ORDER BY NOT s.is_sum, CASE WHEN p_by IN ('clinic', 'plan') THEN n.name END COLLATE "C", s.key;
END $$;
COMMENT ON FUNCTION analysis.usage_groups IS
  'Answers what was used on some days, added up by day, clinic, plan or type.';
