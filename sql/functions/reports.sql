-- What reports ask for in more than one place, and the closing of a month.

-- The moment at which a month may be closed: the grace after its end where it ends last on earth.
CREATE OR REPLACE FUNCTION analysis.statement_due(p_period smallint) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT analysis.period_start((p_period + 1)::smallint, 'Etc/GMT+12')
    + coalesce((SELECT s.value::interval FROM analysis.setting s WHERE s.name = 'statement_grace'),
        interval '3 days')
$$;

-- What every user used in a month, as it is now: each account that was there before the month ended for it,
-- and each that used something nevertheless. Plan and limit are those in force now or, when the month is
-- over for the user, at its end. A unit whose refund is still to be settled does not count as used.
CREATE OR REPLACE FUNCTION analysis.usage_of(p_period smallint, p_now timestamptz)
RETURNS TABLE (
  shard smallint, user_id bigint, user_ref text, zone text, plan text, plan_name text, monthly_limit bigint,
  used bigint, over bigint, analysed bigint, failed bigint, cancelled bigint, refunded bigint,
  refused bigint, calls bigint, last_reset timestamptz, last_reset_local timestamp)
LANGUAGE sql STABLE AS $$
  SELECT a.shard, a.user_id, a.user_ref, a.zone, p.name, p.display_name, l.monthly_limit::bigint,
    n.used, CASE WHEN l.monthly_limit IS NULL THEN 0 ELSE greatest(n.used - l.monthly_limit, 0) END,
    coalesce(r.analysed, 0), coalesce(d.failed, 0), coalesce(r.cancelled, 0),
    coalesce(u.refunded, 0) + coalesce(w.units, 0), coalesce(u.refused, 0)::bigint,
    coalesce(r.calls, 0) + coalesce(e.calls, 0),
    m.starts, timezone(a.zone, m.starts)
  FROM analysis.account a
  -- Once a zone, not once a user: OFFSET 0 keeps the planner from moving it.
  JOIN (
    SELECT z.zone, analysis.period_start(p_period, z.zone) AS starts,
      analysis.period_start((p_period + 1)::smallint, z.zone) AS ends
    FROM (SELECT DISTINCT a.zone FROM analysis.account a) z OFFSET 0) m ON m.zone = a.zone
  LEFT JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id AND u.period = p_period
  LEFT JOIN (
    SELECT f.shard, f.user_id, count(*) AS units FROM analysis.refund f
    WHERE f.period = p_period GROUP BY f.shard, f.user_id
  ) w ON w.shard = a.shard AND w.user_id = a.user_id
  LEFT JOIN (
    SELECT f.shard, f.user_id, count(*) FILTER (WHERE f.outcome = 1) AS analysed,
      count(*) FILTER (WHERE f.outcome = 2) AS cancelled, sum(f.calls) AS calls
    FROM analysis.result f WHERE f.period = p_period GROUP BY f.shard, f.user_id
  ) r ON r.shard = a.shard AND r.user_id = a.user_id
  LEFT JOIN (
    SELECT f.shard, f.user_id, count(*) AS failed FROM analysis.dead f
    WHERE f.period = p_period GROUP BY f.shard, f.user_id
  ) d ON d.shard = a.shard AND d.user_id = a.user_id
  LEFT JOIN (
    SELECT f.shard, f.user_id, sum(f.calls) AS calls FROM analysis.attempt_error f
    WHERE f.period = p_period GROUP BY f.shard, f.user_id
  ) e ON e.shard = a.shard AND e.user_id = a.user_id
  CROSS JOIN LATERAL (SELECT coalesce(u.used, 0) - coalesce(w.units, 0) AS used) n
  LEFT JOIN LATERAL (
    SELECT h.plan_id FROM analysis.account_plan h
    WHERE h.shard = a.shard AND h.user_id = a.user_id AND h.valid_from <= p_now AND h.valid_from < m.ends
    ORDER BY h.valid_from DESC LIMIT 1) h ON true
  LEFT JOIN analysis.plan p ON p.id = h.plan_id
  LEFT JOIN LATERAL (
    SELECT v.monthly_limit FROM analysis.plan_limit v
    WHERE v.plan_id = h.plan_id AND v.valid_from <= p_now AND v.valid_from < m.ends
    ORDER BY v.valid_from DESC LIMIT 1) l ON true
  WHERE a.created_at < m.ends OR u.user_id IS NOT NULL
$$;

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
    analysis.period_start(c.period, a.zone), timezone(a.zone, analysis.period_start(c.period, a.zone))
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
  WHERE (c.used, c.over, c.refunded, c.refused)
    IS DISTINCT FROM (c.stated_used, c.stated_over, c.stated_refunded, c.stated_refused)
$$;

-- A month's usage as it is reported: the statement's lines in their order when the month is closed, else what
-- it is now. The condition on the statement is decided once, so that only one half is read.
CREATE OR REPLACE FUNCTION analysis.usage_report(p_period smallint, p_now timestamptz)
RETURNS TABLE (
  line bigint, for_period smallint, shard smallint, user_id bigint, user_ref text, zone text, plan text,
  plan_name text, monthly_limit bigint, used bigint, over bigint, analysed bigint, failed bigint,
  cancelled bigint, refunded bigint, refused bigint, calls bigint, last_reset timestamptz,
  last_reset_local timestamp)
LANGUAGE sql STABLE AS $$
  SELECT t.line, t.for_period, t.shard, t.user_id, t.user_ref, t.zone, t.plan, t.plan_name, t.monthly_limit,
    t.used, t.over, t.analysed, t.failed, t.cancelled, t.refunded, t.refused, t.calls, t.last_reset,
    t.last_reset_local
  FROM analysis.statement_line t
  WHERE t.report = 'usage' AND t.period = p_period
  UNION ALL
  SELECT 0, p_period, n.shard, n.user_id, n.user_ref, n.zone, n.plan, n.plan_name, n.monthly_limit, n.used,
    n.over, n.analysed, n.failed, n.cancelled, n.refunded, n.refused, n.calls, n.last_reset,
    n.last_reset_local
  FROM analysis.usage_of(p_period, p_now) n
  WHERE NOT EXISTS (
    SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period)
$$;

-- Closes a month: stores its lines, and the adjustments of earlier months, unless it is closed already, its grace is not
-- over, or its number is none that the programs know (the years 2000 to 2699). Answers whether this call closed it. p_now is
-- for tests; callers leave it out. A role that sees some clinics only would state them for all: it may not. Who calls is
-- told by the session, since in here it is the owner.
CREATE OR REPLACE FUNCTION analysis.close_usage(p_period smallint, p_now timestamptz DEFAULT now())
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_caller name := analysis.caller();
BEGIN
  PERFORM analysis.require_argument(p_now IS NOT NULL, 'a month is closed at a moment');
  PERFORM analysis.require_read_committed();
  PERFORM analysis.check_moment(p_now);
  IF (p_period BETWEEN 24000 AND 32399) IS NOT TRUE THEN
    RETURN false;
  END IF;
  IF p_now < analysis.statement_due(p_period)
     OR EXISTS (SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period) THEN
    RETURN false;
  END IF;
  IF analysis.clinics_seen(v_caller) IS NOT NULL THEN
    RAISE EXCEPTION 'role % sees some clinics only and cannot close % for all', v_caller, analysis.period_text(p_period)
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'Let a role that is not restricted to clinics write the month''s usage report first.';
  END IF;

  -- One closing at a time, of whatever month: two at once could state the same adjustment twice. Readers
  -- are not held up. What another has closed meanwhile is seen by the statements below, each of which
  -- takes a new snapshot.
  LOCK TABLE analysis.statement IN SHARE ROW EXCLUSIVE MODE;
  INSERT INTO analysis.statement (report, period, closed_at) VALUES ('usage', p_period, p_now)
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;

  -- The month's own lines, then the adjustments by month, each by the bytes of the user's name.
  INSERT INTO analysis.statement_line (
    report, period, line, for_period, shard, user_id, user_ref, zone, plan, plan_name, monthly_limit, used,
    over, analysed, failed, cancelled, refunded, refused, calls, last_reset, last_reset_local)
  SELECT 'usage', p_period,
    row_number() OVER (
      ORDER BY x.for_period <> p_period, x.for_period, x.user_ref COLLATE "C", x.shard, x.user_id),
    x.for_period, x.shard, x.user_id, x.user_ref, x.zone, x.plan, x.plan_name, x.monthly_limit, x.used,
    x.over, x.analysed, x.failed, x.cancelled, x.refunded, x.refused, x.calls, x.last_reset,
    x.last_reset_local
  FROM (
    SELECT p_period AS for_period, n.shard, n.user_id, n.user_ref, n.zone, n.plan, n.plan_name,
      n.monthly_limit, n.used, n.over, n.analysed, n.failed, n.cancelled, n.refunded, n.refused, n.calls,
      n.last_reset, n.last_reset_local
    FROM analysis.usage_of(p_period, p_now) n
    UNION ALL
    SELECT a.for_period, a.shard, a.user_id, a.user_ref, a.zone, NULL, NULL, NULL, a.used, a.over, NULL,
      NULL, NULL, a.refunded, a.refused, NULL, a.last_reset, a.last_reset_local
    FROM analysis.usage_adjustments(p_period) a) x;
  RETURN true;
END $$;
