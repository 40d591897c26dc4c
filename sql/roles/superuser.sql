-- Whether this session may make logins.
SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
