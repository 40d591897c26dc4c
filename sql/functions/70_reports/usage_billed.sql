-- A month's usage with what is billed for it: the lines of the report of usage and the segments of the
-- statements beside each other, so that the one adds up to the others.

-- The segments of a month's lines, with the names of the clinics: as they were stated of a closed month, else
-- as they are now, of users of p_clinics or of one alone (NULL: of all).
CREATE OR REPLACE FUNCTION analysis.billed_parts(
  p_period smallint, p_clinics int[], p_shard smallint, p_user_id bigint)
RETURNS TABLE (
  line bigint, shard smallint, user_id bigint, segment smallint, clinic_id int, clinic text, plan text,
  plan_name text, monthly_limit bigint, units bigint, price numeric, amount numeric, currency text)
LANGUAGE sql STABLE AS $$
  SELECT t.line, t.shard, t.user_id, g.segment, g.clinic_id, c.name, g.plan, g.plan_name, g.monthly_limit,
    g.units, g.price, g.amount, g.currency
  FROM analysis.statement_segment g
  JOIN analysis.statement_line t ON t.report = g.report AND t.period = g.period AND t.line = g.line
  LEFT JOIN analysis.statement_clinic c
    ON c.report = g.report AND c.period = g.period AND c.clinic_id = g.clinic_id
  WHERE g.report = 'usage' AND g.period = p_period
  UNION ALL
  SELECT 0, s.shard, s.user_id, s.segment, s.clinic_id, c.name, s.plan, s.plan_name, s.monthly_limit, s.units,
    s.price, s.amount, s.currency
  FROM analysis.usage_segments(p_period, p_clinics, p_shard, p_user_id) s
  LEFT JOIN analysis.clinic c ON c.id = s.clinic_id
  WHERE NOT EXISTS (SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period)
$$;

-- The lines of a month as month_lines answers them, each with its last segment of the line's own plan (an
-- adjustment: with its last), which has the part 0; and a row without counts for each other segment with
-- units, whose part is its number. A line is of the clinic that is billed, of a closed month as it was then;
-- one without segments of the user's clinic now. Of p_clinics (NULL: of all), or of one user alone.
-- p_closed: whether the month is closed. p_counts: as in usage_of. All are constants where it is planned, or
-- month_lines would have a plan of its own for any month, which does not end where users are many.
CREATE OR REPLACE FUNCTION analysis.billed_rows(
  p_period smallint, p_now timestamptz, p_clinics int[], p_shard smallint, p_user_id bigint,
  p_closed boolean, p_counts boolean)
RETURNS TABLE (
  line bigint, for_period smallint, shard smallint, user_id bigint, user_ref text, zone text, plan text,
  plan_name text, monthly_limit bigint, used bigint, over bigint, analysed bigint, failed bigint,
  cancelled bigint, refunded bigint, refused bigint, calls bigint, last_reset timestamptz,
  last_reset_local timestamp, part smallint, clinic text, units bigint, price numeric, amount numeric,
  currency text)
LANGUAGE sql STABLE AS $$
  WITH parts AS MATERIALIZED (
    SELECT * FROM analysis.billed_parts(p_period, p_clinics, p_shard, p_user_id)),
  lines AS MATERIALIZED (
    SELECT x.*
    FROM analysis.month_lines(
      p_period, p_now, CASE WHEN NOT p_closed THEN p_clinics END, p_shard, p_user_id, p_counts) x
    LEFT JOIN (
      SELECT p.line, p.shard, p.user_id, max(p.clinic_id) AS clinic_id FROM parts p GROUP BY 1, 2, 3) h
      ON h.line = x.line AND h.shard = x.shard AND h.user_id = x.user_id
    WHERE p_clinics IS NULL OR CASE WHEN h.line IS NULL THEN analysis.is_seen(p_clinics, x.shard, x.user_id)
      ELSE h.clinic_id = ANY (p_clinics) END),
  numbered AS (
    SELECT p.*, row_number() OVER (
        PARTITION BY p.line, p.shard, p.user_id
        ORDER BY l.plan IS NULL OR p.plan IS NOT DISTINCT FROM l.plan DESC, p.segment DESC) = 1
      AND (l.plan IS NULL OR p.plan IS NOT DISTINCT FROM l.plan) AS is_last,
      l.for_period, l.user_ref, l.zone
    FROM lines l JOIN parts p ON p.line = l.line AND p.shard = l.shard AND p.user_id = l.user_id)
  SELECT l.*, 0::smallint, n.clinic, n.units, n.price, n.amount, n.currency
  FROM lines l
  LEFT JOIN numbered n
    ON n.line = l.line AND n.shard = l.shard AND n.user_id = l.user_id AND n.is_last
  UNION ALL
  SELECT n.line, n.for_period, n.shard, n.user_id, n.user_ref, n.zone, n.plan, n.plan_name, n.monthly_limit,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, n.segment, n.clinic, n.units, n.price,
    n.amount, n.currency
  FROM numbered n
  WHERE NOT n.is_last AND n.units <> 0
$$;

-- A month's usage as usage_lines answers it, with the clinic, units, price, amount and currency of its bills:
-- their amounts add up to those of the statements. A user whose plan, limit or price changed has a row more
-- for each part before the last, in order, whose o_part is its number. The sum has an amount where there is
-- one currency. p_clinic: what is billed to that clinic.
CREATE OR REPLACE FUNCTION analysis.billed_lines(
  p_period smallint, p_zone text, p_now timestamptz, p_clinic text, p_user text, p_idle boolean)
RETURNS TABLE (
  for_period smallint, user_ref text, zone text, plan text, plan_name text, monthly_limit bigint, used bigint,
  over bigint, analysed bigint, open bigint, failed bigint, cancelled bigint, refunded bigint, refused bigint,
  calls bigint, last_reset timestamptz, last_reset_local timestamp, part smallint, clinic text, units bigint,
  price text, amount text, currency text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan SET work_mem = '64MB' AS $$
DECLARE
  v_clinics int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint;
  v_user bigint;
  v_closed boolean := EXISTS (
    SELECT FROM analysis.statement s WHERE s.report = 'usage' AND s.period = p_period);
  v_counts boolean := p_user IS NOT NULL OR analysis.are_many_open();
BEGIN
  PERFORM analysis.require_argument(
    p_period BETWEEN 24000 AND 32399, 'a report is of a month of the years 2000 to 2699');
  IF p_user IS NOT NULL THEN
    SELECT NULL, h.o_shard, h.o_user INTO v_clinics, v_shard, v_user
    FROM analysis.statement_holder(NULL, p_user) h;
  END IF;
  IF p_clinic IS NOT NULL THEN
    SELECT ARRAY[h.o_clinic] INTO v_clinics FROM analysis.statement_holder(p_clinic, NULL) h;
  END IF;
  RETURN QUERY
  WITH lines AS MATERIALIZED (
    SELECT x.*, x.used - x.analysed AS open
    FROM analysis.billed_rows(p_period, p_now, v_clinics, v_shard, v_user, v_closed, v_counts) x
    WHERE p_idle OR (x.used, x.analysed, x.failed, x.cancelled, x.refunded, x.refused, x.calls)
      IS DISTINCT FROM (0, 0, 0, 0, 0, 0, 0))
  SELECT y.for_period, y.user_ref, y.zone, y.plan, y.plan_name, y.monthly_limit, y.used, y.over, y.analysed,
    y.open, y.failed, y.cancelled, y.refunded, y.refused, y.calls, y.last_reset,
    CASE WHEN p_zone IS NULL THEN y.last_reset_local ELSE timezone(p_zone, y.last_reset) END, y.part,
    y.clinic, y.units, analysis.price_text(y.price, y.currency), y.amount::text, y.currency
  FROM (
    SELECT l.* FROM lines l
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, coalesce(sum(l.used), 0)::bigint,
      coalesce(sum(l.over), 0)::bigint, coalesce(sum(l.analysed), 0)::bigint,
      coalesce(sum(l.failed), 0)::bigint, coalesce(sum(l.cancelled), 0)::bigint,
      coalesce(sum(l.refunded), 0)::bigint, coalesce(sum(l.refused), 0)::bigint,
      coalesce(sum(l.calls), 0)::bigint, NULL, NULL, 0::smallint, NULL,
      coalesce(sum(l.units), 0)::bigint, NULL,
      CASE WHEN count(DISTINCT l.currency) = 1 THEN sum(l.amount) END,
      CASE WHEN count(DISTINCT l.currency) = 1 THEN max(l.currency) END,
      coalesce(sum(l.open), 0)::bigint
    FROM lines l) y
  ORDER BY y.line NULLS FIRST, y.user_ref COLLATE "C", y.shard, y.user_id, y.part = 0, y.part;
END $$;
COMMENT ON FUNCTION analysis.billed_lines IS
  'Answers what users used of a month and are billed for it, the adjustments of a closed one, and the sum.';
