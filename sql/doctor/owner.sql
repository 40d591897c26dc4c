-- Whether this role may do everything in the schema.
SELECT pg_has_role(current_user, n.nspowner, 'USAGE') FROM pg_namespace n WHERE n.nspname = 'analysis'
