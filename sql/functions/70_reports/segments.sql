-- The segments of a user's period: its parts with one plan, limit and price, by which a user is billed.
--
-- A unit belongs to the segment in which it was taken: at the submit, at the time for which the job was
-- submitted, or when the job was queued again. Each job of the month that neither died nor was cancelled is a
-- used unit; the counter of the month is as many (I4).

-- The segments of every plan in the periods of a label, one in every zone and by all anchors that an account
-- has. Anchors of nobody are an empty list here, since two that are NULL are not equal.
CREATE OR REPLACE FUNCTION analysis.period_segments(p_period smallint)
RETURNS TABLE (
  zone text, anchors int[], plan_id smallint, starts timestamptz, ends timestamptz, monthly_limit bigint,
  price numeric, currency text)
LANGUAGE sql STABLE AS $$
  SELECT c.zone, c.anchors, c.plan_id, c.starts,
    lead(c.starts, 1, c.ends) OVER (PARTITION BY c.zone, c.anchors, c.plan_id ORDER BY c.starts),
    CASE WHEN l.is_there THEN l.monthly_limit ELSE 0 END, v.price, v.currency
  FROM (
    SELECT z.zone, z.anchors, p.id AS plan_id, b.starts, z.ends
    FROM (
      SELECT a.zone, a.anchors, analysis.period_begins(p_period, a.zone, a.anchors) AS starts,
        analysis.period_ends(p_period, a.zone, a.anchors) AS ends
      FROM (
        SELECT DISTINCT d.zone, coalesce(d.anchors, '{}') AS anchors FROM analysis.account d) a OFFSET 0) z
    CROSS JOIN analysis.plan p
    CROSS JOIN LATERAL (
      SELECT z.starts
      UNION
      SELECT d.valid_from FROM analysis.plan_limit d
      WHERE d.plan_id = p.id AND d.valid_from > z.starts AND d.valid_from < z.ends
      UNION
      SELECT m.starts
      FROM analysis.plan_price c
      CROSS JOIN LATERAL (SELECT analysis.day_start(c.valid_from, z.zone) AS starts) m
      WHERE c.plan_id = p.id AND isfinite(c.valid_from) AND m.starts > z.starts AND m.starts < z.ends) b
  ) c
  LEFT JOIN LATERAL (
    SELECT true AS is_there, d.monthly_limit FROM analysis.plan_limit d
    WHERE d.plan_id = c.plan_id AND d.valid_from <= c.starts
    ORDER BY d.valid_from DESC LIMIT 1) l ON true
  LEFT JOIN LATERAL (
    SELECT d.price, d.currency FROM analysis.plan_price d
    WHERE d.plan_id = c.plan_id AND (
      NOT isfinite(d.valid_from) OR analysis.day_start(d.valid_from, c.zone) <= c.starts)
    ORDER BY d.valid_from DESC LIMIT 1) v ON true
$$;

-- How the units of a user's month lie in its segments, which begin at p_starts, in order: what lies before
-- the first counts with it, as after a change of the zone. Of the segments' jobs that ended since p_since
-- without a result, how many died and were cancelled.
CREATE OR REPLACE FUNCTION analysis.units_in_segments(
  p_shard smallint, p_user_id bigint, p_period smallint, p_starts timestamptz[], p_since timestamptz)
RETURNS TABLE (segment int, units bigint, failed bigint, cancelled bigint)
LANGUAGE sql STABLE AS $$
  SELECT greatest(width_bucket(coalesce(j.run_at, j.created_at), p_starts), 1),
    count(*) FILTER (WHERE NOT j.closed AND d.failed_at IS NULL),
    count(*) FILTER (WHERE d.failed_at > p_since),
    count(*) FILTER (WHERE j.closed AND r.finished_at > p_since)
  FROM analysis.job j
  LEFT JOIN LATERAL (
    SELECT x.failed_at FROM analysis.dead x WHERE x.shard = p_shard AND x.job_id = j.id OFFSET 0) d ON true
  LEFT JOIN LATERAL (
    SELECT f.finished_at FROM analysis.result f
    WHERE j.closed AND f.shard = p_shard AND f.period = p_period AND f.job_id = j.id OFFSET 0) r ON true
  WHERE j.shard = p_shard AND j.user_id = p_user_id AND j.period = p_period
  GROUP BY 1
$$;

-- The users who used something in a month, of p_clinics or one alone (NULL: all), with what it is without the
-- refunds that are still to be applied.
CREATE OR REPLACE FUNCTION analysis.users_with_units(
  p_period smallint, p_clinics int[], p_shard smallint, p_user_id bigint)
RETURNS TABLE (
  shard smallint, user_id bigint, clinic_id int, zone text, anchors int[], used bigint)
LANGUAGE sql STABLE AS $$
  SELECT a.shard, a.user_id, a.clinic_id, a.zone, coalesce(a.anchors, '{}'), u.used - coalesce(w.units, 0)
  FROM analysis.usage u
  JOIN analysis.account a ON a.shard = u.shard AND a.user_id = u.user_id
  LEFT JOIN (
    SELECT f.shard, f.user_id, count(*) AS units FROM analysis.refund f
    WHERE f.period = p_period GROUP BY f.shard, f.user_id
  ) w ON w.shard = a.shard AND w.user_id = a.user_id
  WHERE u.period = p_period AND u.used > coalesce(w.units, 0)
    AND (p_clinics IS NULL OR a.clinic_id = ANY (p_clinics))
    AND (p_user_id IS NULL OR a.shard = p_shard AND a.user_id = p_user_id)
$$;

-- The segments of users' months, as they are now: of each user who used something, in order. The units of a
-- month with one segment are its counter's; others are counted by the jobs. All units of the month so far are
-- compared with a segment's limit to find those over it. Of users of p_clinics, or of one alone (NULL: of
-- all). Not inlined: whoever joins it would take it for a row, and go through it again for each of theirs.
CREATE OR REPLACE FUNCTION analysis.usage_segments(
  p_period smallint, p_clinics int[], p_shard smallint, p_user_id bigint)
RETURNS TABLE (
  shard smallint, user_id bigint, clinic_id int, segment smallint, starts timestamptz, ends timestamptz,
  starts_local timestamp, ends_local timestamp, plan text, plan_name text, monthly_limit bigint, units bigint,
  over bigint, price numeric, amount numeric, currency text)
LANGUAGE plpgsql STABLE ROWS 100000 SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  RETURN QUERY
  WITH parts AS MATERIALIZED (
    SELECT * FROM analysis.period_segments(p_period)),
  pieces AS (
    SELECT u.shard, u.user_id, u.clinic_id, u.zone, u.used, h.plan_id,
      greatest(h.valid_from, s.starts) AS starts, least(h.until, s.ends) AS ends, s.monthly_limit, s.price,
      s.currency, (h.plan_id, s.monthly_limit, s.price, s.currency) IS DISTINCT FROM lag(
        (h.plan_id, s.monthly_limit, s.price, s.currency)) OVER w AS is_new
    FROM analysis.users_with_units(p_period, p_clinics, p_shard, p_user_id) u
    JOIN analysis.plan_spans(p_shard, p_user_id) h ON h.shard = u.shard AND h.user_id = u.user_id
    JOIN parts s ON s.zone = u.zone AND s.anchors = u.anchors AND s.plan_id = h.plan_id
      AND s.starts < h.until AND s.ends > h.valid_from
    WINDOW w AS (PARTITION BY u.shard, u.user_id ORDER BY greatest(h.valid_from, s.starts))),
  numbered AS (
    SELECT p.*, count(*) FILTER (WHERE p.is_new) OVER (
      PARTITION BY p.shard, p.user_id ORDER BY p.starts) AS segment
    FROM pieces p),
  segments AS (
    SELECT n.shard, n.user_id, n.clinic_id, n.zone, n.used, n.segment, n.plan_id, n.monthly_limit, n.price,
      n.currency, min(n.starts) AS starts, max(n.ends) AS ends
    FROM numbered n
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
  counted AS (
    SELECT m.shard, m.user_id, c.segment, c.units
    FROM (
      SELECT s.shard, s.user_id, array_agg(s.starts ORDER BY s.starts) AS starts FROM segments s
      GROUP BY s.shard, s.user_id HAVING count(*) > 1) m
    CROSS JOIN LATERAL analysis.units_in_segments(m.shard, m.user_id, p_period, m.starts, NULL) c)
  SELECT s.shard, s.user_id, s.clinic_id, s.segment::smallint, s.starts, s.ends, timezone(s.zone, s.starts),
    timezone(s.zone, s.ends), p.name, p.display_name, s.monthly_limit, s.units,
    CASE WHEN s.monthly_limit IS NULL THEN 0
      ELSE least(s.units, greatest(s.so_far - s.monthly_limit, 0)) END,
    s.price, round(s.units * s.price, analysis.currency_digits(s.currency)), s.currency
  FROM (
    SELECT s.*, n.units,
      sum(n.units) OVER (PARTITION BY s.shard, s.user_id ORDER BY s.segment)::bigint AS so_far
    FROM (
      SELECT s.*, count(*) OVER (PARTITION BY s.shard, s.user_id) AS segments FROM segments s) s
    LEFT JOIN counted c ON c.shard = s.shard AND c.user_id = s.user_id AND c.segment = s.segment
    CROSS JOIN LATERAL (
      SELECT CASE WHEN s.segments = 1 THEN s.used::bigint ELSE coalesce(c.units, 0) END AS units) n) s
  JOIN analysis.plan p ON p.id = s.plan_id;
END $$;

-- The segments of a user's adjustment of an earlier month, whose units are given: by how much each segment
-- that was stated changed since, and why. It goes to the clinic that was billed. The jobs are counted by
-- segment while they add up to the counter; once some were removed, all of it counts with the last segment. A
-- month that was stated before there were prices has one segment without a price.
CREATE OR REPLACE FUNCTION analysis.adjustment_segments(
  p_for_period smallint, p_shard smallint, p_user_id bigint, p_zone text, p_units bigint, p_over bigint,
  p_since timestamptz)
RETURNS TABLE (
  clinic_id int, segment smallint, starts timestamptz, ends timestamptz, plan text, plan_name text,
  monthly_limit bigint, units bigint, over bigint, price numeric, amount numeric, currency text, reason text)
LANGUAGE sql STABLE AS $$
  WITH lines AS MATERIALIZED (
    SELECT t.report, t.period, t.line, t.used FROM analysis.statement_line t
    WHERE t.report = 'usage' AND t.for_period = p_for_period AND t.shard = p_shard
      AND t.user_id = p_user_id),
  parts AS MATERIALIZED (
    SELECT max(s.clinic_id) AS clinic_id, s.starts, s.ends, max(s.plan) AS plan,
      max(s.plan_name) AS plan_name, max(s.monthly_limit) AS monthly_limit, sum(s.units)::bigint AS units,
      sum(s.over)::bigint AS over, max(s.price) AS price, max(s.currency) AS currency, true AS is_stated
    FROM lines t
    JOIN analysis.statement_segment s ON s.report = t.report AND s.period = t.period AND s.line = t.line
    GROUP BY s.starts, s.ends),
  stated AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY g.starts) AS segment, count(*) OVER () AS segments, g.*
    FROM (
      SELECT p.* FROM parts p
      UNION ALL
      SELECT a.clinic_id, analysis.period_begins(p_for_period, p_zone, a.anchors),
        analysis.period_ends(p_for_period, p_zone, a.anchors), NULL, NULL, NULL,
        (SELECT coalesce(sum(t.used), 0)::bigint FROM lines t), 0, NULL, NULL, false
      FROM analysis.account a
      WHERE a.shard = p_shard AND a.user_id = p_user_id AND NOT EXISTS (SELECT FROM parts)) g),
  now AS MATERIALIZED (
    SELECT c.*
    FROM (
      SELECT u.*, sum(u.units) OVER () AS all_units
      FROM (SELECT array_agg(s.starts ORDER BY s.starts) AS starts FROM stated s) m
      CROSS JOIN LATERAL analysis.units_in_segments(
        p_shard, p_user_id, p_for_period, m.starts, p_since) u) c
    WHERE c.all_units = p_units + (SELECT sum(s.units) FROM stated s)),
  changed AS (
    SELECT s.*, coalesce(n.failed, 0) AS failed, coalesce(n.cancelled, 0) AS cancelled,
      CASE WHEN EXISTS (SELECT FROM now) THEN coalesce(n.units, 0) - s.units
        WHEN s.segment = s.segments THEN p_units ELSE 0 END AS change
    FROM stated s LEFT JOIN now n ON n.segment = s.segment),
  judged AS (
    SELECT c.*, CASE WHEN NOT c.is_stated THEN p_over WHEN c.monthly_limit IS NULL THEN 0
      ELSE greatest(least(c.units + c.change, sum(c.units + c.change) OVER (ORDER BY c.segment)
        - c.monthly_limit), 0) - c.over END AS more_over
    FROM changed c)
  SELECT c.clinic_id, c.segment::smallint, c.starts, c.ends, c.plan, c.plan_name, c.monthly_limit, c.change,
    c.more_over::bigint, c.price, round(c.change * c.price, analysis.currency_digits(c.currency)), c.currency,
    coalesce(nullif(concat_ws(', ', nullif(c.failed, 0) || ' failed', nullif(c.cancelled, 0) || ' cancelled',
      nullif(greatest(-c.change - c.failed - c.cancelled, 0), 0) || ' given back'), ''), 'recounted')
      || ' since the month was closed'
  FROM judged c
  WHERE (c.change, c.more_over) <> (0, 0)
$$;
