-- Statements: what a clinic, or a user, is billed for a month.
--
-- Of a closed month they are as it was closed, for ever; of another they are a draft, as it is now and
-- without adjustments. A clinic's has the users who were its patients when the month was closed.

-- Who is meant by the name of a clinic or of a user, of which one is NULL; refused if the caller sees none
-- such.
CREATE OR REPLACE FUNCTION analysis.statement_holder(
  p_clinic text, p_user text, OUT o_clinic int, OUT o_shard smallint, OUT o_user bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  PERFORM analysis.require_argument(
    num_nonnulls(p_clinic, p_user) = 1, 'a statement is of one clinic or of one user');
  IF p_clinic IS NOT NULL THEN
    SELECT c.id INTO o_clinic FROM analysis.clinic c
    WHERE c.name = normalize(p_clinic) AND (v_seen IS NULL OR c.id = ANY (v_seen));
    PERFORM analysis.require_argument(
      o_clinic IS NOT NULL,
      format('no clinic is called %s, or this login does not see it', left(p_clinic, 100)));
  ELSE
    o_shard := analysis.shard_of(p_user);
    SELECT a.user_id INTO o_user FROM analysis.account a
    WHERE a.shard = o_shard AND a.user_ref = normalize(p_user)
      AND analysis.is_seen(v_seen, a.shard, a.user_id);
    PERFORM analysis.require_argument(
      o_user IS NOT NULL, 'there is no such user, or this login does not see them');
  END IF;
END $$;

-- The lines of a closed month of which segments may be a clinic's or a user's.
CREATE OR REPLACE FUNCTION analysis.statement_lines_of(
  p_period smallint, p_clinic int, p_shard smallint, p_user bigint)
RETURNS TABLE (line bigint)
LANGUAGE sql STABLE AS $$
  SELECT g.line FROM analysis.statement_segment g
  WHERE g.report = 'usage' AND g.period = p_period AND g.clinic_id = p_clinic
  UNION
  SELECT l.line FROM analysis.statement_line l
  WHERE l.report = 'usage' AND l.shard = p_shard AND l.user_id = p_user AND l.period = p_period
    AND l.for_period = ANY (ARRAY(
      SELECT m.period FROM analysis.statement m WHERE m.report = 'usage' AND m.period <= p_period))
  UNION
  -- Of a month that was stated before there were segments every line may be one of them.
  SELECT l.line FROM analysis.statement_line l
  WHERE l.report = 'usage' AND l.period = p_period AND NOT EXISTS (
    SELECT FROM analysis.statement_segment g WHERE g.report = 'usage' AND g.period = p_period)
$$;

-- The lines of a statement: each segment that has units, in the order of the users' names; after them the
-- adjustments, each with the month that it is of. Only those in one currency where p_currency names one.
CREATE OR REPLACE FUNCTION analysis.statement_segments(
  p_period smallint, p_clinic text, p_user text, p_currency text)
RETURNS TABLE (
  o_user text, o_for_period smallint, o_zone text, o_starts timestamptz, o_ends timestamptz,
  o_starts_local timestamp, o_ends_local timestamp, o_plan text, o_plan_name text, o_limit bigint,
  o_units bigint, o_over bigint, o_price text, o_amount text, o_currency text, o_reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_clinic int;
  v_shard smallint;
  v_user bigint;
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399, 'a statement is of a month of the years 2000 to 2699');
  SELECT h.* INTO v_clinic, v_shard, v_user FROM analysis.statement_holder(p_clinic, p_user) h;
  IF EXISTS (SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period) THEN
    RETURN QUERY
    SELECT t.user_ref, t.for_period, t.zone, s.starts, s.ends, s.starts_local, s.ends_local, s.plan,
      s.plan_name, s.monthly_limit, s.units, s.over, analysis.price_text(s.price, s.currency),
      s.amount::text, s.currency, s.reason
    FROM analysis.statement_lines_of(p_period, v_clinic, v_shard, v_user) k
    JOIN analysis.statement_line t ON t.report = 'usage' AND t.period = p_period AND t.line = k.line
    CROSS JOIN LATERAL (
      SELECT g.clinic_id, g.segment, g.starts, g.ends, g.starts_local, g.ends_local, g.plan, g.plan_name,
        g.monthly_limit, g.units, g.over, g.price, g.amount, g.currency, g.reason
      FROM analysis.statement_segment g
      WHERE g.report = t.report AND g.period = t.period AND g.line = t.line
      UNION ALL
      SELECT a.clinic_id, 1, t.last_reset, e.ends, t.last_reset_local, timezone(t.zone, e.ends), t.plan,
        t.plan_name, t.monthly_limit, t.used, t.over, NULL, NULL, NULL, NULL
      FROM analysis.account a
      CROSS JOIN LATERAL (
        SELECT analysis.period_ends(t.for_period, t.zone, a.anchors) AS ends) e
      WHERE a.shard = t.shard AND a.user_id = t.user_id AND (t.used, t.over) <> (0, 0) AND NOT EXISTS (
        SELECT FROM analysis.statement_segment g
        WHERE g.report = t.report AND g.period = t.period AND g.line = t.line)) s
    WHERE (s.units, s.over) <> (0, 0)
      AND (s.clinic_id = v_clinic OR t.shard = v_shard AND t.user_id = v_user)
      AND (p_currency IS NULL OR s.currency = p_currency)
    ORDER BY t.line, s.segment;
  ELSE
    RETURN QUERY
    SELECT a.user_ref, p_period, a.zone, s.starts, s.ends, s.starts_local, s.ends_local, s.plan, s.plan_name,
      s.monthly_limit, s.units, s.over, analysis.price_text(s.price, s.currency), s.amount::text, s.currency,
      NULL
    FROM analysis.usage_segments(
      p_period, CASE WHEN v_clinic IS NOT NULL THEN ARRAY[v_clinic] END, v_shard, v_user) s
    JOIN analysis.account a ON a.shard = s.shard AND a.user_id = s.user_id
    WHERE s.units <> 0 AND (p_currency IS NULL OR s.currency = p_currency)
    ORDER BY a.user_ref COLLATE "C", a.shard, a.user_id, s.segment;
  END IF;
END $$;
COMMENT ON FUNCTION analysis.statement_segments IS
  'Answers the lines of a clinic''s or a user''s statement of a month.';

-- What a statement is of and adds up to, in a row for each currency in it (NULL: units without a price): the
-- number of a closed one, which no other has, and the moment of the closing, or now, by the clocks of the
-- installation's zone.
CREATE OR REPLACE FUNCTION analysis.statement_totals(
  p_period smallint, p_clinic text, p_user text, p_currency text)
RETURNS TABLE (
  o_number text, o_holder text, o_closed boolean, o_at timestamptz, o_at_local timestamp, o_zone text,
  o_currency text, o_lines bigint, o_units bigint, o_over bigint, o_amount text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_clinic int;
  v_user bigint;
  v_closed timestamptz;
  v_zone text := coalesce(analysis.setting_value('zone'), 'UTC');
BEGIN
  SELECT h.o_clinic, h.o_user INTO v_clinic, v_user FROM analysis.statement_holder(p_clinic, p_user) h;
  v_closed := (SELECT s.closed_at FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period);
  RETURN QUERY
  SELECT
    CASE WHEN v_closed IS NOT NULL THEN concat_ws(
      '-', analysis.period_text(p_period), coalesce('C' || v_clinic, 'U' || v_user), p_currency) END,
    coalesce(
      (SELECT c.name FROM analysis.statement_clinic c
       WHERE c.report = 'usage' AND c.period = p_period AND c.clinic_id = v_clinic), p_clinic, p_user),
    v_closed IS NOT NULL, m.at, timezone(v_zone, m.at), v_zone, s.o_currency, count(s.o_units),
    coalesce(sum(s.o_units), 0)::bigint, coalesce(sum(s.o_over), 0)::bigint, sum(s.o_amount::numeric)::text
  FROM (SELECT coalesce(v_closed, now()) AS at) m
  LEFT JOIN analysis.statement_segments(p_period, p_clinic, p_user, p_currency) s ON true
  GROUP BY m.at, s.o_currency ORDER BY s.o_currency;
END $$;
COMMENT ON FUNCTION analysis.statement_totals IS
  'Answers what a statement is of, and what it adds up to in each currency.';

-- What the users of a statement used of each plan's limits in the month itself, and how many of them stayed
-- below their limit, used it up, and went beyond it. The limit of all together is NULL where one has none.
CREATE OR REPLACE FUNCTION analysis.statement_plans(
  p_period smallint, p_clinic text, p_user text, p_currency text)
RETURNS TABLE (
  o_plan text, o_plan_name text, o_limit bigint, o_used bigint, o_under bigint, o_at bigint, o_over bigint)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT u.o_plan, u.plan_name, CASE WHEN bool_and(u.quota IS NOT NULL) THEN sum(u.quota)::bigint END,
    sum(u.used)::bigint,
    count(*) FILTER (WHERE u.over = 0 AND (u.used < u.quota) IS NOT FALSE),
    count(*) FILTER (WHERE u.over = 0 AND u.used >= u.quota), count(*) FILTER (WHERE u.over > 0)
  FROM (
    SELECT s.o_user, s.o_plan, min(s.o_plan_name) AS plan_name,
      CASE WHEN bool_and(s.o_limit IS NOT NULL) THEN max(s.o_limit) END AS quota, sum(s.o_units) AS used,
      sum(s.o_over) AS over
    FROM analysis.statement_segments(p_period, p_clinic, p_user, p_currency) s
    WHERE s.o_for_period = p_period AND s.o_plan IS NOT NULL
    GROUP BY s.o_user, s.o_plan) u
  GROUP BY u.o_plan, u.plan_name ORDER BY u.o_plan COLLATE "C"
$$;
COMMENT ON FUNCTION analysis.statement_plans IS
  'Answers what the users of a statement used of the limits of their plans.';

-- What stands above a clinic's statement: its kind, its address and its logos. Of a closed month as they were
-- then; of one that version 1.0 closed, nothing.
CREATE OR REPLACE FUNCTION analysis.statement_letterhead(p_period smallint, p_clinic text)
RETURNS TABLE (
  o_kind text, o_address text, o_product text, o_logo bytea, o_logo_width int, o_logo_height int,
  o_pharmacy_logo bytea, o_pharmacy_logo_width int, o_pharmacy_logo_height int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_clinic int := (SELECT h.o_clinic FROM analysis.statement_holder(p_clinic, NULL) h);
  v_is_closed boolean := EXISTS (
    SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period);
BEGIN
  RETURN QUERY
  SELECT c.kind, c.address, c.product, l.bytes, l.width, l.height, f.bytes, f.width, f.height
  FROM (
    SELECT s.kind, s.address, s.product, s.logo, s.pharmacy_logo FROM analysis.statement_clinic s
    WHERE v_is_closed AND s.report = 'usage' AND s.period = p_period AND s.clinic_id = v_clinic
    UNION ALL
    SELECT n.kind, n.address, n.product, n.logo, n.pharmacy_logo FROM analysis.clinic n
    WHERE NOT v_is_closed AND n.id = v_clinic) c
  LEFT JOIN analysis.logo l ON l.sha256 = c.logo
  LEFT JOIN analysis.logo f ON f.sha256 = c.pharmacy_logo;
END $$;
COMMENT ON FUNCTION analysis.statement_letterhead IS
  'Answers the address and the logos of a clinic''s statement.';

-- How many analyses of a clinic's users ended on each day of a month by their own clocks.
CREATE OR REPLACE FUNCTION analysis.clinic_days(p_period smallint, p_clinics int[])
RETURNS TABLE (clinic_id int, day date, analyses bigint)
LANGUAGE sql STABLE AS $$
  SELECT a.clinic_id, (r.finished_at AT TIME ZONE a.zone)::date, count(*)
  FROM analysis.result r
  JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id
  WHERE r.period = p_period AND r.outcome = 1 AND a.clinic_id = ANY (p_clinics)
  GROUP BY 1, 2
$$;

-- How often each condition was found in the users of clinics, by band: as condition_counts, clinic by clinic.
CREATE OR REPLACE FUNCTION analysis.clinic_conditions(p_period smallint, p_clinics int[])
RETURNS TABLE (
  clinic_id int, id text, normal boolean, name text, green bigint, yellow bigint, orange bigint, red bigint)
LANGUAGE sql STABLE AS $$
  SELECT a.clinic_id, c.id, coalesce(c.normal, false), min(c.name COLLATE "C"),
    count(*) FILTER (WHERE c.band = 1), count(*) FILTER (WHERE c.band = 2),
    count(*) FILTER (WHERE c.band = 3), count(*) FILTER (WHERE c.band = 4)
  FROM analysis.result r
  JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id
  CROSS JOIN LATERAL jsonb_to_recordset(r.conditions) AS c(id text, name text, band smallint, normal boolean)
  WHERE r.period = p_period AND r.outcome = 1 AND a.clinic_id = ANY (p_clinics)
  GROUP BY a.clinic_id, c.id, coalesce(c.normal, false)
$$;

-- Keeps of every clinic how it is when a month is closed, and of those with units what else their statements
-- show. Called by close_usage.
CREATE OR REPLACE FUNCTION analysis.keep_clinic_counts(p_period smallint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_clinics int[] := ARRAY(
    SELECT DISTINCT s.clinic_id FROM analysis.statement_segment s
    WHERE s.report = 'usage' AND s.period = p_period AND s.clinic_id IS NOT NULL);
BEGIN
  -- Until the month is closed nobody changes them: a logo could be removed in between.
  INSERT INTO analysis.statement_clinic (
    report, period, clinic_id, name, kind, address, product, logo, pharmacy_logo)
  SELECT 'usage', p_period, c.id, c.name, c.kind, c.address, c.product, c.logo, c.pharmacy_logo
  FROM analysis.clinic c FOR SHARE OF c;
  INSERT INTO analysis.statement_day (report, period, clinic_id, day, analyses)
  SELECT 'usage', p_period, d.* FROM analysis.clinic_days(p_period, v_clinics) d;
  INSERT INTO analysis.statement_condition (
    report, period, clinic_id, id, normal, name, green, yellow, orange, red)
  SELECT 'usage', p_period, c.* FROM analysis.clinic_conditions(p_period, v_clinics) c;
END $$;

-- The analyses of a clinic's statement by day: of every day of the month, and of those beside it on which
-- some ended; no row where there are none at all.
CREATE OR REPLACE FUNCTION analysis.statement_days(p_period smallint, p_clinic text)
RETURNS TABLE (o_day text, o_analyses bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_clinic int := (SELECT h.o_clinic FROM analysis.statement_holder(p_clinic, NULL) h);
  v_closed boolean := EXISTS (
    SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period);
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399, 'the month of a statement is from 2000 to 2699');
  RETURN QUERY
  WITH counted AS MATERIALIZED (
    SELECT d.day, d.analyses FROM analysis.statement_day d
    WHERE v_closed AND d.report = 'usage' AND d.period = p_period AND d.clinic_id = v_clinic
    UNION ALL
    SELECT d.day, d.analyses FROM analysis.clinic_days(p_period, ARRAY[v_clinic]) d WHERE NOT v_closed)
  SELECT to_char(d.day, 'YYYY-MM-DD'), sum(d.analyses)::bigint
  FROM (
    SELECT c.day, c.analyses FROM counted c
    UNION ALL
    SELECT m.first + g, 0
    FROM (
      SELECT analysis.period_end_day((p_period - 1)::smallint, NULL) AS first,
        analysis.period_end_day(p_period, NULL) AS until) m
    CROSS JOIN LATERAL generate_series(0, m.until - m.first - 1) g
    WHERE EXISTS (SELECT FROM counted)) d
  GROUP BY d.day ORDER BY d.day;
END $$;
COMMENT ON FUNCTION analysis.statement_days IS
  'Answers how many analyses a clinic''s statement has of each day.';

-- Records that a clinic's statement is read, with what was found in its patients; answers what
-- statement_conditions asks for.
CREATE OR REPLACE FUNCTION analysis.open_statement(p_period smallint, p_clinic text, p_detail jsonb)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_clinic int := (SELECT h.o_clinic FROM analysis.statement_holder(p_clinic, NULL) h);
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399, 'a statement is of a month of the years 2000 to 2699');
  RETURN analysis.open_reading(
    'report', format('report:statement:%s:%s', analysis.period_text(p_period), v_clinic),
    analysis.audit_detail(p_detail));
END $$;
COMMENT ON FUNCTION analysis.open_statement IS
  'Records that a clinic''s statement is read; answers what statement_conditions asks for.';

-- The conditions of a clinic's statement, the abnormal ones first, by the bytes of their ids. A login that
-- sees some clinics only is not answered those in which a count is hidden: of this clinic, of another that
-- it sees, or of all of them, since one less the others is the rest. Of a closed month it is answered those
-- whose results are all there still: of how many persons the others were nobody knows any more.
CREATE OR REPLACE FUNCTION analysis.statement_conditions(p_period smallint, p_clinic text, p_reading text)
RETURNS TABLE (
  o_id text, o_name text, o_normal boolean, o_green bigint, o_yellow bigint, o_orange bigint, o_red bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_clinic int := (SELECT h.o_clinic FROM analysis.statement_holder(p_clinic, NULL) h);
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_least int := analysis.least_persons();
  v_is_closed boolean := EXISTS (
    SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period);
BEGIN
  PERFORM analysis.require_reading(
    'report', format('report:statement:%s:%s', analysis.period_text(p_period), v_clinic), p_reading);
  RETURN QUERY
  SELECT c.id, c.name, c.normal, c.green, c.yellow, c.orange, c.red
  FROM (
    SELECT k.id, k.name, k.normal, k.green, k.yellow, k.orange, k.red FROM analysis.statement_condition k
    WHERE v_is_closed AND k.report = 'usage' AND k.period = p_period AND k.clinic_id = v_clinic
    UNION ALL
    SELECT n.id, n.name, n.normal, n.green, n.yellow, n.orange, n.red
    FROM analysis.clinic_conditions(p_period, CASE WHEN v_is_closed THEN '{}' ELSE ARRAY[v_clinic] END) n) c
  LEFT JOIN (
    SELECT x.id, x.normal
    FROM (
      SELECT v_seen AS clinics WHERE v_least > 1
      UNION ALL
      SELECT ARRAY[o.clinic] FROM unnest(v_seen) o(clinic) WHERE v_least > 1) s
    CROSS JOIN LATERAL analysis.condition_cells(p_period, s.clinics, v_least) x
    WHERE x.kind IN (1, 2) AND x.is_hidden
    GROUP BY x.id, x.normal) h ON h.id = c.id AND h.normal = c.normal
  WHERE v_least <= 1 OR h.id IS NULL AND (c.id, c.normal, c.green, c.yellow, c.orange, c.red) IN (
    SELECT n.id, n.normal, n.green, n.yellow, n.orange, n.red
    FROM analysis.clinic_conditions(p_period, ARRAY[v_clinic]) n)
  ORDER BY c.normal, c.id COLLATE "C";
END $$;
COMMENT ON FUNCTION analysis.statement_conditions IS
  'Answers how often each condition of a clinic''s statement was found.';
