-- Who may do what: the roles, what was granted to others, and which clinics a role sees.

-- Roles belong to the whole cluster, and the migrations of several of its databases may make them at the same moment:
-- that somebody else made one first is no fault. What only an administrator can do is asked for once, all of it.
DO $$
DECLARE
  v_roles text[] := ARRAY['analysis_owner', 'analysis_submitter', 'analysis_worker', 'analysis_reporter', 'analysis_auditor'];
  v_role text;
  v_needed text[] := '{}';
BEGIN
  FOREACH v_role IN ARRAY v_roles LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.rolname = v_role);
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
    EXCEPTION
      -- The last is how the server tells of a row of the cluster's own that two changed at once.
      WHEN duplicate_object OR unique_violation OR internal_error THEN
        IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = v_role) THEN
          RAISE;
        END IF;
      WHEN insufficient_privilege THEN
        v_needed := v_needed || format('CREATE ROLE %I NOLOGIN;', v_role);
    END;
  END LOOP;

  -- Who gives the schema to the owner has to be one of its members, and stays one for the migrations to come.
  IF cardinality(v_needed) = 0 AND NOT pg_has_role(current_user, 'analysis_owner', 'USAGE') THEN
    BEGIN
      EXECUTE format('GRANT analysis_owner TO %I', current_user);
    EXCEPTION
      WHEN unique_violation OR internal_error OR insufficient_privilege THEN NULL;
    END;
  END IF;
  IF cardinality(v_needed) > 0 OR NOT pg_has_role(current_user, 'analysis_owner', 'USAGE') THEN
    v_needed := v_needed || format('GRANT analysis_owner TO %I;', current_user);
  END IF;
  IF NOT has_database_privilege(current_database(), 'CREATE') THEN
    v_needed := v_needed || format('GRANT CREATE ON DATABASE %I TO %I;', current_database(), current_user);
  END IF;
  IF cardinality(v_needed) > 0 THEN
    RAISE EXCEPTION 'role % may not make the roles of the schema, or may not give the schema to their owner', current_user
      USING ERRCODE = 'insufficient_privilege',
        HINT = 'An administrator has to run once: ' || array_to_string(v_needed, ' ') || ' Then migrate again.';
  END IF;
END $$;

-- Which duties roles were given beside the five: each migration gives them what is new in a duty.
CREATE TABLE analysis.duty_granted (
  role name NOT NULL,
  duty text NOT NULL CHECK (duty ~ '^[a-z]{1,60}$'),
  PRIMARY KEY (role, duty));

-- Those of before were not written down. A role had a duty when it might do what nobody without the duty might.
INSERT INTO analysis.duty_granted (role, duty)
SELECT r.rolname, CASE p.proname WHEN 'claim' THEN 'worker' ELSE 'submitter' END
FROM pg_proc p
CROSS JOIN LATERAL aclexplode(p.proacl) x
JOIN pg_roles r ON r.oid = x.grantee
WHERE p.pronamespace = 'analysis'::regnamespace AND p.proname IN ('claim', 'submit') AND x.grantee <> p.proowner
UNION
SELECT r.rolname, 'reader'
FROM pg_class c
CROSS JOIN LATERAL aclexplode(c.relacl) x
JOIN pg_roles r ON r.oid = x.grantee
WHERE c.oid = 'analysis.batch'::regclass AND x.privilege_type = 'SELECT' AND x.grantee <> c.relowner
  AND NOT EXISTS (
    SELECT FROM pg_proc p
    CROSS JOIN LATERAL aclexplode(p.proacl) y
    WHERE p.pronamespace = 'analysis'::regnamespace AND p.proname = 'claim' AND y.grantee = r.oid);

-- Whose patient a user is. A few rows; they belong to no shard.
CREATE TABLE analysis.clinic (
  id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'),
  created_at timestamptz NOT NULL DEFAULT now());

ALTER TABLE analysis.account ADD COLUMN clinic_id int REFERENCES analysis.clinic (id);   -- NULL: of none

-- The roles that see the users of some clinics only, of none if the list is empty. A role that is not here, and is in
-- no role that is, sees all. The number is kept beside the name, so that to rename a role lifts no restriction.
CREATE TABLE analysis.clinic_viewer (
  role       name PRIMARY KEY,
  role_id    oid NOT NULL,
  clinic_ids int[] NOT NULL);

-- The clinics to whose users a role is restricted; NULL: it is not.
CREATE FUNCTION analysis.clinics_of(p_role name) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN count(*) > 0 THEN coalesce(array_agg(DISTINCT c.id) FILTER (WHERE c.id IS NOT NULL), '{}') END
  FROM pg_roles p
  CROSS JOIN analysis.clinic_viewer v
  JOIN pg_roles g ON g.rolname = v.role OR g.oid = v.role_id
  LEFT JOIN LATERAL unnest(v.clinic_ids) c(id) ON true
  WHERE p.rolname = p_role AND NOT p.rolsuper AND NOT p.rolbypassrls AND pg_has_role(p.oid, g.oid, 'MEMBER')
    AND NOT pg_has_role(p.oid, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'analysis'), 'USAGE')
$$;

-- The clinics that a session sees which acts as a role; NULL: all. Who has logged in counts too: a restricted role that
-- takes on another of its roles sees no more by it.
CREATE FUNCTION analysis.clinics_seen(p_role name) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN o.seen IS NULL THEN s.seen WHEN s.seen IS NULL THEN o.seen
              ELSE ARRAY(SELECT unnest(o.seen) INTERSECT SELECT unnest(s.seen)) END
  FROM (SELECT analysis.clinics_of(p_role) AS seen) o
  CROSS JOIN (SELECT analysis.clinics_of(session_user) AS seen) s
$$;

-- The users of these clinics; no row for a role that is not restricted.
CREATE FUNCTION analysis.users_seen(p_role name) RETURNS TABLE (o_shard smallint, o_user bigint)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.shard, a.user_id FROM analysis.account a WHERE a.clinic_id = ANY ((SELECT analysis.clinics_seen(p_role))::int[])
$$;

-- What a role sees row by row. Each test is a sub-select that hangs on no row: it is asked once a statement, and of the
-- users nothing is read unless the role is restricted. The owner's functions, and with them the queue, are not concerned.
ALTER TABLE analysis.account ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.account FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user))));

DO $$
DECLARE
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY[
    'account_plan', 'profile', 'usage', 'refund', 'result', 'dead', 'attempt_error', 'statement_line'] LOOP
    EXECUTE format('ALTER TABLE analysis.%I ENABLE ROW LEVEL SECURITY', v_table);
    EXECUTE format(
      'CREATE POLICY clinic ON analysis.%I FOR SELECT USING ('
      '(SELECT analysis.clinics_seen(current_user)) IS NULL'
      ' OR (shard, user_id) IN (SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u))', v_table);
  END LOOP;
END $$;
