-- Plans: how many analyses a month they allow, and what one costs.

-- A plan's number by its name; refuses one that is not there, or was not yet at the moment given (NULL: now).
CREATE OR REPLACE FUNCTION analysis.plan_named(p_plan text, p_from timestamptz) RETURNS smallint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_id smallint;
  v_created timestamptz;
BEGIN
  SELECT p.id, p.created_at INTO v_id, v_created FROM analysis.plan p WHERE p.name = p_plan;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no plan is called %', left(p_plan, 60) USING ERRCODE = '22023';
  END IF;
  PERFORM analysis.require_argument(
    (p_from >= v_created) IS NOT FALSE,
    format('plan %s is there since %s only, and holds for nobody before', p_plan,
      to_char(v_created AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')));
  RETURN v_id;
END $$;

-- Adds a plan with its monthly limit (NULL: none); false if a plan of that name is there already.
CREATE OR REPLACE FUNCTION analysis.add_plan(p_plan text, p_name text, p_monthly_limit int, p_cost bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_id smallint;
BEGIN
  PERFORM analysis.require_argument(
    p_plan ~ '^[a-z0-9_-]{1,60}$', 'a plan''s name has 1 to 60 small letters, digits, _ and -');
  PERFORM analysis.require_argument(
    length(p_name) BETWEEN 1 AND 100 AND p_name !~ analysis.hidden_characters(),
    'what people call a plan has 1 to 100 characters, and none that cannot be seen');
  PERFORM analysis.require_argument((p_monthly_limit >= 0) IS NOT FALSE, 'a limit is not below 0');
  PERFORM analysis.require_argument(
    p_cost BETWEEN 1 AND 1000000, 'the cost of a plan''s jobs in the line is from 1 to 1000000');
  -- The numbers are dealt out one after the other.
  LOCK TABLE analysis.plan IN SHARE ROW EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM analysis.plan p WHERE p.name = p_plan) THEN
    RETURN false;
  END IF;
  v_id := (SELECT max(p.id) + 1 FROM analysis.plan p);
  INSERT INTO analysis.plan (id, name, display_name, cost, created_at)
  VALUES (v_id, p_plan, p_name, p_cost, clock_timestamp());
  INSERT INTO analysis.plan_limit (plan_id, valid_from, monthly_limit)
  VALUES (v_id, '-infinity', p_monthly_limit);
  PERFORM analysis.audit_add(
    'add_plan', 'plan:' || p_plan, jsonb_build_object('limit', p_monthly_limit, 'cost', p_cost));
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.add_plan IS
  'Adds a plan with its monthly limit; answers whether it is new.';

-- Gives a plan a monthly limit (NULL: none) from a moment on.
CREATE OR REPLACE FUNCTION analysis.set_plan_limit(p_plan text, p_limit int, p_from timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM analysis.require_argument((p_limit >= 0) IS NOT FALSE, 'a limit is not below 0');
  IF p_from <> '-infinity' THEN
    PERFORM analysis.require_date(p_from);
  END IF;
  INSERT INTO analysis.plan_limit (plan_id, valid_from, monthly_limit)
  VALUES (analysis.plan_named(p_plan, p_from), coalesce(p_from, clock_timestamp()), p_limit)
  ON CONFLICT (plan_id, valid_from) DO UPDATE SET monthly_limit = EXCLUDED.monthly_limit;
  -- Without a limit is null, and from now on is without a time.
  PERFORM analysis.audit_add(
    'set_limit', 'plan:' || p_plan,
    jsonb_build_object('limit', p_limit)
      || jsonb_strip_nulls(jsonb_build_object('from', analysis.audit_time(p_from))));
END $$;
COMMENT ON FUNCTION analysis.set_plan_limit IS
  'Gives a plan a monthly limit from a moment on.';

-- A price with at least the digits that its currency has.
CREATE OR REPLACE FUNCTION analysis.price_text(p_price numeric, p_currency text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT round(p_price, greatest(min_scale(p_price), analysis.currency_digits(p_currency)))::text
$$;

-- Gives a plan a price for one unit, from the midnight of a day on by each user's clocks (NULL: from the
-- beginning, while the plan has no price at all). A bill that is closed keeps the price that it was made
-- with, so none can begin in a closed month; and where a price begins already, another is refused unless it
-- is to replace that. The price is written in digits, since a binary number would round it; the day as
-- 2026-10-01.
CREATE OR REPLACE FUNCTION analysis.set_plan_price(
  p_plan text, p_price text, p_currency text, p_from text, p_replace boolean)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_plan smallint;
  v_price numeric;
  v_day date;
  v_from date;
  v_closed smallint;
  v_there text;
BEGIN
  PERFORM analysis.require_argument(
    p_price ~ '^[0-9]{1,7}([.][0-9]{1,6})?$' AND p_price::numeric <= 1000000,
    'a price is from 0 to 1000000, with at most 6 digits after the point');
  PERFORM analysis.require_argument(
    (p_from ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$') IS NOT FALSE, 'a day is written as 2026-10-01');
  v_price := p_price;
  v_day := to_date(p_from, 'YYYY-MM-DD');
  v_from := coalesce(v_day, '-infinity');
  PERFORM analysis.require_argument(
    analysis.currency_digits(p_currency) IS NOT NULL,
    'a price has a currency by its three letters in ISO 4217, such as EUR');
  PERFORM analysis.require_argument(p_replace IS NOT NULL, 'a price replaces another or does not');
  PERFORM analysis.require_date(v_day::timestamp AT TIME ZONE 'UTC');
  v_plan := analysis.plan_named(p_plan, (v_day + 1)::timestamp AT TIME ZONE 'Etc/GMT+12');
  -- No month is closed meanwhile, and no other price given.
  LOCK TABLE analysis.statement IN SHARE MODE;
  LOCK TABLE analysis.plan_price IN SHARE ROW EXCLUSIVE MODE;
  SELECT max(s.period) INTO v_closed FROM analysis.statement s WHERE s.report = 'usage';
  IF v_day < make_date((v_closed + 1) / 12, (v_closed + 1) % 12 + 1, 1) THEN
    RAISE EXCEPTION 'a price cannot begin on %: % is closed', p_from, analysis.period_text(v_closed)
      USING ERRCODE = '22023', HINT = format('The first day on which one can begin is %s-01.',
        analysis.period_text((v_closed + 1)::smallint));
  END IF;
  SELECT format('%s %s', analysis.price_text(c.price, c.currency), c.currency) INTO v_there
  FROM analysis.plan_price c
  WHERE c.plan_id = v_plan AND (c.valid_from = v_from OR p_from IS NULL)
  ORDER BY c.valid_from DESC LIMIT 1;
  IF v_there IS NOT NULL AND (p_from IS NULL OR NOT p_replace) THEN
    RAISE EXCEPTION 'plan % has a price already%: %', p_plan, coalesce(' from ' || p_from, ''), v_there
      USING ERRCODE = '22023', HINT = CASE WHEN p_from IS NULL THEN 'Say from which day the new one holds.'
        ELSE 'Say that the new one replaces it, or name another day.' END;
  END IF;
  INSERT INTO analysis.plan_price (plan_id, valid_from, price, currency)
  VALUES (v_plan, v_from, v_price, p_currency)
  ON CONFLICT (plan_id, valid_from) DO UPDATE SET price = EXCLUDED.price, currency = EXCLUDED.currency;
  PERFORM analysis.audit_add(
    'set_price', 'plan:' || p_plan, jsonb_strip_nulls(jsonb_build_object(
      'price', p_price, 'currency', p_currency, 'from', p_from)));
END $$;
COMMENT ON FUNCTION analysis.set_plan_price IS
  'Gives a plan a price for one unit from a day on.';

-- The plans, each with its limits by the time from which they hold (without one: from the beginning). A
-- plan without any limit has one row, in which o_has_limit is false.
CREATE OR REPLACE FUNCTION analysis.list_plans()
RETURNS TABLE (
  o_plan text, o_name text, o_cost bigint, o_has_limit boolean, o_from timestamptz, o_limit int,
  o_in_force boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p.name, p.display_name, p.cost, l.plan_id IS NOT NULL, nullif(l.valid_from, '-infinity'),
    l.monthly_limit,
    l.valid_from = (
      SELECT max(f.valid_from)
      FROM analysis.plan_limit f
      WHERE f.plan_id = p.id AND f.valid_from <= clock_timestamp())
  FROM analysis.plan p
  LEFT JOIN analysis.plan_limit l ON l.plan_id = p.id
  ORDER BY p.id, l.valid_from
$$;
COMMENT ON FUNCTION analysis.list_plans IS
  'Answers the plans with their limits.';

-- What a unit of each plan costs, by the day from which the price holds (NULL: from the beginning). Which is
-- in force is said by the clocks of the installation's zone.
CREATE OR REPLACE FUNCTION analysis.list_plan_prices()
RETURNS TABLE (o_plan text, o_from text, o_price text, o_currency text, o_in_force boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT p.name, to_char(nullif(c.valid_from, '-infinity'), 'YYYY-MM-DD'),
    analysis.price_text(c.price, c.currency), c.currency,
    c.valid_from IS NOT DISTINCT FROM (
      SELECT max(f.valid_from)
      FROM analysis.plan_price f
      WHERE f.plan_id = p.id
        AND f.valid_from <= timezone(
          coalesce(analysis.setting_value('zone'), 'UTC'), clock_timestamp())::date)
  FROM analysis.plan p
  JOIN analysis.plan_price c ON c.plan_id = p.id
  ORDER BY p.id, c.valid_from
$$;
COMMENT ON FUNCTION analysis.list_plan_prices IS
  'Answers what a unit of each plan costs, and from when on.';

-- Which plan each user had, from when until when; of one user alone where p_user_id names one.
CREATE OR REPLACE FUNCTION analysis.plan_spans(p_shard smallint, p_user_id bigint)
RETURNS TABLE (
  shard smallint, user_id bigint, plan_id smallint, valid_from timestamptz, until timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT h.shard, h.user_id, h.plan_id, h.valid_from,
    lead(h.valid_from, 1, 'infinity') OVER (PARTITION BY h.shard, h.user_id ORDER BY h.valid_from)
  FROM analysis.account_plan h
  WHERE p_user_id IS NULL OR h.shard = p_shard AND h.user_id = p_user_id
$$;
