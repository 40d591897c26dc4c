-- One migrator at a time; held until the transaction ends, so that a pooler does no harm. Nobody but the
-- owner and superusers can take these locks, and whoever reads or writes does not wait for them: that of the
-- table, or, before there is the table, that of the schema, which a comment takes.
DO $$
BEGIN
  IF pg_catalog.to_regclass('analysis.schema_migration') IS NULL
     AND pg_catalog.pg_has_role(
       current_user, (SELECT n.nspowner FROM pg_catalog.pg_namespace n WHERE n.nspname = 'analysis'), 'USAGE')
  THEN
    COMMENT ON SCHEMA analysis IS 'Jobs, results and reports of analyses';
  END IF;
  IF pg_catalog.has_table_privilege(pg_catalog.to_regclass('analysis.schema_migration')::oid, 'UPDATE') THEN
    LOCK TABLE analysis.schema_migration IN SHARE UPDATE EXCLUSIVE MODE;
  END IF;
END $$;
