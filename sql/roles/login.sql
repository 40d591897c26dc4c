-- Who is logged in, as SQL writes it; with what the names of this installation's roles begin; and which of
-- them the login has. Every login may read this.
SELECT pg_catalog.quote_ident(current_user) AS login, p.prefix,
       ARRAY(
         SELECT r.rolname::text
           FROM pg_catalog.pg_roles r
          WHERE pg_catalog.starts_with(r.rolname, p.prefix || '_')
            AND pg_catalog.pg_has_role(current_user, r.oid, 'USAGE')) AS roles
  FROM (
       SELECT coalesce((
         SELECT pg_catalog.substring(pg_catalog.pg_get_userbyid(n.nspowner)::text, '^(.+)_owner$')
           FROM pg_catalog.pg_namespace n
          WHERE n.nspname = 'analysis'), 'analysis') AS prefix) p
