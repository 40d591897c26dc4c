-- Reading users and plans. But for the list of users, their periods and pictures each function runs with its
-- caller's rights.

-- A page of one shard's users by the bytes of their references, so that pages of several shards can be put
-- together. What the caller sees and what time it is are asked once, not for each user: a variable also lets
-- limit_of become a part of the statement.
CREATE OR REPLACE FUNCTION analysis.list_users(p_shard smallint, p_after text, p_limit int)
RETURNS TABLE (o_user text, o_zone text, o_plan text, o_limit int, o_used int, o_period smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_now timestamptz := clock_timestamp();
BEGIN
  RETURN QUERY
  SELECT a.user_ref, a.zone, p.name, l.monthly_limit, coalesce(u.used, 0), m.period
  FROM (
    SELECT k.shard, k.user_id, k.user_ref, k.zone, k.anchors
    FROM analysis.account k
    WHERE k.shard = p_shard AND k.user_ref > p_after COLLATE "C"
      AND (v_seen IS NULL OR k.clinic_id = ANY (v_seen))
    ORDER BY k.user_ref COLLATE "C"
    LIMIT least(p_limit, 100000)) a
  CROSS JOIN LATERAL (SELECT analysis.period_at(v_now, a.zone, a.anchors) AS period OFFSET 0) m
  LEFT JOIN LATERAL analysis.limit_of(a.shard, a.user_id, v_now) l ON true
  LEFT JOIN analysis.plan p ON p.id = l.plan_id
  LEFT JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id AND u.period = m.period
  ORDER BY a.user_ref COLLATE "C";
END $$;
COMMENT ON FUNCTION analysis.list_users IS
  'Answers a page of the users of one shard, by reference.';

-- The present period of a user, by the clocks of the user's zone too, and the anchor by which it ends. Where
-- another anchor comes after it: which, and the label from which on it holds. No row: there is no such user,
-- or none whom the caller sees.
CREATE OR REPLACE FUNCTION analysis.user_period(p_shard smallint, p_user text)
RETURNS TABLE (
  o_period smallint, o_anchor smallint, o_starts timestamptz, o_ends timestamptz, o_starts_local timestamp,
  o_ends_local timestamp, o_next_from smallint, o_next_anchor smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  RETURN QUERY
  SELECT m.period, analysis.anchor_at(m.period, a.anchors), b.starts, b.ends, timezone(a.zone, b.starts),
    timezone(a.zone, b.ends), (n.next / 32)::smallint, (n.next & 31)::smallint
  FROM analysis.account a
  CROSS JOIN LATERAL (
    SELECT analysis.period_at(clock_timestamp(), a.zone, a.anchors) AS period OFFSET 0) m
  CROSS JOIN LATERAL (
    SELECT analysis.period_begins(m.period, a.zone, a.anchors) AS starts,
      analysis.period_ends(m.period, a.zone, a.anchors) AS ends OFFSET 0) b
  CROSS JOIN LATERAL (
    SELECT min(e) AS next FROM unnest(a.anchors) e WHERE e / 32 > m.period) n
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen));
END $$;
COMMENT ON FUNCTION analysis.user_period IS
  'Answers from when until when a user''s present period is, and which anchor comes after it.';

-- A user with the clinic, the plan in force and the present month's count. No row: there is no such user.
CREATE OR REPLACE FUNCTION analysis.user_shown(p_shard smallint, p_user text)
RETURNS TABLE (
  o_user_id bigint, o_zone text, o_clinic text, o_created_at timestamptz, o_plan text, o_plan_name text,
  o_limit int, o_period smallint, o_used int, o_refunded int, o_refused int, o_analysed int)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.user_id, a.zone, c.name, a.created_at, p.name, p.display_name,
    l.monthly_limit, m.o_period, u.o_used, u.o_refunded, u.o_refused, u.o_analysed
  FROM analysis.account a
  CROSS JOIN LATERAL analysis.user_period(a.shard, a.user_ref) m
  CROSS JOIN LATERAL analysis.month_of(a.shard, a.user_id, m.o_period) u
  LEFT JOIN LATERAL analysis.limit_of(a.shard, a.user_id, clock_timestamp()) l ON true
  LEFT JOIN analysis.plan p ON p.id = l.plan_id
  LEFT JOIN analysis.clinic c ON c.id = a.clinic_id
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user)
$$;
COMMENT ON FUNCTION analysis.user_shown IS
  'Answers a user with plan, clinic and the present month''s count.';

-- The plans that a user has had and will have, the oldest first; without a time: from the beginning.
CREATE OR REPLACE FUNCTION analysis.plans_of_user(p_shard smallint, p_user_id bigint)
RETURNS TABLE (o_plan text, o_from timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p.name, nullif(h.valid_from, '-infinity')
  FROM analysis.account_plan h
  JOIN analysis.plan p ON p.id = h.plan_id
  WHERE h.shard = p_shard AND h.user_id = p_user_id
  ORDER BY h.valid_from
$$;
COMMENT ON FUNCTION analysis.plans_of_user IS
  'Answers the plans that a user has had and will have.';

-- What is known of a person, which is kept apart from the account. No row: nothing.
CREATE OR REPLACE FUNCTION analysis.profile_of(p_shard smallint, p_user_id bigint)
RETURNS TABLE (
  o_name text, o_email text, o_subscription text, o_count int, o_last_reset timestamptz,
  o_updated_at timestamptz,
  o_photo_url text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p.name, p.email, p.backend_subscription, p.backend_count, p.last_reset, p.updated_at, p.photo_url
  FROM analysis.profile p
  WHERE p.shard = p_shard AND p.user_id = p_user_id
$$;
COMMENT ON FUNCTION analysis.profile_of IS
  'Answers what is known of the person of a user.';

-- The same with birthday, address and gender.
CREATE OR REPLACE FUNCTION analysis.person_of(p_shard smallint, p_user_id bigint)
RETURNS TABLE (
  o_name text, o_email text, o_birthday text, o_address text, o_gender text, o_subscription text,
  o_count int, o_last_reset timestamptz, o_updated_at timestamptz, o_photo_url text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p.name, p.email, to_char(p.birthday, 'YYYY-MM-DD'), p.address, p.gender, p.backend_subscription,
    p.backend_count, p.last_reset, p.updated_at, p.photo_url
  FROM analysis.profile p
  WHERE p.shard = p_shard AND p.user_id = p_user_id
$$;
COMMENT ON FUNCTION analysis.person_of IS
  'Answers who the person of a user is, with birthday, address and gender.';

-- A page of one shard's users that have a photo, by the bytes of their references.
CREATE OR REPLACE FUNCTION analysis.list_photos(p_shard smallint, p_after text, p_limit int)
RETURNS TABLE (o_user text, o_url text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.user_ref, p.photo_url
  FROM analysis.account a
  JOIN analysis.profile p ON p.shard = a.shard AND p.user_id = a.user_id
  WHERE a.shard = p_shard AND a.user_ref > p_after COLLATE "C" AND p.photo_url IS NOT NULL
  ORDER BY a.user_ref COLLATE "C"
  LIMIT least(p_limit, 100000)
$$;
COMMENT ON FUNCTION analysis.list_photos IS
  'Answers a page of the users of one shard that have a photo.';


-- What shows who users of a shard are: name, photo, and the logos of their clinics. No row: there is no such
-- user.
CREATE OR REPLACE FUNCTION analysis.user_pictures(p_shard smallint, p_users text[])
RETURNS TABLE (
  o_user text, o_name text, o_photo_url text, o_clinic text, o_kind text, o_logo text, o_pharmacy_logo text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  PERFORM analysis.require_at_most(1000, p_users, 'users');
  RETURN QUERY
  SELECT a.user_ref, p.name, p.photo_url, c.name, c.kind, encode(c.logo, 'hex'),
    encode(c.pharmacy_logo, 'hex')
  FROM analysis.account a
  LEFT JOIN analysis.profile p ON p.shard = a.shard AND p.user_id = a.user_id
  LEFT JOIN analysis.clinic c ON c.id = a.clinic_id
  WHERE a.shard = p_shard AND a.user_ref = ANY (p_users)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen));
END $$;
COMMENT ON FUNCTION analysis.user_pictures IS
  'Answers the names, photos and clinics'' logos of users.';
