-- Makes the roles and the schema, and gives to the schema's owner what is not the owner's, as after a dump
-- was restored without owners. It runs as the role that migrates, perhaps a superuser: so it calls and reads
-- nothing but the server's own, under a fixed search path. All that comes after runs as the schema's owner.
--
-- The roles' names begin with analysis.role_prefix, which the migrator sets; without it, with `analysis`. An
-- installation keeps the prefix of its first migration: its schema belongs to PREFIX_owner.
DO $$
DECLARE
  v_asked text := nullif(pg_catalog.current_setting('analysis.role_prefix', true), '');
  v_prefix text;
  v_groups text[];
  v_owner_name text;
  v_needed text[] := '{}';
  v_others text;
  -- Acting as the owner is enough, with or without having its rights all the time (NOINHERIT).
  v_acting text := CASE WHEN pg_catalog.current_setting('server_version_num')::int < 160000
    THEN 'MEMBER' ELSE 'SET' END;
  v_role text;
  v_change text;
  v_owner oid;
  v_schema pg_catalog.pg_namespace;
BEGIN
  IF pg_catalog.current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the encoding of database % is %, which cannot hold all names; it has to be UTF8',
      pg_catalog.current_database(), pg_catalog.current_setting('server_encoding')
      USING ERRCODE = 'invalid_parameter_value',
        HINT = 'Make the database anew: createdb --encoding UTF8 --template template0.';
  END IF;
  SELECT n.* INTO v_schema FROM pg_catalog.pg_namespace n WHERE n.nspname = 'analysis';
  SELECT pg_catalog.regexp_replace(r.rolname, '_owner$', '') INTO v_prefix
  FROM pg_catalog.pg_roles r
  WHERE r.oid = v_schema.nspowner AND r.rolname ~ '._owner$' AND EXISTS (
    SELECT FROM pg_catalog.pg_class c
    WHERE c.relnamespace = v_schema.oid AND c.relname = 'schema_migration'
      AND c.relowner = v_schema.nspowner);
  IF v_asked <> v_prefix THEN
    RAISE EXCEPTION 'the roles of this installation begin with %_ since its first migration', v_prefix
      USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave --role-prefix out.';
  END IF;
  v_prefix := coalesce(v_prefix, v_asked, 'analysis');
  IF v_prefix !~ '^[a-z][a-z0-9_]{0,39}$' THEN
    RAISE EXCEPTION 'the prefix of roles is 1 to 40 small letters, digits and _, and begins with a letter'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  v_owner_name := v_prefix || '_owner';
  v_groups := ARRAY(
    SELECT v_prefix || '_' || pg_catalog.unnest(ARRAY[
      'owner', 'submitter', 'worker', 'reporter', 'clinician', 'reviewer', 'operator', 'administrator',
      'auditor', 'privacy', 'retention', 'gateway']));

  -- Roles belong to the whole cluster, and the migrations of several of its databases may make them at the
  -- same moment: that somebody else made one first is no fault. What only an administrator can do is asked
  -- for once, all of it.
  FOREACH v_role IN ARRAY v_groups LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = v_role);
    BEGIN
      EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', v_role);
    EXCEPTION
      -- The last is how the server tells of a row of the cluster's own that two changed at once.
      WHEN duplicate_object OR unique_violation OR internal_error THEN
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = v_role) THEN
          RAISE;
        END IF;
      WHEN insufficient_privilege THEN
        v_needed := v_needed || pg_catalog.format('CREATE ROLE %I NOLOGIN;', v_role);
    END;
  END LOOP;

  -- Who migrates acts as the owner, now and in the migrations to come.
  IF pg_catalog.cardinality(v_needed) = 0
     AND NOT pg_catalog.pg_has_role(current_user, v_owner_name, v_acting) THEN
    BEGIN
      EXECUTE pg_catalog.format('GRANT %I TO %I', v_owner_name, current_user);
    EXCEPTION
      WHEN unique_violation OR internal_error OR insufficient_privilege THEN NULL;
    END;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = v_owner_name
                 AND pg_catalog.pg_has_role(current_user, r.oid, v_acting)) THEN
    -- Of an installation that is there the upgrades are the work of those who have them already.
    IF v_schema.oid IS NOT NULL THEN
      SELECT pg_catalog.string_agg(pg_catalog.quote_ident(r.rolname), ', ' ORDER BY r.rolname) INTO v_others
      FROM pg_catalog.pg_roles r
      JOIN pg_catalog.pg_auth_members m ON m.member = r.oid
      JOIN pg_catalog.pg_roles o ON o.oid = m.roleid AND o.rolname = v_owner_name
      WHERE r.rolcanlogin AND NOT r.rolsuper;
      RAISE EXCEPTION 'role % may not act as the owner of the schema', current_user
        USING ERRCODE = 'insufficient_privilege',
          HINT = 'Who may: ' || coalesce(v_others, 'a superuser') || '.';
    END IF;
    v_needed := v_needed || pg_catalog.format('GRANT %I TO %I;', v_owner_name, current_user);
  END IF;
  IF v_schema.oid IS NULL
    AND NOT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') THEN
    v_needed := v_needed
      || pg_catalog.format('GRANT CREATE ON DATABASE %I TO %I;', pg_catalog.current_database(), current_user);
  END IF;
  IF pg_catalog.cardinality(v_needed) > 0 THEN
    RAISE EXCEPTION 'role % may not make the roles of the schema, or may not act as their owner', current_user
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'An administrator has to run once: ' || pg_catalog.array_to_string(v_needed, ' ')
          || ' Then migrate again.';
  END IF;

  v_owner := (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = v_owner_name);
  IF v_schema.oid IS NULL THEN
    BEGIN
      EXECUTE pg_catalog.format('CREATE SCHEMA analysis AUTHORIZATION %I', v_owner_name);
    EXCEPTION WHEN duplicate_schema OR unique_violation THEN
      NULL;                            -- another migrator made it meanwhile
    END;
  ELSIF v_schema.nspowner NOT IN (
    v_owner, (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)) THEN
    RAISE EXCEPTION 'the schema analysis belongs to role %, and not to %',
      pg_catalog.pg_get_userbyid(v_schema.nspowner), v_owner_name
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'If it is this product''s, an administrator has to run once: ALTER SCHEMA analysis OWNER TO '
          || v_owner_name || '; if not, drop or rename it.';
  END IF;

  -- The schema first: who is to own a table in it has to be allowed to make one there.
  FOR v_change IN
    SELECT pg_catalog.format('ALTER %s OWNER TO %I', s.what, v_owner_name) FROM (
      SELECT 1 AS turn, 'SCHEMA analysis' AS what, n.nspowner AS owner
      FROM pg_catalog.pg_namespace n WHERE n.nspname = 'analysis'
      UNION ALL
      -- Sequences that belong to a column go with its table.
      SELECT 2, pg_catalog.format('%s analysis.%I', CASE c.relkind
               WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                 ELSE 'TABLE' END,
             c.relname),
             c.relowner
      FROM pg_catalog.pg_class c
      WHERE c.relnamespace = v_schema.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
        AND NOT EXISTS (
          SELECT FROM pg_catalog.pg_depend d
          WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
            AND d.deptype IN ('a', 'i')
            AND c.relkind = 'S')
      UNION ALL
      SELECT 2, pg_catalog.format('ROUTINE %s', p.oid::pg_catalog.regprocedure), p.proowner
      FROM pg_catalog.pg_proc p WHERE p.pronamespace = v_schema.oid
      UNION ALL
      SELECT 2, pg_catalog.format('TYPE analysis.%I', t.typname), t.typowner
      FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
      WHERE t.typnamespace = v_schema.oid AND (t.typtype IN ('d', 'e') OR c.relkind = 'c')) s
    WHERE s.owner <> v_owner AND pg_catalog.pg_has_role(current_user, s.owner, 'USAGE')
    ORDER BY s.turn, s.what
  LOOP
    EXECUTE v_change;
  END LOOP;

  -- Where the database is not open to everybody, its owner's functions could not tell its size.
  IF NOT pg_catalog.has_database_privilege(v_owner_name, pg_catalog.current_database(), 'CONNECT') THEN
    BEGIN
      EXECUTE pg_catalog.format(
        'GRANT CONNECT ON DATABASE %I TO %I', pg_catalog.current_database(), v_owner_name);
    EXCEPTION WHEN insufficient_privilege OR internal_error THEN
      RAISE WARNING 'an administrator has to run: GRANT CONNECT ON DATABASE % TO %',
        pg_catalog.quote_ident(pg_catalog.current_database()), v_owner_name;
    END;
  END IF;

  -- The logins of our own programs look for names in the server's own schema alone: a second wall behind
  -- statements that say where a name is. Submitters are left alone: they may be an application with tables of
  -- its own here.
  FOR v_change IN
    SELECT pg_catalog.format(
      'ALTER ROLE %I IN DATABASE %I SET search_path = pg_catalog, pg_temp', r.rolname, d.datname)
    FROM pg_catalog.pg_roles r
    JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()
    WHERE r.rolcanlogin AND NOT r.rolsuper AND NOT pg_catalog.pg_has_role(r.oid, v_owner, 'MEMBER')
      AND NOT pg_catalog.pg_has_role(r.oid, v_prefix || '_submitter', 'MEMBER')
      AND EXISTS (
        SELECT FROM pg_catalog.pg_roles g
        WHERE g.rolname = ANY (v_groups) AND pg_catalog.pg_has_role(r.oid, g.oid, 'MEMBER'))
      AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_db_role_setting s CROSS JOIN LATERAL pg_catalog.unnest(s.setconfig) c(item)
        WHERE s.setdatabase = d.oid AND s.setrole = r.oid AND c.item LIKE 'search\_path=%')
  LOOP
    BEGIN
      EXECUTE v_change;
    EXCEPTION WHEN insufficient_privilege OR internal_error OR undefined_object THEN
      NULL;                            -- the first wall stands without it; or the login is gone meanwhile
    END;
  END LOOP;
END $$;
