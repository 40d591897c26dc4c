-- Months of accounts: half open periods in an IANA zone, with labels (year * 12 + month - 1).
--
-- The periods of most accounts are calendar months. One with an anchor, a day from 2 to 31, has periods that
-- end at midnight of that day, or of the month's last day where that is earlier, and are labelled by the
-- month in which they end: with anchor 15 the period 2026-10 is from 15 September until 15 October. Anchor 1
-- is the calendar month. Each end is found from the anchor that holds for its label, never from another end,
-- and a period begins where the one before ends. So every moment has one label, also where the anchor
-- changes.

CREATE OR REPLACE FUNCTION analysis.period_of(p_at timestamptz, p_zone text) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (date_part('year', p_at AT TIME ZONE p_zone) * 12 + date_part(
    'month', p_at AT TIME ZONE p_zone) - 1)::smallint
$$;
COMMENT ON FUNCTION analysis.period_of IS
  'Answers the number of the month of a moment in a time zone.';

-- The first moment of a day. Where clocks go back over midnight, that midnight comes twice and AT TIME ZONE
-- answers the later one; the earlier is found with the offset of the day before.
CREATE OR REPLACE FUNCTION analysis.day_start(p_day date, p_zone text) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  v_wall timestamp := p_day;
  v_before timestamp := v_wall - interval '1 day';
  v_midnight timestamptz := v_wall AT TIME ZONE p_zone;
  v_earlier timestamptz :=
    (v_wall - (v_before - (v_before AT TIME ZONE p_zone) AT TIME ZONE 'UTC')) AT TIME ZONE 'UTC';
BEGIN
  RETURN CASE WHEN (v_earlier AT TIME ZONE p_zone)::date = p_day THEN least(v_midnight, v_earlier)
    ELSE v_midnight END;
END $$;

COMMENT ON FUNCTION analysis.day_start IS
  'Answers the moment at which a day begins in a time zone.';

-- The first moment of a month: of its first day.
CREATE OR REPLACE FUNCTION analysis.period_start(p_period smallint, p_zone text) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT analysis.day_start(make_date(p_period / 12, p_period % 12 + 1, 1), p_zone)
$$;
COMMENT ON FUNCTION analysis.period_start IS
  'Answers the moment at which a month begins in a time zone.';

-- The anchor of a label. Anchors are in the account: NULL, or the labels from which on they hold, each times
-- 32 plus the day, in order.
CREATE OR REPLACE FUNCTION analysis.anchor_at(p_period smallint, p_anchors int[]) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(p_anchors[width_bucket(p_period * 32 + 31, p_anchors)] & 31, 1)::smallint
$$;

-- The first day that is no longer in a period.
CREATE OR REPLACE FUNCTION analysis.period_end_day(p_period smallint, p_anchors int[]) RETURNS date
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  v_anchor int := analysis.anchor_at(p_period, p_anchors);
  v_first date := make_date(p_period / 12, p_period % 12 + 1, 1);
  v_next date := make_date((p_period + 1) / 12, (p_period + 1) % 12 + 1, 1);
BEGIN
  RETURN CASE WHEN v_anchor = 1 THEN v_next ELSE least(v_first + v_anchor, v_next) - 1 END;
END $$;

-- The first moment that is no longer in a period: where that day begins.
CREATE OR REPLACE FUNCTION analysis.period_ends(p_period smallint, p_zone text, p_anchors int[])
RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT analysis.day_start(analysis.period_end_day(p_period, p_anchors), p_zone)
$$;

-- The first moment of a period: where the one before ends.
CREATE OR REPLACE FUNCTION analysis.period_begins(p_period smallint, p_zone text, p_anchors int[])
RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT analysis.period_ends((p_period - 1)::smallint, p_zone, p_anchors)
$$;

-- The label of a moment's period where there are anchors: that of the calendar month, or from that label's
-- end on the next.
CREATE OR REPLACE FUNCTION analysis.anchored_period(p_at timestamptz, p_zone text, p_anchors int[])
RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (m.label + (p_at >= analysis.period_ends(m.label, p_zone, p_anchors))::int)::smallint
  FROM (SELECT analysis.period_of(p_at, p_zone) AS label OFFSET 0) m
$$;

-- The label of a moment's period. Without anchors it is one comparison more than period_of, and becomes a
-- part of the statement that asks.
CREATE OR REPLACE FUNCTION analysis.period_at(p_at timestamptz, p_zone text, p_anchors int[])
RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN p_anchors IS NULL THEN analysis.period_of(p_at, p_zone)
    ELSE analysis.anchored_period(p_at, p_zone, p_anchors) END
$$;

CREATE OR REPLACE FUNCTION analysis.period_text(p_period smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT lpad((p_period / 12)::text, 4, '0') || '-' || lpad((p_period % 12 + 1)::text, 2, '0')
$$;
COMMENT ON FUNCTION analysis.period_text IS
  'Writes a month''s number as a year and a month, for instance 2026-10.';

-- A moment that counts as now: not one to come, by which months would be closed and things removed before
-- their time. Only the schema's owner may give one (tests do). Called by functions of the owner alone: who
-- called them is the session's user.
CREATE OR REPLACE FUNCTION analysis.check_moment(p_now timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_now > clock_timestamp() + interval '1 minute'
     AND NOT pg_has_role(
       analysis.caller(), (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'analysis'), 'MEMBER') THEN
    RAISE EXCEPTION 'a time in the future cannot count as now' USING ERRCODE = 'insufficient_privilege',
      HINT = 'Only the schema''s owner may do as if it were later.';
  END IF;
  RETURN p_now;
END $$;
