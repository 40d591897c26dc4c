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

-- What users have and what they are given: members `user`, `plan`, `zone`, `anchor`, `clinic`, `name`,
-- `email`, `birthday`, `address`, `gender`, `photo`, `subscription`, `count` and `last_reset` (in seconds
-- since 1970). The anchor that a user has is the last one, also where it is still to come.
-- A member that is not there leaves what is known as it is; an empty text of a person's own removes it. Each
-- row has what the user would have then, why it is refused (NULL: it is not), and what would change; of a
-- photo's address only that it does. A user who is not there has no number, and the free plan where none is
-- given.
CREATE OR REPLACE FUNCTION analysis.judge_users(
  p_shard smallint, p_users jsonb, p_add boolean, p_now timestamptz)
RETURNS TABLE (
  i int, user_ref text, user_id bigint, reason text, plan_id smallint, zone text, clinic_id int, name text,
  email text, birthday date, address text, gender text, photo_url text, subscription text, count int,
  last_reset timestamptz, changes jsonb)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  WITH given AS MATERIALIZED (
    SELECT g.i::int AS i, r.*
    FROM jsonb_array_elements(p_users) WITH ORDINALITY g(value, i)
    CROSS JOIN LATERAL jsonb_to_record(g.value) AS r(
      "user" text, plan text, zone text, anchor int, clinic text, name text, email text, birthday text,
      address text, gender text, photo text, subscription text, count int, last_reset double precision)),
  -- The server reads all its files to answer this: it is asked only where a zone is new for a user.
  zones AS MATERIALIZED (
    SELECT z.name FROM pg_timezone_names z
    WHERE EXISTS (
        SELECT FROM given g
        WHERE g.zone IS NOT NULL AND NOT EXISTS (
          SELECT FROM analysis.account k
          WHERE k.shard = p_shard AND k.user_ref = g."user" AND k.zone = g.zone OFFSET 0))
      AND z.name ~ '^(UTC|GMT|[A-Za-z_]+(/[A-Za-z0-9_+-]+)+)$'),
  found AS MATERIALIZED (
    SELECT g.i, g."user" AS user_ref, a.user_id,
      CASE
        WHEN (length(g."user") BETWEEN 1 AND 200 AND g."user" !~ analysis.hidden_characters()) IS NOT TRUE
          THEN 'A user''s name has 1 to 200 characters, and none that cannot be seen.'
        WHEN a.erased_at IS NOT NULL THEN 'The user was erased.'
        WHEN a.user_id IS NULL AND analysis.is_former_name(g."user")
          THEN 'The user has another name now: use that.'
        WHEN a.user_id IS NULL AND p_add IS NOT TRUE THEN 'There is no such user.'
        WHEN g.plan IS NOT NULL AND n.id IS NULL THEN format('There is no plan %s.', left(g.plan, 60))
        WHEN a.user_id IS NULL AND n.id IS NULL THEN 'There is no plan free: name one.'
        WHEN g.zone IS NOT NULL AND g.zone IS DISTINCT FROM a.zone
             AND NOT EXISTS (SELECT FROM zones z WHERE z.name = g.zone)
          THEN format('There is no time zone %s.', left(g.zone, 60))
        WHEN g.anchor NOT BETWEEN 1 AND 31 THEN 'The anchor is not a day from 1 to 31.'
        WHEN g.clinic IS NOT NULL AND c.id IS NULL THEN format('There is no clinic %s.', left(g.clinic, 100))
        WHEN length(g.name) > 200 THEN 'The name has more than 200 characters.'
        WHEN length(g.email) > 320 THEN 'The e-mail address has more than 320 characters.'
        WHEN g.birthday <> '' AND analysis.birthday_of(g.birthday) IS NULL
          THEN 'The birthday is not a day from 1850 until today, written as 1980-05-31.'
        WHEN length(g.address) > 500 THEN 'The address has more than 500 characters.'
        WHEN length(g.gender) > 60 OR g.gender ~ analysis.hidden_characters()
          THEN 'The gender has more than 60 characters, or one that cannot be seen.'
        WHEN length(g.photo) > 2000 THEN 'The photo''s address has more than 2000 characters.'
        WHEN length(g.subscription) > 60 THEN 'The subscription has more than 60 characters.'
        WHEN g.count < 0 THEN 'The count of analyses is below 0.'
        WHEN g.last_reset NOT BETWEEN -2208988800 AND 19880899200
          THEN 'The last reset is not of the years 1900 to 2599.'
      END AS reason,
      h.plan_id AS had_plan, coalesce(n.id, h.plan_id) AS plan_id,
      a.zone AS had_zone, coalesce(g.zone, a.zone, analysis.setting_value('zone')) AS zone,
      a.anchor AS had_anchor, coalesce(g.anchor, a.anchor) AS anchor,
      a.clinic_id AS had_clinic, coalesce(c.id, a.clinic_id) AS clinic_id,
      p.name AS had_name, nullif(coalesce(g.name, p.name), '') AS name,
      p.email AS had_email, nullif(coalesce(g.email, p.email), '') AS email,
      p.birthday AS had_birthday,
      CASE WHEN g.birthday IS NULL THEN p.birthday ELSE analysis.birthday_of(g.birthday) END AS birthday,
      p.address AS had_address, nullif(coalesce(g.address, p.address), '') AS address,
      p.gender AS had_gender, nullif(coalesce(g.gender, p.gender), '') AS gender,
      p.photo_url AS had_photo, nullif(coalesce(g.photo, p.photo_url), '') AS photo_url,
      p.backend_subscription AS had_subscription,
      coalesce(g.subscription, p.backend_subscription) AS subscription,
      p.backend_count AS had_count, coalesce(g.count, p.backend_count) AS count,
      p.last_reset AS had_reset,
      CASE WHEN g.last_reset BETWEEN -2208988800 AND 19880899200 THEN to_timestamp(g.last_reset)
           ELSE p.last_reset END AS last_reset
    FROM given g
    LEFT JOIN LATERAL (
      SELECT k.user_id, k.zone, k.clinic_id, k.erased_at,
        coalesce(k.anchors[cardinality(k.anchors)] & 31, 1) AS anchor
      FROM analysis.account k
      WHERE k.shard = p_shard AND k.user_ref = g."user" OFFSET 0) a ON true
    LEFT JOIN LATERAL (
      SELECT l.plan_id FROM analysis.limit_of(p_shard, a.user_id, p_now) l OFFSET 0) h ON true
    LEFT JOIN LATERAL (
      SELECT k.* FROM analysis.profile k WHERE k.shard = p_shard AND k.user_id = a.user_id OFFSET 0) p ON true
    LEFT JOIN analysis.plan n ON n.name = coalesce(g.plan, CASE WHEN a.user_id IS NULL THEN 'free' END)
    LEFT JOIN analysis.clinic c ON c.name = g.clinic)
  SELECT f.i, f.user_ref, f.user_id, f.reason, f.plan_id, f.zone, f.clinic_id, f.name, f.email, f.birthday,
    f.address, f.gender, f.photo_url, f.subscription, f.count, f.last_reset, d.changes
  FROM found f
  CROSS JOIN LATERAL (
    SELECT coalesce(
      jsonb_agg(
        CASE WHEN x.field = 'photo' THEN jsonb_build_object('field', x.field)
             ELSE jsonb_build_object('field', x.field, 'was', x.was, 'is', x.becomes) END
        ORDER BY x.n), '[]') AS changes
    FROM (
      VALUES
        (1, 'plan', (SELECT k.name FROM analysis.plan k WHERE k.id = f.had_plan),
          (SELECT k.name FROM analysis.plan k WHERE k.id = f.plan_id)),
        (2, 'zone', f.had_zone, f.zone),
        (3, 'anchor', f.had_anchor::text, f.anchor::text),
        (4, 'clinic', (SELECT k.name FROM analysis.clinic k WHERE k.id = f.had_clinic),
          (SELECT k.name FROM analysis.clinic k WHERE k.id = f.clinic_id)),
        (5, 'name', f.had_name, f.name), (6, 'email', f.had_email, f.email),
        (7, 'birthday', to_char(f.had_birthday, 'YYYY-MM-DD'), to_char(f.birthday, 'YYYY-MM-DD')),
        (8, 'address', f.had_address, f.address), (9, 'gender', f.had_gender, f.gender),
        (10, 'photo', f.had_photo, f.photo_url), (11, 'subscription', f.had_subscription, f.subscription),
        (12, 'count', f.had_count::text, f.count::text),
        (13, 'last_reset', analysis.audit_time(f.had_reset), analysis.audit_time(f.last_reset))
      ) x(n, field, was, becomes)
    WHERE x.was IS DISTINCT FROM x.becomes) d;
END $$;

-- Does the work of import_users, for all that it is given.
CREATE OR REPLACE FUNCTION analysis.take_users(p_shard smallint, p_users jsonb, p_add boolean, p_dry boolean)
RETURNS TABLE (o_index int, o_user_id bigint, o_outcome text, o_reason text, o_changes jsonb)
LANGUAGE plpgsql AS $$
DECLARE
  v_refs text[] := ARRAY(SELECT g.value ->> 'user' FROM jsonb_array_elements(p_users) g);
  v_added bigint[] := '{}';
  v_judged jsonb;
  v_action text;
  v_detail jsonb;
  v_users bigint[];
BEGIN
  IF NOT p_dry THEN
    -- Two random UUIDs make the salt, as in add_user.
    WITH fresh AS MATERIALIZED (
      SELECT j.user_ref, j.zone, j.plan_id, (
          SELECT nullif((c.value ->> 'is')::int, 1) FROM jsonb_array_elements(j.changes) c
          WHERE c.value ->> 'field' = 'anchor') AS anchor
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
    PERFORM 1 FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_ref = ANY (v_refs) ORDER BY a.user_id FOR NO KEY UPDATE;
  END IF;

  -- In a statement of its own, which sees what others changed while this one waited.
  v_judged := (
    SELECT coalesce(jsonb_agg(to_jsonb(j) ORDER BY j.i), '[]')
    FROM analysis.judge_users(p_shard, p_users, p_add, clock_timestamp()) j);

  IF NOT p_dry THEN
    INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
    SELECT p_shard, j.user_id, clock_timestamp(), j.plan_id
    FROM jsonb_to_recordset(v_judged) AS j(user_id bigint, reason text, plan_id smallint, changes jsonb)
    WHERE j.reason IS NULL AND j.changes @> '[{"field": "plan"}]'
    ON CONFLICT (shard, user_id, valid_from) DO UPDATE SET plan_id = EXCLUDED.plan_id;
    UPDATE analysis.account a SET zone = j.zone, clinic_id = j.clinic_id
    FROM jsonb_to_recordset(v_judged) AS j(
      user_id bigint, reason text, zone text, clinic_id int, changes jsonb)
    WHERE a.shard = p_shard AND a.user_id = j.user_id AND j.reason IS NULL
      AND (j.changes @> '[{"field": "zone"}]' OR j.changes @> '[{"field": "clinic"}]');
    PERFORM analysis.change_anchor(p_shard, j.user_id, j.anchor, NULL)
    FROM (
      SELECT r.user_id, (c.value ->> 'is')::smallint AS anchor
      FROM jsonb_to_recordset(v_judged) AS r(user_id bigint, reason text, changes jsonb)
      CROSS JOIN LATERAL jsonb_array_elements(r.changes) c
      WHERE r.reason IS NULL AND c.value ->> 'field' = 'anchor'
      ORDER BY r.user_id OFFSET 0) j;
    INSERT INTO analysis.profile (
      shard, user_id, name, email, birthday, address, gender, photo_url, backend_subscription, backend_count,
      last_reset, updated_at)
    SELECT p_shard, j.user_id, j.name, j.email, j.birthday, j.address, j.gender, j.photo_url, j.subscription,
      j.count, j.last_reset, clock_timestamp()
    FROM jsonb_to_recordset(v_judged) AS j(
      user_id bigint, reason text, name text, email text, birthday date, address text, gender text,
      photo_url text, subscription text, count int, last_reset timestamptz, changes jsonb)
    WHERE j.reason IS NULL AND EXISTS (
      SELECT FROM jsonb_array_elements(j.changes) c
      WHERE c.value ->> 'field' <> ALL ('{plan,zone,anchor,clinic}'::text[]))
    ORDER BY j.user_id
    ON CONFLICT (shard, user_id) DO UPDATE
      SET name = EXCLUDED.name, email = EXCLUDED.email, birthday = EXCLUDED.birthday,
          address = EXCLUDED.address, gender = EXCLUDED.gender, photo_url = EXCLUDED.photo_url,
          backend_subscription = EXCLUDED.backend_subscription, backend_count = EXCLUDED.backend_count,
          last_reset = EXCLUDED.last_reset, updated_at = EXCLUDED.updated_at;

    FOR v_action, v_detail, v_users IN
      SELECT CASE c.value ->> 'field' WHEN 'plan' THEN 'set_plan' WHEN 'zone' THEN 'set_zone'
               WHEN 'anchor' THEN 'set_period' ELSE 'assign_clinic' END,
        CASE c.value ->> 'field' WHEN 'clinic' THEN jsonb_build_object('clinic', j.clinic_id)
          WHEN 'anchor' THEN jsonb_build_object('anchor', (c.value ->> 'is')::int)
          ELSE jsonb_build_object(c.value ->> 'field', c.value -> 'is') END,
        array_agg(j.user_id ORDER BY j.user_id)
      FROM jsonb_to_recordset(v_judged) AS j(user_id bigint, reason text, clinic_id int, changes jsonb)
      CROSS JOIN LATERAL jsonb_array_elements(j.changes) c
      WHERE j.reason IS NULL AND c.value ->> 'field' = ANY ('{plan,zone,anchor,clinic}'::text[])
      GROUP BY 1, 2 ORDER BY 1, 2
    LOOP
      PERFORM analysis.audit_add(
        v_action, CASE cardinality(v_users) WHEN 1 THEN 'user:' || v_users[1] ELSE 'users' END,
        CASE cardinality(v_users) WHEN 1 THEN v_detail
          ELSE v_detail || jsonb_build_object('users', to_jsonb(v_users)) END);
    END LOOP;
  END IF;

  RETURN QUERY
  SELECT j.i, j.user_id,
    CASE WHEN j.reason IS NOT NULL THEN 'refused'
         WHEN j.user_id IS NULL OR j.user_id = ANY (v_added) THEN 'created'
         WHEN j.changes = '[]' THEN 'unchanged' ELSE 'updated' END,
    j.reason, CASE WHEN j.reason IS NULL THEN j.changes END
  FROM jsonb_to_recordset(v_judged) AS j(i int, user_id bigint, reason text, changes jsonb)
  ORDER BY j.i;
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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off
SET lock_timeout = '5s' AS $$
DECLARE
  v_refs text[];
  v_user jsonb;
BEGIN
  PERFORM analysis.require_argument(
    p_add IS NOT NULL AND p_dry IS NOT NULL AND jsonb_typeof(p_users) = 'array'
      AND jsonb_array_length(p_users) <= 1000 AND octet_length(p_users::text) <= 16000000,
    'an import has at most 1000 users, and says whether new ones are added and whether it is a trial');
  -- The server's own message would show the value, and stop all of them.
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
