-- Whether this session may make logins.
SELECT r.rolsuper AS may_make_logins
  FROM pg_catalog.pg_roles r
 WHERE r.rolname = current_user
