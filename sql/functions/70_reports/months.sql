-- The months, and how far each is from its statement. What closes one is close_usage.

-- Refuses the closing of a month to a role that sees some clinics only: it would state the month for all. Who
-- calls is the session's user, since the current user in here is the owner.
CREATE OR REPLACE FUNCTION analysis.refuse_restricted_closing(p_period smallint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_caller name := analysis.caller();
BEGIN
  IF analysis.clinics_seen(v_caller) IS NOT NULL THEN
    RAISE EXCEPTION 'role % sees some clinics only and cannot close % for all', v_caller,
      analysis.period_text(p_period)
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'Let a role that is not restricted to clinics close it with analysisctl month close.';
  END IF;
END $$;

-- The months from the first in which anything was used or stated to the running one of the installation's
-- zone, the oldest first: 'running' until it is over in every zone, 'grace' until it may be closed, 'due'
-- from then on, and 'closed' when it is. Of a closed one, how many lines its statement has for the users whom
-- the caller sees, and whether a price is in it. p_now NULL: now.
CREATE OR REPLACE FUNCTION analysis.list_months(p_now timestamptz)
RETURNS TABLE (
  o_period smallint, o_state text, o_due_at timestamptz, o_closed_at timestamptz, o_lines bigint,
  o_is_priced boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_now timestamptz := coalesce(p_now, now());
  v_running smallint := analysis.period_of(v_now, coalesce(analysis.setting_value('zone'), 'UTC'));
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  RETURN QUERY
  SELECT m.period,
    CASE WHEN s.closed_at IS NOT NULL THEN 'closed'
      WHEN analysis.period_start((m.period + 1)::smallint, 'Etc/GMT+12') > v_now THEN 'running'
      WHEN m.due_at > v_now THEN 'grace'
      ELSE 'due' END,
    m.due_at, s.closed_at, l.lines,
    s.period IS NOT NULL AND EXISTS (SELECT FROM analysis.plan_price) AND EXISTS (
      SELECT FROM analysis.statement_segment g
      WHERE g.report = 'usage' AND g.period = s.period AND g.price IS NOT NULL)
  FROM (
    SELECT g.period::smallint AS period, analysis.statement_due(g.period::smallint) AS due_at
    FROM (
      SELECT least(
        v_running, (SELECT min(u.period) FROM analysis.usage u),
        (SELECT min(x.period) FROM analysis.statement x WHERE x.report = 'usage')) AS first) f
    CROSS JOIN LATERAL generate_series(f.first::int, v_running::int) g(period)) m
  LEFT JOIN analysis.statement s ON s.report = 'usage' AND s.period = m.period
  -- Lines are numbered from 1, so the last number of a statement is how many it has.
  LEFT JOIN LATERAL (
    SELECT CASE WHEN v_seen IS NULL THEN
        coalesce((SELECT max(t.line) FROM analysis.statement_line t
                  WHERE t.report = 'usage' AND t.period = s.period), 0)
      ELSE (SELECT count(*) FROM analysis.statement_line t
            WHERE t.report = 'usage' AND t.period = s.period
              AND analysis.is_seen(v_seen, t.shard, t.user_id)) END AS lines) l ON s.period IS NOT NULL
  ORDER BY m.period;
END $$;
COMMENT ON FUNCTION analysis.list_months IS
  'Answers the months, which of them are closed, and from when on the others may be.';

-- Those that are due, for every login: until they are closed nobody is billed by them.
CREATE OR REPLACE FUNCTION analysis.months_due(p_now timestamptz)
RETURNS TABLE (o_period smallint, o_due_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT m.o_period, m.o_due_at FROM analysis.list_months(p_now) m WHERE m.o_state = 'due' ORDER BY 1
$$;
COMMENT ON FUNCTION analysis.months_due IS
  'Answers the months that may be closed and are not, and since when.';

-- What the closing of a month would state: its users, those who used something, their units and those over
-- the limit; and how many adjustments of months that were stated before, with the sum of their units. p_now
-- NULL: now. Who may not close it is refused as there.
CREATE OR REPLACE FUNCTION analysis.preview_closing(p_period smallint, p_now timestamptz)
RETURNS TABLE (
  o_users bigint, o_active bigint, o_used bigint, o_over bigint, o_adjustments bigint, o_adjusted bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399, 'a month that is closed is of the years 2000 to 2699');
  PERFORM analysis.refuse_restricted_closing(p_period);
  RETURN QUERY
  SELECT u.*, a.*
  FROM (
    SELECT count(*), count(*) FILTER (WHERE n.used > 0), coalesce(sum(n.used), 0)::bigint,
      coalesce(sum(n.over), 0)::bigint
    FROM analysis.usage_of(p_period, coalesce(p_now, now()), NULL, true) n) u
  CROSS JOIN (
    SELECT count(*), coalesce(sum(d.used), 0)::bigint FROM analysis.usage_adjustments(p_period) d) a;
END $$;
COMMENT ON FUNCTION analysis.preview_closing IS
  'Answers what the closing of a month would state; changes nothing.';
