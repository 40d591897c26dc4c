-- Months of accounts: calendar months in an IANA zone, half open, as labels (year * 12 + month - 1).

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
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN (c.earlier AT TIME ZONE p_zone)::date = p_day THEN least(c.midnight, c.earlier)
    ELSE c.midnight END
  FROM (SELECT p_day::timestamp AS wall, p_day::timestamp - interval '1 day' AS before) d
  CROSS JOIN LATERAL (
    SELECT d.wall AT TIME ZONE p_zone AS midnight,
           (d.wall - (
             d.before - (d.before AT TIME ZONE p_zone) AT TIME ZONE 'UTC')) AT TIME ZONE 'UTC' AS earlier) c
$$;

COMMENT ON FUNCTION analysis.day_start IS
  'Answers the moment at which a day begins in a time zone.';

-- The first moment of a month: of its first day.
CREATE OR REPLACE FUNCTION analysis.period_start(p_period smallint, p_zone text) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT analysis.day_start(make_date(p_period / 12, p_period % 12 + 1, 1), p_zone)
$$;
COMMENT ON FUNCTION analysis.period_start IS
  'Answers the moment at which a month begins in a time zone.';

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
    RAISE EXCEPTION 'a moment to come cannot count as now' USING ERRCODE = 'insufficient_privilege',
      HINT = 'Only the schema''s owner may do as if it were later.';
  END IF;
  RETURN p_now;
END $$;
