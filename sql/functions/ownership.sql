-- To whom the schema belongs.

-- Gives what is in the schema to analysis_owner, as far as the caller may: its functions run with their owner's rights, and
-- these are to be rights in this schema and no others. Called after every step of a migration, so that what a step makes
-- is the owner's from the first moment.
CREATE OR REPLACE FUNCTION analysis.settle_ownership() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_owner oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = 'analysis_owner');
  v_schema oid := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = 'analysis');
  v_change text;
BEGIN
  IF v_owner IS NULL THEN
    RETURN;
  END IF;
  -- The schema first: who is to own a table in it has to be allowed to make one there.
  FOR v_change IN
    SELECT o.change FROM (
      SELECT 1 AS turn, 'SCHEMA analysis' AS what, n.nspowner AS owner FROM pg_namespace n WHERE n.oid = v_schema
      UNION ALL
      -- Sequences that belong to a column go with its table.
      SELECT 2, format('%s analysis.%I', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                                                        ELSE 'TABLE' END, c.relname), c.relowner
      FROM pg_class c
      WHERE c.relnamespace = v_schema AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
        AND NOT EXISTS (
          SELECT FROM pg_depend d
          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i') AND c.relkind = 'S')
      UNION ALL
      SELECT 2, format('ROUTINE %s', p.oid::regprocedure), p.proowner FROM pg_proc p WHERE p.pronamespace = v_schema
      UNION ALL
      SELECT 2, format('TYPE analysis.%I', t.typname), t.typowner
      FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
      WHERE t.typnamespace = v_schema AND (t.typtype IN ('d', 'e') OR c.relkind = 'c')) s
    CROSS JOIN LATERAL (SELECT format('ALTER %s OWNER TO analysis_owner', s.what) AS change) o
    WHERE s.owner <> v_owner AND pg_has_role(current_user, s.owner, 'USAGE')
    ORDER BY s.turn, s.what
  LOOP
    EXECUTE v_change;
  END LOOP;
END $$;
