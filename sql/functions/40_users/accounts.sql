-- Accounts, their plans and limits.

-- A user's shard: fixed by the name for as long as the number of shards is. Names are kept, and looked for,
-- in their composed form (NFC): programs write one name in two forms. A renamed user stays in the shard
-- of the first name. A former name may be kept in its decomposed form: it is found where nobody has it now.
CREATE OR REPLACE FUNCTION analysis.shard_of(p_user text) RETURNS smallint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT coalesce(
      (SELECT r.shard FROM analysis.renamed r WHERE r.name_sha256 = h.hash),
      (SELECT r.shard FROM analysis.renamed r
       WHERE normalize(p_user) IS NOT NFD NORMALIZED
         AND r.name_sha256 = sha256(convert_to(normalize(p_user, NFD), 'UTF8'))
         AND NOT EXISTS (
           SELECT FROM analysis.account a WHERE a.shard = n.shard AND a.user_ref = normalize(p_user))),
      n.shard)
    FROM (SELECT sha256(convert_to(normalize(p_user), 'UTF8')) AS hash) h, analysis.setting s,
      LATERAL (SELECT (get_byte(h.hash, 0) * 256 + get_byte(h.hash, 1)) % s.value::int AS shard) n
    WHERE s.name = 'shards');
END $$;
COMMENT ON FUNCTION analysis.shard_of IS
  'Answers the shard of a user, who need not exist.';

CREATE OR REPLACE FUNCTION analysis.add_user(
  p_shard smallint, p_user text, p_plan text, p_zone text, p_name text, p_email text)
RETURNS TABLE (o_user_id bigint, o_created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_plan smallint;
  v_zone text := coalesce(p_zone, (SELECT s.value FROM analysis.setting s WHERE s.name = 'zone'));
  v_table text;                        -- of a row that was refused, and for what
  v_rule text;
  v_column text;
BEGIN
  p_user := normalize(p_user);
  -- Nobody is renamed meanwhile.
  LOCK TABLE analysis.renamed IN ROW EXCLUSIVE MODE;
  IF p_shard IS DISTINCT FROM analysis.shard_of(p_user) THEN
    RAISE EXCEPTION 'the user''s shard is %, not %', analysis.shard_of(p_user), p_shard
    USING ERRCODE = '22023';
  END IF;
  -- Two users could look like one.
  PERFORM analysis.require_argument(
    p_user !~ analysis.hidden_characters(), 'a user''s reference has no character that cannot be seen');
  PERFORM analysis.require_argument(
    NOT analysis.is_former_name(p_user),
    'a user had this name before, and it stays theirs: use the name that the user has now');
  SELECT p.id INTO v_plan FROM analysis.plan p WHERE p.name = coalesce(p_plan, 'free');
  IF NOT FOUND THEN
    RAISE EXCEPTION 'no plan is called %', left(p_plan, 60) USING ERRCODE = '22023';
  END IF;
  PERFORM analysis.period_of(clock_timestamp(), v_zone);     -- an unknown zone raises

  -- Two random UUIDs make the salt: 244 bits from the server's strong source.
  INSERT INTO analysis.account (shard, user_ref, zone, key_salt)
  VALUES (p_shard, p_user, v_zone, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
  ON CONFLICT (shard, user_ref) DO NOTHING
  RETURNING user_id INTO o_user_id;
  o_created := FOUND;
  IF NOT o_created THEN
    SELECT a.user_id INTO o_user_id FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_ref = normalize(p_user);
    RETURN NEXT;
    RETURN;
  END IF;

  INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
  VALUES (p_shard, o_user_id, '-infinity', v_plan);
  INSERT INTO analysis.profile (shard, user_id, name, email) VALUES (p_shard, o_user_id, p_name, p_email);
  PERFORM analysis.audit_write(
    'add_user', 'user:' || o_user_id, jsonb_build_object('plan', coalesce(p_plan, 'free'), 'zone', v_zone));
  RETURN NEXT;
EXCEPTION WHEN check_violation OR not_null_violation THEN
  GET STACKED DIAGNOSTICS v_table = TABLE_NAME, v_rule = CONSTRAINT_NAME, v_column = COLUMN_NAME;
  PERFORM analysis.refuse_value(v_table, v_rule, v_column);
END $$;
COMMENT ON FUNCTION analysis.add_user IS
  'Adds a user with a plan; leaves one who is there already as it is.';

-- Gives a user a plan from a moment on (now if none is given); false if there is no such user. The plan that
-- is in force already is not given again, so that of two who give the same at once only one writes history.
CREATE OR REPLACE FUNCTION analysis.set_plan(p_shard smallint, p_user text, p_plan text, p_from timestamptz)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_plan smallint;
  v_user bigint;
BEGIN
  PERFORM analysis.require_date(p_from);
  v_plan := analysis.plan_named(p_plan, p_from);
  SELECT a.user_id INTO v_user FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- In a statement of its own, which sees what another gave while this one waited.
  INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
  SELECT p_shard, v_user, coalesce(p_from, clock_timestamp()), v_plan
  WHERE p_from IS NOT NULL
     OR v_plan
       IS DISTINCT FROM (SELECT l.plan_id FROM analysis.limit_of(p_shard, v_user, clock_timestamp()) l)
  ON CONFLICT (shard, user_id, valid_from) DO UPDATE SET plan_id = EXCLUDED.plan_id;
  IF FOUND THEN
    PERFORM analysis.audit_add(
      'set_plan', 'user:' || v_user,
      jsonb_strip_nulls(jsonb_build_object('plan', p_plan, 'from', analysis.audit_time(p_from))));
  END IF;
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.set_plan IS
  'Gives a user a plan from a moment on.';

-- Sets the zone that decides in which month a user's jobs count; jobs that exist keep their month. False
-- if there is no such user, or no such zone.
CREATE OR REPLACE FUNCTION analysis.set_zone(p_shard smallint, p_user text, p_zone text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_user bigint;
  v_table text;                        -- of a row that was refused, and for what
  v_rule text;
  v_column text;
BEGIN
  UPDATE analysis.account a SET zone = p_zone
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL
    AND EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = p_zone)
  RETURNING a.user_id INTO v_user;
  IF v_user IS NULL THEN
    RETURN false;
  END IF;
  PERFORM analysis.audit_add('set_zone', 'user:' || v_user, jsonb_build_object('zone', p_zone));
  RETURN true;
EXCEPTION WHEN check_violation OR not_null_violation THEN
  GET STACKED DIAGNOSTICS v_table = TABLE_NAME, v_rule = CONSTRAINT_NAME, v_column = COLUMN_NAME;
  PERFORM analysis.refuse_value(v_table, v_rule, v_column);
END $$;
COMMENT ON FUNCTION analysis.set_zone IS
  'Sets the time zone in which a user''s months are counted.';

-- Gives an account an anchor from a label on. A period that has begun keeps its boundaries, and so does every
-- label that something was counted under, such as a job that is to run later: the anchor holds from the first
-- label after these, or from p_from, which is refused where it is earlier. Of an account that has used
-- nothing and stands in no statement all periods are changed. An anchor that was to come from there on is
-- replaced.
--
-- The caller has locked the account. The user's counters are locked here, so that a submit has its label
-- before, or looks at the account again.
CREATE OR REPLACE FUNCTION analysis.change_anchor(
  p_shard smallint, p_user_id bigint, p_day smallint, p_from smallint, OUT o_from smallint,
  OUT o_changed boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_account analysis.account;
  v_counted smallint;                  -- the last label that something was counted under
  v_first smallint;                    -- the earliest label from which on it may hold
  v_anchors int[];
BEGIN
  PERFORM analysis.lock_months(p_shard, p_user_id);
  SELECT a.* INTO v_account FROM analysis.account a WHERE a.shard = p_shard AND a.user_id = p_user_id;
  v_counted := (
    SELECT max(u.period) FROM analysis.usage u
    WHERE u.shard = p_shard AND u.user_id = p_user_id AND (u.used, u.refunded, u.refused) <> (0, 0, 0));
  v_first := greatest(
    v_counted, analysis.period_at(clock_timestamp(), v_account.zone, v_account.anchors)) + 1;
  IF p_from IS NULL AND v_counted IS NULL
     AND NOT EXISTS (
       SELECT FROM (SELECT max(s.period) AS period FROM analysis.statement s WHERE s.report = 'usage') c
       WHERE v_account.created_at
         < analysis.period_ends(c.period::smallint, v_account.zone, v_account.anchors)) THEN
    v_first := 0;
  END IF;
  PERFORM analysis.require_argument(
    (p_from >= v_first) IS NOT FALSE,
    format(
      'the user''s months until %s have begun, or something is counted in them: they keep their days, so '
      'name a later one', analysis.period_text((v_first - 1)::smallint)));
  o_from := coalesce(p_from, v_first);
  -- What was to come from there on goes, and the same anchor is not given again.
  v_anchors := ARRAY(SELECT e FROM unnest(v_account.anchors) e WHERE e / 32 < o_from ORDER BY e);
  IF analysis.anchor_at(o_from, v_anchors) <> p_day THEN
    v_anchors := v_anchors || (o_from * 32 + p_day)::int;
  END IF;
  PERFORM analysis.require_argument(
    cardinality(v_anchors) <= 1000, 'the anchor of a user is changed at most 1000 times');
  v_anchors := nullif(v_anchors, '{}');
  o_changed := v_anchors IS DISTINCT FROM v_account.anchors;
  IF o_changed THEN
    UPDATE analysis.account a SET anchors = v_anchors WHERE a.shard = p_shard AND a.user_id = p_user_id;
  END IF;
END $$;

-- Sets the day of the month on which a user's periods end (1: calendar months), from a label on; p_from NULL:
-- as early as may be. Answers from which label on it holds (NULL: from the beginning), whether anything was
-- changed, and the first period of it that is not over, by the clocks of the user's zone too. No row: there
-- is no such user, or none whom the caller sees.
CREATE OR REPLACE FUNCTION analysis.set_period(
  p_shard smallint, p_user text, p_anchor smallint, p_from smallint)
RETURNS TABLE (
  o_from smallint, o_changed boolean, o_period smallint, o_starts timestamptz, o_ends timestamptz,
  o_starts_local timestamp, o_ends_local timestamp)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s' AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_now timestamptz;
  v_user bigint;
BEGIN
  PERFORM analysis.require_argument(p_anchor BETWEEN 1 AND 31, 'an anchor is a day from 1 to 31');
  PERFORM analysis.require_argument(
    (p_from BETWEEN 24000 AND 32399) IS NOT FALSE, 'a month is of the years 2000 to 2699');
  PERFORM analysis.refuse_repeatable_read();
  SELECT a.user_id INTO v_user FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen)) FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT c.o_from, c.o_changed INTO o_from, o_changed
  FROM analysis.change_anchor(p_shard, v_user, p_anchor, p_from) c;
  v_now := clock_timestamp();
  IF o_changed THEN
    PERFORM analysis.audit_add(
      'set_period', 'user:' || v_user,
      jsonb_strip_nulls(jsonb_build_object(
        'anchor', p_anchor, 'from', CASE WHEN o_from > 0 THEN analysis.period_text(o_from) END)));
  END IF;
  RETURN QUERY
  SELECT CASE WHEN o_from > 0 THEN o_from END, o_changed, m.period, b.starts, b.ends,
    timezone(a.zone, b.starts), timezone(a.zone, b.ends)
  FROM analysis.account a
  CROSS JOIN LATERAL (
    SELECT greatest(o_from, analysis.period_at(v_now, a.zone, a.anchors)) AS period OFFSET 0) m
  CROSS JOIN LATERAL (
    SELECT analysis.period_begins(m.period, a.zone, a.anchors) AS starts,
      analysis.period_ends(m.period, a.zone, a.anchors) AS ends OFFSET 0) b
  WHERE a.shard = p_shard AND a.user_id = v_user;
END $$;
COMMENT ON FUNCTION analysis.set_period IS
  'Sets the day of the month on which a user''s periods end, from a month on.';

-- Keeps what the backend says of a user: what it leaves out stays as it was. Of one who was erased
-- meanwhile nothing is kept.
CREATE OR REPLACE FUNCTION analysis.save_profile(
  p_shard smallint, p_user_id bigint, p_name text, p_email text, p_subscription text, p_count int,
  p_last_reset timestamptz)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_table text;                        -- of a row that was refused, and for what
  v_rule text;
  v_column text;
BEGIN
  PERFORM analysis.require_date(p_last_reset);
  PERFORM analysis.require_argument(
    (p_count >= 0) IS NOT FALSE, 'the count of a user''s analyses is not below 0');
  INSERT INTO analysis.profile AS p (
    shard, user_id, name, email, backend_subscription, backend_count, last_reset, updated_at)
  SELECT a.shard, a.user_id, p_name, p_email, p_subscription, p_count, p_last_reset, clock_timestamp()
  FROM analysis.account a WHERE a.shard = p_shard AND a.user_id = p_user_id AND a.erased_at IS NULL
  FOR KEY SHARE
  ON CONFLICT (shard, user_id) DO UPDATE
     SET name = coalesce(EXCLUDED.name, p.name),
         email = coalesce(EXCLUDED.email, p.email),
         backend_subscription = coalesce(EXCLUDED.backend_subscription, p.backend_subscription),
         backend_count = coalesce(EXCLUDED.backend_count, p.backend_count),
         last_reset = coalesce(EXCLUDED.last_reset, p.last_reset),
         updated_at = EXCLUDED.updated_at;
EXCEPTION WHEN check_violation OR not_null_violation THEN
  GET STACKED DIAGNOSTICS v_table = TABLE_NAME, v_rule = CONSTRAINT_NAME, v_column = COLUMN_NAME;
  PERFORM analysis.refuse_value(v_table, v_rule, v_column);
END $$;
COMMENT ON FUNCTION analysis.save_profile IS
  'Keeps what the endpoint''s API says of a user.';

-- Sets where a user's photo is (NULL: there is none); false if there is no such user.
CREATE OR REPLACE FUNCTION analysis.set_photo(p_shard smallint, p_user text, p_url text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_table text;                        -- of a row that was refused, and for what
  v_rule text;
  v_column text;
BEGIN
  INSERT INTO analysis.profile AS p (shard, user_id, photo_url, updated_at)
  SELECT a.shard, a.user_id, p_url, clock_timestamp()
  FROM analysis.account a WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL
  FOR KEY SHARE
  ON CONFLICT (shard, user_id) DO UPDATE SET photo_url = EXCLUDED.photo_url, updated_at = EXCLUDED.updated_at;
  RETURN FOUND;
EXCEPTION WHEN check_violation OR not_null_violation THEN
  GET STACKED DIAGNOSTICS v_table = TABLE_NAME, v_rule = CONSTRAINT_NAME, v_column = COLUMN_NAME;
  PERFORM analysis.refuse_value(v_table, v_rule, v_column);
END $$;
COMMENT ON FUNCTION analysis.set_photo IS
  'Sets the address of a user''s photo.';

-- The plan and limit in force for a user at a moment. A plan without any limit yet allows nothing. Inlined
-- into the callers' statements; the fences keep each step a look-up by key.
CREATE OR REPLACE FUNCTION analysis.limit_of(p_shard smallint, p_user_id bigint, p_at timestamptz)
RETURNS TABLE (plan_id smallint, monthly_limit int, cost bigint)
LANGUAGE sql STABLE AS $$
  SELECT h.plan_id, CASE WHEN l.found THEN l.monthly_limit ELSE 0 END, p.cost
  FROM (SELECT a.plan_id FROM analysis.account_plan a
        WHERE a.shard = p_shard AND a.user_id = p_user_id AND a.valid_from <= p_at
        ORDER BY a.valid_from DESC LIMIT 1) h
  CROSS JOIN LATERAL (SELECT n.cost FROM analysis.plan n WHERE n.id = h.plan_id OFFSET 0) p
  LEFT JOIN LATERAL (SELECT true AS found, d.monthly_limit FROM analysis.plan_limit d
        WHERE d.plan_id = h.plan_id AND d.valid_from <= p_at
        ORDER BY d.valid_from DESC LIMIT 1) l ON true
$$;
COMMENT ON FUNCTION analysis.limit_of IS
  'Answers the plan and the limit of a user at a moment.';

-- Every shard.
CREATE OR REPLACE FUNCTION analysis.all_shards() RETURNS TABLE (o_shard smallint)
LANGUAGE sql STABLE AS $$
  SELECT generate_series(0, s.value::int - 1)::smallint FROM analysis.setting s WHERE s.name = 'shards'
$$;

-- The shards of users, who need not exist for it.
CREATE OR REPLACE FUNCTION analysis.shards_of(p_users text[]) RETURNS TABLE (o_user text, o_shard smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.require_at_most(100000, p_users, 'users');
  RETURN QUERY
  SELECT u, analysis.shard_of(u)
  FROM unnest(p_users) u;
END $$;
COMMENT ON FUNCTION analysis.shards_of IS
  'Answers the shards of users, who need not exist.';
