-- Many users at once: what a file, an office or the endpoint says of them.

-- A day that is written as 1980-05-31; NULL if it is none, or not from 1850 until today.
CREATE OR REPLACE FUNCTION analysis.birthday_of(p_text text) RETURNS date
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN p.day <= p.last AND p.first + p.day - 1 <= clock_timestamp()::date THEN p.first + p.day - 1 END
  FROM (
    SELECT m.first, m.day, extract(day FROM m.first + interval '1 month' - interval '1 day')::int AS last
    FROM (
      SELECT make_date(substr(g.text, 1, 4)::int, substr(g.text, 6, 2)::int, 1) AS first,
        substr(g.text, 9, 2)::int AS day
      FROM (
        SELECT CASE
          WHEN p_text ~ '^(18[5-9][0-9]|19[0-9]{2}|2[0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$'
          THEN p_text END AS text) g) m) p
$$;

-- Why what is said of a user is refused; NULL: it is not.
CREATE OR REPLACE FUNCTION analysis.fault_of_user(
  p_given analysis.user_given, p_is_there boolean, p_is_erased boolean, p_add boolean, p_had_zone text,
  p_plan_id smallint, p_clinic_id int, p_is_zone boolean)
RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN CASE
    WHEN (length(p_given."user") BETWEEN 1 AND 200
          AND p_given."user" !~ analysis.hidden_characters()) IS NOT TRUE
      THEN 'A user''s name has 1 to 200 characters, and none that cannot be seen.'
    WHEN p_is_erased THEN 'The user was erased.'
    WHEN NOT p_is_there AND analysis.is_former_name(p_given."user")
      THEN 'The user has another name now: use that.'
    WHEN NOT p_is_there AND p_add IS NOT TRUE THEN 'There is no such user.'
    WHEN p_given.plan IS NOT NULL AND p_plan_id IS NULL
      THEN format('There is no plan %s.', left(p_given.plan, 60))
    WHEN NOT p_is_there AND p_plan_id IS NULL THEN 'There is no plan free: name one.'
    WHEN p_given.zone IS NOT NULL AND p_given.zone IS DISTINCT FROM p_had_zone AND NOT p_is_zone
      THEN format('There is no time zone %s.', left(p_given.zone, 60))
    WHEN p_given.anchor NOT BETWEEN 1 AND 31 THEN 'The anchor is not a day from 1 to 31.'
    WHEN p_given.clinic IS NOT NULL AND p_clinic_id IS NULL
      THEN format('There is no clinic %s.', left(p_given.clinic, 100))
    WHEN length(p_given.name) > 200 THEN 'The name has more than 200 characters.'
    WHEN length(p_given.email) > 320 THEN 'The e-mail address has more than 320 characters.'
    WHEN p_given.birthday <> '' AND analysis.birthday_of(p_given.birthday) IS NULL
      THEN 'The birthday is not a day from 1850 until today, written as 1980-05-31.'
    WHEN length(p_given.address) > 500 THEN 'The address has more than 500 characters.'
    WHEN length(p_given.gender) > 60 OR p_given.gender ~ analysis.hidden_characters()
      THEN 'The gender has more than 60 characters, or one that cannot be seen.'
    WHEN length(p_given.photo) > 2000 THEN 'The photo''s address has more than 2000 characters.'
    WHEN length(p_given.subscription) > 60 THEN 'The subscription has more than 60 characters.'
    WHEN p_given.count < 0 THEN 'The count of analyses is below 0.'
    WHEN p_given.last_reset NOT BETWEEN -2208988800 AND 19880899200
      THEN 'The last reset is not of the years 1900 to 2599.'
  END;
END $$;

-- What a user has who had this and is given that. What is not given stays as it is; an empty text of a
-- person's own removes it.
CREATE OR REPLACE FUNCTION analysis.user_with(
  p_had analysis.user_state, p_given analysis.user_given, p_plan_id smallint, p_clinic_id int)
RETURNS analysis.user_state
LANGUAGE sql STABLE AS $$
  SELECT ROW(
    coalesce(p_plan_id, p_had.plan_id), coalesce(p_given.zone, p_had.zone, analysis.setting_value('zone')),
    coalesce(p_given.anchor, p_had.anchor), coalesce(p_clinic_id, p_had.clinic_id),
    nullif(coalesce(p_given.name, p_had.name), ''), nullif(coalesce(p_given.email, p_had.email), ''),
    CASE WHEN p_given.birthday IS NULL THEN p_had.birthday ELSE analysis.birthday_of(p_given.birthday) END,
    nullif(coalesce(p_given.address, p_had.address), ''), nullif(coalesce(p_given.gender, p_had.gender), ''),
    nullif(coalesce(p_given.photo, p_had.photo_url), ''),
    coalesce(p_given.subscription, p_had.subscription), coalesce(p_given.count, p_had.count),
    CASE WHEN p_given.last_reset BETWEEN -2208988800 AND 19880899200 THEN to_timestamp(p_given.last_reset)
         ELSE p_had.last_reset END)::analysis.user_state
$$;

-- What changes from one to the other, field by field; of a photo's address only that it does.
CREATE OR REPLACE FUNCTION analysis.user_changes(p_had analysis.user_state, p_has analysis.user_state)
RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    jsonb_agg(
      CASE WHEN x.field = 'photo' THEN jsonb_build_object('field', x.field)
           ELSE jsonb_build_object('field', x.field, 'was', x.was, 'is', x.becomes) END
      ORDER BY x.n), '[]')
  FROM (
    VALUES
      (1, 'plan', (SELECT k.name FROM analysis.plan k WHERE k.id = p_had.plan_id),
        (SELECT k.name FROM analysis.plan k WHERE k.id = p_has.plan_id)),
      (2, 'zone', p_had.zone, p_has.zone), (3, 'anchor', p_had.anchor::text, p_has.anchor::text),
      (4, 'clinic', (SELECT k.name FROM analysis.clinic k WHERE k.id = p_had.clinic_id),
        (SELECT k.name FROM analysis.clinic k WHERE k.id = p_has.clinic_id)),
      (5, 'name', p_had.name, p_has.name), (6, 'email', p_had.email, p_has.email),
      (7, 'birthday', to_char(p_had.birthday, 'YYYY-MM-DD'), to_char(p_has.birthday, 'YYYY-MM-DD')),
      (8, 'address', p_had.address, p_has.address), (9, 'gender', p_had.gender, p_has.gender),
      (10, 'photo', p_had.photo_url, p_has.photo_url),
      (11, 'subscription', p_had.subscription, p_has.subscription),
      (12, 'count', p_had.count::text, p_has.count::text),
      (13, 'last_reset', analysis.audit_time(p_had.last_reset), analysis.audit_time(p_has.last_reset))
    ) x(n, field, was, becomes)
  WHERE x.was IS DISTINCT FROM x.becomes
$$;

-- What users have and what they are given, as members of objects: a user_given each. The anchor that a user
-- has is the last one, also where it is still to come. Each has what the user would have then, why it is
-- refused (NULL: it is not), and what would change. A user who is not there has no number, and the free plan
-- where none is given.
CREATE OR REPLACE FUNCTION analysis.judge_users(
  p_shard smallint, p_users jsonb, p_add boolean, p_now timestamptz)
RETURNS SETOF analysis.judged_user
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  WITH given AS MATERIALIZED (
    SELECT g.i::int AS i, jsonb_populate_record(NULL::analysis.user_given, g.value) AS r
    FROM jsonb_array_elements(p_users) WITH ORDINALITY g(value, i)),
  -- The server reads all its files to answer this: it is asked only where a zone is new for a user.
  zones AS MATERIALIZED (
    SELECT z.name FROM pg_timezone_names z
    WHERE EXISTS (
        SELECT FROM given g
        WHERE (g.r).zone IS NOT NULL AND NOT EXISTS (
          SELECT FROM analysis.account k
          WHERE k.shard = p_shard AND k.user_ref = (g.r)."user" AND k.zone = (g.r).zone OFFSET 0))
      AND z.name ~ '^(UTC|GMT|[A-Za-z_]+(/[A-Za-z0-9_+-]+)+)$'),
  found AS MATERIALIZED (
    SELECT g.i, g.r, a.user_id, w.had, analysis.user_with(w.had, g.r, n.id, c.id) AS becomes,
      analysis.fault_of_user(
        g.r, a.user_id IS NOT NULL, a.erased_at IS NOT NULL, p_add, a.zone, n.id, c.id,
        (g.r).zone IN (SELECT z.name FROM zones z)) AS reason
    FROM given g
    LEFT JOIN LATERAL (
      SELECT k.user_id, k.zone, k.clinic_id, k.erased_at,
        coalesce(k.anchors[cardinality(k.anchors)] & 31, 1) AS anchor
      FROM analysis.account k
      WHERE k.shard = p_shard AND k.user_ref = (g.r)."user" OFFSET 0) a ON true
    LEFT JOIN LATERAL (
      SELECT l.plan_id FROM analysis.limit_of(p_shard, a.user_id, p_now) l OFFSET 0) h ON true
    LEFT JOIN LATERAL (
      SELECT k.* FROM analysis.profile k WHERE k.shard = p_shard AND k.user_id = a.user_id OFFSET 0) p ON true
    LEFT JOIN analysis.plan n
      ON n.name = coalesce((g.r).plan, CASE WHEN a.user_id IS NULL THEN 'free' END)
    LEFT JOIN analysis.clinic c ON c.name = (g.r).clinic
    CROSS JOIN LATERAL (
      SELECT ROW(
        h.plan_id, a.zone, a.anchor, a.clinic_id, p.name, p.email, p.birthday, p.address, p.gender,
        p.photo_url, p.backend_subscription, p.backend_count, p.last_reset)::analysis.user_state AS had
      OFFSET 0) w)
  SELECT f.i, (f.r)."user", f.user_id, f.reason, f.becomes, analysis.user_changes(f.had, f.becomes)
  FROM found f;
END $$;

-- Adds those of some users who are not there, and answers their numbers. Two random UUIDs make the salt, as
-- in add_user.
CREATE OR REPLACE FUNCTION analysis.add_users(p_shard smallint, p_users jsonb, p_add boolean)
RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  v_added bigint[];
BEGIN
  WITH fresh AS MATERIALIZED (
    SELECT j.user_ref, (j.state).zone, (j.state).plan_id, nullif((j.state).anchor, 1) AS anchor
    FROM analysis.judge_users(p_shard, p_users, p_add, clock_timestamp()) j
    WHERE j.reason IS NULL AND j.user_id IS NULL),
  added AS (
    INSERT INTO analysis.account AS a (shard, user_ref, zone, key_salt, anchors)
    SELECT p_shard, f.user_ref, f.zone, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
      CASE WHEN f.anchor IS NOT NULL THEN ARRAY[f.anchor] END
    FROM fresh f ORDER BY f.user_ref
    ON CONFLICT (shard, user_ref) DO NOTHING
    RETURNING a.user_id, a.user_ref),
  planned AS (
    INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
    SELECT p_shard, a.user_id, '-infinity', f.plan_id FROM added a JOIN fresh f USING (user_ref)),
  described AS (
    INSERT INTO analysis.profile (shard, user_id) SELECT p_shard, a.user_id FROM added a)
  SELECT coalesce(array_agg(a.user_id), '{}') INTO v_added FROM added a;
  RETURN v_added;
END $$;

-- Gives users what they were judged to have, as far as that is a change.
CREATE OR REPLACE FUNCTION analysis.change_users(p_shard smallint, p_judged analysis.judged_user[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
  SELECT p_shard, j.user_id, clock_timestamp(), (j.state).plan_id
  FROM unnest(p_judged) j
  WHERE j.reason IS NULL AND j.changes @> '[{"field": "plan"}]'
  ON CONFLICT (shard, user_id, valid_from) DO UPDATE SET plan_id = EXCLUDED.plan_id;
  UPDATE analysis.account a SET zone = (j.state).zone, clinic_id = (j.state).clinic_id
  FROM unnest(p_judged) j
  WHERE a.shard = p_shard AND a.user_id = j.user_id AND j.reason IS NULL
    AND (j.changes @> '[{"field": "zone"}]' OR j.changes @> '[{"field": "clinic"}]');
  PERFORM analysis.change_anchor(p_shard, j.user_id, j.anchor, NULL)
  FROM (
    SELECT r.user_id, (r.state).anchor::smallint AS anchor
    FROM unnest(p_judged) r
    WHERE r.reason IS NULL AND r.changes @> '[{"field": "anchor"}]'
    ORDER BY r.user_id OFFSET 0) j;
  INSERT INTO analysis.profile (
    shard, user_id, name, email, birthday, address, gender, photo_url, backend_subscription, backend_count,
    last_reset, updated_at)
  SELECT p_shard, j.user_id, s.name, s.email, s.birthday, s.address, s.gender, s.photo_url, s.subscription,
    s.count, s.last_reset, clock_timestamp()
  FROM unnest(p_judged) j
  CROSS JOIN LATERAL (SELECT (j.state).*) s
  WHERE j.reason IS NULL AND EXISTS (
    SELECT FROM jsonb_array_elements(j.changes) c
    WHERE c.value ->> 'field' <> ALL ('{plan,zone,anchor,clinic}'::text[]))
  ORDER BY j.user_id
  ON CONFLICT (shard, user_id) DO UPDATE
    SET name = EXCLUDED.name, email = EXCLUDED.email, birthday = EXCLUDED.birthday,
        address = EXCLUDED.address, gender = EXCLUDED.gender, photo_url = EXCLUDED.photo_url,
        backend_subscription = EXCLUDED.backend_subscription, backend_count = EXCLUDED.backend_count,
        last_reset = EXCLUDED.last_reset, updated_at = EXCLUDED.updated_at;
END $$;

-- Records who was added, and which plans, zones, anchors and clinics users were given: an entry for all who
-- were given the same.
CREATE OR REPLACE FUNCTION analysis.audit_changed_users(
  p_judged analysis.judged_user[], p_added bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_action text;
  v_detail jsonb;
  v_users bigint[];
BEGIN
  FOR v_action, v_detail, v_users IN
    SELECT 'add_user', jsonb_build_object('plan', p.name, 'zone', (j.state).zone),
      array_agg(j.user_id ORDER BY j.user_id)
    FROM unnest(p_judged) j JOIN analysis.plan p ON p.id = (j.state).plan_id
    WHERE j.user_id = ANY (p_added)
    GROUP BY 1, 2
    UNION ALL
    SELECT CASE c.value ->> 'field' WHEN 'plan' THEN 'set_plan' WHEN 'zone' THEN 'set_zone'
             WHEN 'anchor' THEN 'set_period' ELSE 'assign_clinic' END,
      CASE c.value ->> 'field' WHEN 'clinic' THEN jsonb_build_object('clinic', (j.state).clinic_id)
        WHEN 'anchor' THEN jsonb_build_object('anchor', (c.value ->> 'is')::int)
        ELSE jsonb_build_object(c.value ->> 'field', c.value -> 'is') END,
      array_agg(j.user_id ORDER BY j.user_id)
    FROM unnest(p_judged) j
    CROSS JOIN LATERAL jsonb_array_elements(j.changes) c
    WHERE j.reason IS NULL AND c.value ->> 'field' = ANY ('{plan,zone,anchor,clinic}'::text[])
    GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    PERFORM analysis.audit_add(
      v_action, CASE cardinality(v_users) WHEN 1 THEN 'user:' || v_users[1] ELSE 'users' END,
      CASE cardinality(v_users) WHEN 1 THEN v_detail
        ELSE v_detail || jsonb_build_object('users', to_jsonb(v_users)) END);
  END LOOP;
END $$;

-- Does the work of import_users, for all that it is given.
CREATE OR REPLACE FUNCTION analysis.take_users(p_shard smallint, p_users jsonb, p_add boolean, p_dry boolean)
RETURNS TABLE (o_index int, o_user_id bigint, o_outcome text, o_reason text, o_changes jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  v_refs text[] := ARRAY(SELECT g.value ->> 'user' FROM jsonb_array_elements(p_users) g);
  v_added bigint[] := '{}';
  v_judged analysis.judged_user[];
BEGIN
  LOOP
    IF NOT p_dry THEN
      v_added := v_added || analysis.add_users(p_shard, p_users, p_add);
      PERFORM 1 FROM analysis.account a
      WHERE a.shard = p_shard AND a.user_ref = ANY (v_refs) ORDER BY a.user_id FOR NO KEY UPDATE;
    END IF;
    -- In a statement of its own, which sees what others changed while this one waited.
    v_judged := ARRAY(
      SELECT j FROM analysis.judge_users(p_shard, p_users, p_add, clock_timestamp()) j ORDER BY j.i);
    -- Who was erased meanwhile is added anew.
    EXIT WHEN p_dry OR NOT EXISTS (
      SELECT FROM unnest(v_judged) j WHERE j.reason IS NULL AND j.user_id IS NULL);
  END LOOP;
  IF NOT p_dry THEN
    PERFORM analysis.change_users(p_shard, v_judged);
    PERFORM analysis.audit_changed_users(v_judged, v_added);
  END IF;
  RETURN QUERY
  SELECT j.i, j.user_id,
    CASE WHEN j.reason IS NOT NULL THEN 'refused'
         WHEN j.user_id IS NULL OR j.user_id = ANY (v_added) THEN 'created'
         WHEN j.changes = '[]' THEN 'unchanged' ELSE 'updated' END,
    j.reason, CASE WHEN j.reason IS NULL THEN j.changes END
  FROM unnest(v_judged) j
  ORDER BY j.i;
END $$;

-- Refuses an import that is none: the server's own message would show a value, and stop all of them.
CREATE OR REPLACE FUNCTION analysis.require_import(p_users jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM analysis.require_argument(
    NOT EXISTS (
      SELECT FROM jsonb_array_elements(p_users) g
      WHERE CASE WHEN jsonb_typeof(g.value) <> 'object' THEN true ELSE EXISTS (
        SELECT FROM jsonb_each(g.value) m
        WHERE CASE WHEN jsonb_typeof(m.value) = 'null' THEN false
          WHEN m.key NOT IN ('anchor', 'count', 'last_reset') THEN jsonb_typeof(m.value) <> 'string'
          WHEN jsonb_typeof(m.value) <> 'number' THEN true
          WHEN m.key <> 'last_reset' THEN m.value::numeric <> trunc(m.value::numeric)
            OR m.value::numeric NOT BETWEEN -2147483648 AND 2147483647
          ELSE abs(m.value::numeric) > 1e15 END) END),
    'an import has an object for each user: texts, and numbers as anchor, count (whole ones) and last_reset');
END $$;

-- Takes over what is said of up to 1,000 users of a shard (see judge_users), each named once: adds those who
-- are not there, where p_add says so, and changes what differs. One that is refused does not stop the others;
-- one whom somebody else holds for 5 s is refused too. p_dry: says only what would become of them. An outcome
-- is created, updated, unchanged or refused. The audit has an entry for each plan, zone and anchor that users
-- were given who were there before, and for each clinic; where somebody was held, for each user.
-- Refused to who sees some clinics only.
CREATE OR REPLACE FUNCTION analysis.import_users(
  p_shard smallint, p_users jsonb, p_add boolean, p_dry boolean)
RETURNS TABLE (o_index int, o_user_id bigint, o_outcome text, o_reason text, o_changes jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s' AS $$
DECLARE
  v_refs text[];
  v_user jsonb;
BEGIN
  PERFORM analysis.require_argument(
    p_add IS NOT NULL AND p_dry IS NOT NULL AND jsonb_typeof(p_users) = 'array'
      AND jsonb_array_length(p_users) <= 1000 AND octet_length(p_users::text) <= 16000000,
    'an import has at most 1000 users, and says whether new ones are added and whether it is a trial');
  PERFORM analysis.require_import(p_users);
  p_users := normalize(p_users::text)::jsonb;
  -- It shows what users have, and changes it.
  PERFORM analysis.require_unrestricted();
  PERFORM analysis.refuse_repeatable_read();
  v_refs := ARRAY(SELECT g.value ->> 'user' FROM jsonb_array_elements(p_users) g);
  PERFORM analysis.require_argument(
    cardinality(v_refs)
      = (SELECT count(DISTINCT r) + count(*) FILTER (WHERE r IS NULL) FROM unnest(v_refs) r),
    'an import names each user once');
  IF NOT p_dry THEN
    LOCK TABLE analysis.renamed IN ROW EXCLUSIVE MODE;       -- nobody is renamed meanwhile
  END IF;
  PERFORM analysis.require_argument(
    NOT EXISTS (SELECT FROM unnest(v_refs) r WHERE analysis.shard_of(r) IS DISTINCT FROM p_shard AND r <> ''),
    'the users of an import are of its shard');
  BEGIN
    RETURN QUERY SELECT t.* FROM analysis.take_users(p_shard, p_users, p_add, p_dry) t;
    RETURN;
  EXCEPTION WHEN lock_not_available THEN
    -- Somebody holds one of them: each by itself, and no longer waited for.
    PERFORM set_config('lock_timeout', '10ms', true);
  END;
  FOR o_index, v_user IN
    SELECT g.i, g.value FROM jsonb_array_elements(p_users) WITH ORDINALITY g(value, i)
    LEFT JOIN analysis.account a ON a.shard = p_shard AND a.user_ref = g.value ->> 'user'
    ORDER BY a.user_id, g.value ->> 'user'
  LOOP
    BEGIN
      SELECT t.o_user_id, t.o_outcome, t.o_reason, t.o_changes
      INTO o_user_id, o_outcome, o_reason, o_changes
      FROM analysis.take_users(p_shard, jsonb_build_array(v_user), p_add, p_dry) t;
    EXCEPTION WHEN lock_not_available THEN
      o_user_id := NULL;
      o_outcome := 'refused';
      o_reason := 'Somebody else is changing the user: import it again in a moment.';
      o_changes := NULL;
    END;
    RETURN NEXT;
  END LOOP;
END $$;
COMMENT ON FUNCTION analysis.import_users IS
  'Takes over what is said of users: adds those who are new, and changes what differs.';
