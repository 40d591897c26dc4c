-- Who sees which persons: clinics and the rules of the rows. And what was removed of persons when it was old
-- enough.

-- The roles that see the users of some clinics only, of none if the list is empty. A role that is not here,
-- and is in no role that is, sees all. The number is kept beside the name, so that to rename a role lifts no
-- restriction.
CREATE TABLE analysis.clinic_viewer (
  role       name PRIMARY KEY,
  role_id    oid NOT NULL,
  clinic_ids int[] NOT NULL);

-- The clinics to whose users a role is restricted; NULL: it is not. An entry is of the role that has its
-- name. Roles' numbers change when a dump is restored, and names when somebody changes them: an entry whose
-- name nobody has counts for the role that has its number, but only where it restricts one that no entry
-- names. So a number that has become another role's never shows anybody more, and to rename a role lifts no
-- restriction.
CREATE FUNCTION analysis.clinics_of(p_role name) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
  WHERE h.is_named OR NOT EXISTS (SELECT FROM held x WHERE x.is_named)
$$;

-- The clinics that a session sees which acts as a role; NULL: all. The role that logged in counts too: a
-- restricted role that takes on another of its roles sees no more by it.
CREATE FUNCTION analysis.clinics_seen(p_role name) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE WHEN o.seen IS NULL THEN s.seen WHEN s.seen IS NULL THEN o.seen
              ELSE ARRAY(SELECT unnest(o.seen) INTERSECT SELECT unnest(s.seen)) END
  FROM (SELECT analysis.clinics_of(p_role) AS seen) o
  CROSS JOIN (SELECT analysis.clinics_of(session_user) AS seen) s
$$;
COMMENT ON FUNCTION analysis.clinics_seen IS
  'Answers which clinics a login sees; NULL: all.';

-- The users of these clinics; no row for a role that is not restricted, and none for a role that is not the
-- session's own.
CREATE FUNCTION analysis.users_seen(p_role name) RETURNS TABLE (o_shard smallint, o_user bigint)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT a.shard, a.user_id
  FROM analysis.account a
  WHERE a.clinic_id = ANY ((SELECT analysis.clinics_seen(p_role))::int[])
    AND p_role IN (session_user, nullif(current_setting('role'), 'none'))
$$;
COMMENT ON FUNCTION analysis.users_seen IS
  'Answers the users whom this login sees.';

-- What a role sees row by row. Each test is a sub-select that depends on no row: it runs once a statement,
-- and reads users only for a restricted role. The owner's functions, and with them the queue, are not
-- concerned.
ALTER TABLE analysis.account ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.account FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL
  OR clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user))));

DO $$
DECLARE
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY[
    'account_plan', 'profile', 'usage', 'refund', 'result', 'dead', 'attempt_error', 'statement_line'] LOOP
    EXECUTE format('ALTER TABLE analysis.%I ENABLE ROW LEVEL SECURITY', v_table);
    EXECUTE format(
      'CREATE POLICY clinic ON analysis.%I FOR SELECT USING ('
      '(SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN '
      '(SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u))', v_table);
  END LOOP;
END $$;

-- Months of which results or jobs have been removed: nothing can be recounted from what is left of them.
-- Their usage was stated before.
CREATE TABLE analysis.purged_month (
  period     smallint PRIMARY KEY CHECK (period BETWEEN 24000 AND 32399),
  since      timestamptz NOT NULL,      -- when the first of them was removed
  dropped_at timestamptz);              -- when the month was removed as a whole; NULL: not yet
