-- Whether there is the schema's owner, and this session may act as that role.
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_roles r
   WHERE r.rolname = 'analysis_owner' AND pg_catalog.pg_has_role(current_user, r.oid, 'USAGE'))
