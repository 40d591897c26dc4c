-- From here to the end of the transaction nothing is done with more rights than the schema's owner has.
DO $$
DECLARE
  v_owner oid := (SELECT n.nspowner FROM pg_catalog.pg_namespace n WHERE n.nspname = 'analysis');
BEGIN
  EXECUTE pg_catalog.format('SET LOCAL ROLE %I', pg_catalog.pg_get_userbyid(v_owner));
END $$;
