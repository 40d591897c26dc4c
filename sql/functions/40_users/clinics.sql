-- Clinics, and which roles see which. The rules of the rows, and whom they ask for users (users_seen), are in
-- 0007_persons.sql.

-- The clinics to whose users a role is restricted, as 0007_persons.sql says it, from a plan that a session
-- keeps: each statement of a reader asks for it.
CREATE OR REPLACE FUNCTION analysis.clinics_of(p_role name) RETURNS int[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM analysis.clinic_viewer) THEN
    RETURN NULL;
  END IF;
  RETURN (
    WITH held AS (
      SELECT v.clinic_ids, n.oid IS NOT NULL AS is_named
      FROM pg_roles p
      CROSS JOIN analysis.clinic_viewer v
      LEFT JOIN pg_roles n ON n.rolname = v.role
      JOIN pg_roles g ON g.oid = coalesce(n.oid, v.role_id)
      CROSS JOIN pg_namespace s
      WHERE p.rolname = p_role AND NOT p.rolsuper AND NOT p.rolbypassrls
        AND pg_has_role(p.oid, g.oid, 'MEMBER')
        AND s.nspname = 'analysis' AND NOT pg_has_role(p.oid, s.nspowner, 'USAGE'))
    SELECT CASE WHEN count(*) > 0
      THEN coalesce(array_agg(DISTINCT c.id) FILTER (WHERE c.id IS NOT NULL), '{}') END
    FROM held h
    LEFT JOIN LATERAL unnest(h.clinic_ids) c(id) ON true
    WHERE h.is_named OR NOT EXISTS (SELECT FROM held x WHERE x.is_named));
END $$;

-- The clinics that a session sees which acts as a role; NULL: all. The role that logged in counts too: a
-- restricted role that takes on another of its roles sees no more by it.
CREATE OR REPLACE FUNCTION analysis.clinics_seen(p_role name) RETURNS int[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_role int[] := analysis.clinics_of(p_role);
  v_session int[];
BEGIN
  IF p_role = session_user THEN
    RETURN v_role;
  END IF;
  v_session := analysis.clinics_of(session_user);
  IF v_role IS NULL OR v_session IS NULL THEN
    RETURN coalesce(v_role, v_session);
  END IF;
  RETURN ARRAY(SELECT unnest(v_role) INTERSECT SELECT unnest(v_session));
END $$;

-- Refuses a caller that is itself restricted to clinics: it would free itself, or others, or change what is
-- hidden from it.
CREATE OR REPLACE FUNCTION analysis.require_unrestricted() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF analysis.clinics_seen(analysis.caller()) IS NOT NULL THEN
    RAISE EXCEPTION
      'role % sees some clinics only and cannot change clinics, who sees which or what, or other users, '
      'or compare all images', analysis.caller()
      USING ERRCODE = 'insufficient_privilege', HINT = 'Let a role do it that is not restricted to clinics.';
  END IF;
END $$;

-- Adds a clinic; false if it is there already.
CREATE OR REPLACE FUNCTION analysis.add_clinic(p_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_clinic int;
BEGIN
  PERFORM analysis.require_argument(
    length(p_name) BETWEEN 1 AND 100 AND p_name !~ analysis.hidden_characters(),
    'a clinic''s name has 1 to 100 characters, and none that cannot be seen');
  INSERT INTO analysis.clinic (name) VALUES (normalize(p_name)) ON CONFLICT (name) DO NOTHING
  RETURNING id INTO v_clinic;
  IF v_clinic IS NOT NULL THEN
    PERFORM analysis.audit_write('add_clinic', 'clinic:' || v_clinic);
  END IF;
  RETURN v_clinic IS NOT NULL;
END $$;
COMMENT ON FUNCTION analysis.add_clinic IS
  'Adds a clinic; answers whether it is new.';

-- The width and height of a JPEG, from the head of its frame; NULL for what is none.
CREATE OR REPLACE FUNCTION analysis.jpeg_size(p_bytes bytea, OUT o_width int, OUT o_height int)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_at int := 2;
  v_marker int;
BEGIN
  IF substr(p_bytes, 1, 3) <> '\xffd8ff' OR substr(p_bytes, octet_length(p_bytes) - 1) <> '\xffd9' THEN
    RETURN;
  END IF;
  WHILE v_at + 9 <= octet_length(p_bytes) AND get_byte(p_bytes, v_at) = 255 LOOP
    v_marker := get_byte(p_bytes, v_at + 1);
    IF v_marker BETWEEN 192 AND 207 AND v_marker NOT IN (196, 200, 204) THEN
      o_height := nullif(get_byte(p_bytes, v_at + 5) * 256 + get_byte(p_bytes, v_at + 6), 0);
      o_width := nullif(get_byte(p_bytes, v_at + 7) * 256 + get_byte(p_bytes, v_at + 8), 0);
      RETURN;
    END IF;
    v_at := v_at + 2 + get_byte(p_bytes, v_at + 2) * 256 + get_byte(p_bytes, v_at + 3);
  END LOOP;
END $$;

-- Keeps a logo, and answers its hash; NULL for no bytes.
CREATE OR REPLACE FUNCTION analysis.keep_logo(p_bytes bytea) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
  v_width int;
  v_height int;
BEGIN
  IF coalesce(octet_length(p_bytes), 0) = 0 THEN
    RETURN NULL;
  END IF;
  PERFORM analysis.require_argument(
    octet_length(p_bytes) <= 262144, 'a clinic''s logo has at most 262144 bytes');
  SELECT s.o_width, s.o_height INTO v_width, v_height FROM analysis.jpeg_size(p_bytes) s;
  PERFORM analysis.require_argument(
    v_width > 0 AND v_height > 0, 'a clinic''s logo is a JPEG, as analysisctl clinics set --logo makes it');
  INSERT INTO analysis.logo (sha256, width, height, bytes)
  VALUES (sha256(p_bytes), v_width, v_height, p_bytes) ON CONFLICT (sha256) DO NOTHING;
  RETURN sha256(p_bytes);
END $$;

-- Sets what is known of a clinic, all of it or nothing: NULL leaves a thing as it is, and an empty text, or a
-- logo without bytes, removes it. A logo that neither a clinic nor a closed month has any more is removed.
CREATE OR REPLACE FUNCTION analysis.set_clinic(
  p_clinic text, p_clinic_kind text, p_address text, p_product text, p_logo bytea, p_pharmacy_logo bytea)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_clinic int;
  v_logo bytea;
  v_pharmacy_logo bytea;
BEGIN
  PERFORM analysis.require_unrestricted();
  PERFORM analysis.require_argument(
    (p_clinic_kind IN ('clinic', 'pharmacy', 'both')) IS NOT FALSE,
    'a clinic''s kind is clinic, pharmacy or both');
  PERFORM analysis.require_argument(
    (length(p_address) <= 1000 AND (p_address = '' OR replace(p_address, E'\n', '') !~
      analysis.hidden_characters() AND p_address ~ '^([^\n]{1,100}\n){0,9}[^\n]{1,100}$')) IS NOT FALSE,
    'a clinic''s address has 1 to 10 lines of 1 to 100 characters, and none that cannot be seen');
  PERFORM analysis.require_argument(
    (p_product = '' OR p_product ~ '^[a-z0-9][a-z0-9_-]{0,59}$') IS NOT FALSE,
    'a product''s name has 1 to 60 small letters, digits, _ and -, and begins with a letter or digit');
  IF num_nonnulls(p_logo, p_pharmacy_logo) > 0 THEN
    -- One at a time, or another could remove the logo that this one is about to use.
    LOCK TABLE analysis.logo IN SHARE ROW EXCLUSIVE MODE;
    v_logo := analysis.keep_logo(p_logo);
    v_pharmacy_logo := analysis.keep_logo(p_pharmacy_logo);
  END IF;
  UPDATE analysis.clinic c
  SET kind = coalesce(p_clinic_kind, c.kind),
      address = CASE WHEN p_address IS NULL THEN c.address ELSE nullif(p_address, '') END,
      product = CASE WHEN p_product IS NULL THEN c.product ELSE nullif(p_product, '') END,
      logo = CASE WHEN p_logo IS NULL THEN c.logo ELSE v_logo END,
      pharmacy_logo = CASE WHEN p_pharmacy_logo IS NULL THEN c.pharmacy_logo ELSE v_pharmacy_logo END
  WHERE c.name = normalize(p_clinic)
  RETURNING c.id INTO v_clinic;
  IF v_clinic IS NULL THEN
    RAISE EXCEPTION 'no clinic is called %', left(p_clinic, 100) USING ERRCODE = '22023';
  END IF;
  DELETE FROM analysis.logo l
  WHERE num_nonnulls(p_logo, p_pharmacy_logo) > 0
    AND NOT EXISTS (SELECT FROM analysis.clinic c WHERE l.sha256 IN (c.logo, c.pharmacy_logo))
    AND NOT EXISTS (SELECT FROM analysis.statement_clinic s WHERE l.sha256 IN (s.logo, s.pharmacy_logo));
  PERFORM analysis.audit_add('set_clinic', 'clinic:' || v_clinic, jsonb_strip_nulls(jsonb_build_object(
    'kind', p_clinic_kind, 'product', p_product,
    'address', CASE WHEN p_address IS NOT NULL THEN 'changed' END,
    'logo', CASE WHEN p_logo IS NOT NULL THEN coalesce(encode(v_logo, 'hex'), 'none') END,
    'pharmacy_logo',
    CASE WHEN p_pharmacy_logo IS NOT NULL THEN coalesce(encode(v_pharmacy_logo, 'hex'), 'none') END)));
END $$;
COMMENT ON FUNCTION analysis.set_clinic IS
  'Sets the kind, address, product and logos of a clinic.';

-- A clinic, or every one (NULL), by the bytes of its name, with what is known of it and the number of those
-- of its users whom the caller sees.
CREATE OR REPLACE FUNCTION analysis.clinics_shown(p_clinic text)
RETURNS TABLE (
  o_clinic int, o_name text, o_kind text, o_address text, o_product text, o_users int, o_logo text,
  o_logo_width int, o_logo_height int, o_pharmacy_logo text, o_pharmacy_logo_width int,
  o_pharmacy_logo_height int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_shard smallint[] := ARRAY(SELECT h.o_shard FROM analysis.all_shards() h);
BEGIN
  RETURN QUERY
  SELECT c.id, c.name, c.kind, c.address, c.product, n.users::int, encode(c.logo, 'hex'),
    l.width, l.height, encode(c.pharmacy_logo, 'hex'), f.width, f.height
  FROM analysis.clinic c
  LEFT JOIN analysis.logo l ON l.sha256 = c.logo
  LEFT JOIN analysis.logo f ON f.sha256 = c.pharmacy_logo
  -- By the index of a clinic's users, clinic after clinic: a third of the time of grouping all accounts.
  CROSS JOIN LATERAL (
    SELECT count(*) AS users
    FROM analysis.account a
    WHERE a.shard = ANY (v_shard) AND a.clinic_id = c.id AND (v_seen IS NULL OR c.id = ANY (v_seen))
    OFFSET 0) n
  WHERE p_clinic IS NULL OR c.name = normalize(p_clinic)
  ORDER BY c.name COLLATE "C";
END $$;
COMMENT ON FUNCTION analysis.clinics_shown IS
  'Answers the clinics with what is known of them.';

-- The bytes of a logo, by its hash; NULL: there is none.
CREATE OR REPLACE FUNCTION analysis.logo_bytes(p_sha256 text) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT l.bytes FROM analysis.logo l
  WHERE CASE WHEN p_sha256 ~ '^[0-9a-f]{64}$' THEN l.sha256 = decode(p_sha256, 'hex') END
$$;
COMMENT ON FUNCTION analysis.logo_bytes IS
  'Answers the bytes of a clinic''s logo.';

-- Gives a user to a clinic, or to none (NULL); false if there is no such user.
CREATE OR REPLACE FUNCTION analysis.assign_clinic(p_shard smallint, p_user text, p_clinic text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_clinic int := (SELECT c.id FROM analysis.clinic c WHERE c.name = normalize(p_clinic));
  v_user bigint;
BEGIN
  IF p_clinic IS NOT NULL AND v_clinic IS NULL THEN
    RAISE EXCEPTION 'no clinic is called %', left(p_clinic, 100) USING ERRCODE = '22023';
  END IF;
  PERFORM analysis.require_unrestricted();
  UPDATE analysis.account a SET clinic_id = v_clinic
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL
  RETURNING a.user_id INTO v_user;
  IF v_user IS NULL THEN
    RETURN false;
  END IF;
  PERFORM analysis.audit_add('assign_clinic', 'user:' || v_user, jsonb_build_object('clinic', v_clinic));
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.assign_clinic IS
  'Gives a user to a clinic, or to none.';

-- The numbers of clinics by their names, in order. Called by functions alone, whose settings hold.
CREATE OR REPLACE FUNCTION analysis.clinics_named(p_clinics text[]) RETURNS int[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_unknown text;
BEGIN
  PERFORM analysis.require_argument(
    cardinality(p_clinics) <= 1000 AND analysis.is_list(p_clinics, cardinality(p_clinics))
      AND NOT EXISTS (SELECT FROM unnest(p_clinics) g(name) WHERE g.name IS NULL),
    'a call may name at most 1000 clinics');
  v_unknown := (
    SELECT min(g.name) FROM unnest(p_clinics) g(name)
    WHERE NOT EXISTS (SELECT FROM analysis.clinic c WHERE c.name = normalize(g.name)));
  IF v_unknown IS NOT NULL THEN
    RAISE EXCEPTION 'no clinic is called %', left(v_unknown, 100) USING ERRCODE = '22023';
  END IF;
  RETURN ARRAY(SELECT c.id FROM analysis.clinic c
  WHERE c.name IN (SELECT normalize(g.name) FROM unnest(p_clinics) g(name)) ORDER BY c.id);
END $$;

-- Has a role see the users of clinics, beside those that it has seen; from the first time on it sees no
-- others.
CREATE OR REPLACE FUNCTION analysis.grant_clinics(p_role name, p_clinics text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_role pg_roles;
  v_clinics int[];
BEGIN
  SELECT r.* INTO v_role FROM pg_roles r WHERE r.rolname = p_role;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no role %', p_role USING ERRCODE = '22023';
  ELSIF v_role.rolsuper OR v_role.rolbypassrls OR pg_has_role(v_role.oid, current_user, 'USAGE') THEN
    RAISE EXCEPTION 'role % is a superuser or owns the schema: no clinic restricts it', p_role
    USING ERRCODE = '22023';
  END IF;
  PERFORM analysis.require_unrestricted();
  v_clinics := analysis.clinics_named(p_clinics);
  PERFORM analysis.audit_add(
    'grant_clinics', 'role:' || p_role, jsonb_build_object('clinics', to_jsonb(p_clinics)));
  INSERT INTO analysis.clinic_viewer AS v (role, role_id, clinic_ids)
  VALUES (p_role, v_role.oid, v_clinics)
  ON CONFLICT (role) DO UPDATE
    SET role_id = EXCLUDED.role_id,
        clinic_ids = ARRAY(SELECT unnest(v.clinic_ids) UNION SELECT unnest(EXCLUDED.clinic_ids) ORDER BY 1);
END $$;
COMMENT ON FUNCTION analysis.grant_clinics IS
  'Has a login see the users of some clinics, and of no others.';

-- Has a role see the users of clinics no more; one from which the last is taken sees nobody. False if it
-- was not restricted.
CREATE OR REPLACE FUNCTION analysis.revoke_clinics(p_role name, p_clinics text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  v_clinics int[] := analysis.clinics_named(p_clinics);
BEGIN
  PERFORM analysis.require_unrestricted();
  UPDATE analysis.clinic_viewer v
  SET clinic_ids = ARRAY(SELECT unnest(v.clinic_ids) EXCEPT SELECT unnest(v_clinics) ORDER BY 1)
  WHERE v.role = p_role;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM analysis.audit_add(
    'revoke_clinics', 'role:' || p_role, jsonb_build_object('clinics', to_jsonb(p_clinics)));
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.revoke_clinics IS
  'Has a login see the users of some clinics no more.';

-- Has a role see the users of all clinics and of none again; false if it was not restricted.
CREATE OR REPLACE FUNCTION analysis.lift_clinics(p_role name) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM analysis.require_unrestricted();
  DELETE FROM analysis.clinic_viewer v WHERE v.role = p_role;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM analysis.audit_add('lift_clinics', 'role:' || p_role, NULL);
  RETURN true;
END $$;
COMMENT ON FUNCTION analysis.lift_clinics IS
  'Has a login see the users of all clinics again.';

-- Every clinic with the number of its users, by the bytes of its name.
CREATE OR REPLACE FUNCTION analysis.list_clinics() RETURNS TABLE (o_clinic int, o_name text, o_users int)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.id, c.name, coalesce(n.users, 0)::int
  FROM analysis.clinic c
  LEFT JOIN (
    SELECT a.clinic_id, count(*) AS users
    FROM analysis.account a
    WHERE a.clinic_id IS NOT NULL
    GROUP BY a.clinic_id) n ON n.clinic_id = c.id
  ORDER BY c.name COLLATE "C"
$$;
COMMENT ON FUNCTION analysis.list_clinics IS
  'Answers the clinics with the number of their users.';

-- What the users of each clinic have used of the running month, by UTC, and those with anchors of their
-- present period: the 100 clinics that have used most.
-- Of users whom the caller does not see nothing is counted.
CREATE OR REPLACE FUNCTION analysis.clinic_usage()
RETURNS TABLE (
  o_clinic text, o_users int, o_used bigint, o_refused bigint, o_kind text, o_logo text, o_pharmacy_logo text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
  v_period smallint := analysis.period_of(clock_timestamp(), 'UTC');
BEGIN
  RETURN QUERY
  SELECT c.name, coalesce(n.users, 0)::int, coalesce(n.used, 0)::bigint, coalesce(n.refused, 0)::bigint,
    c.kind, encode(c.logo, 'hex'), encode(c.pharmacy_logo, 'hex')
  FROM analysis.clinic c
  LEFT JOIN (
    SELECT a.clinic_id, count(*) AS users, sum(u.used) AS used, sum(u.refused) AS refused
    FROM analysis.account a
    LEFT JOIN analysis.usage u ON u.shard = a.shard AND u.user_id = a.user_id
      AND u.period = CASE WHEN a.anchors IS NULL THEN v_period
        ELSE analysis.period_at(clock_timestamp(), a.zone, a.anchors) END
    WHERE a.clinic_id IS NOT NULL AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))
    GROUP BY a.clinic_id) n ON n.clinic_id = c.id
  ORDER BY 3 DESC, c.name COLLATE "C"
  LIMIT 100;
END $$;
COMMENT ON FUNCTION analysis.clinic_usage IS
  'Answers what the users of each clinic have used of the running month.';

-- The roles that are restricted to clinics, with the names of those that they see.
CREATE OR REPLACE FUNCTION analysis.list_clinic_viewers() RETURNS TABLE (o_role text, o_clinics text[])
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT v.role::text,
    ARRAY(
      SELECT c.name
      FROM analysis.clinic c
      WHERE c.id = ANY (v.clinic_ids)
      ORDER BY c.name COLLATE "C")
  FROM analysis.clinic_viewer v
  ORDER BY v.role::text COLLATE "C"
$$;
COMMENT ON FUNCTION analysis.list_clinic_viewers IS
  'Answers the logins that see some clinics only.';
