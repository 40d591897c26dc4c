-- Who is logged in, and the same as SQL writes it; with what the names of this installation's roles begin;
-- which of them the login has; whose rights it has only when it acts as them (NOINHERIT); and other logins
-- that have a role, a few of each, as ROLE=LOGIN. Every login may read this.
SELECT current_user::text AS login, pg_catalog.quote_ident(current_user) AS quoted, p.prefix,
       ARRAY(
         SELECT r.rolname::text
           FROM pg_catalog.pg_roles r
          WHERE pg_catalog.starts_with(r.rolname, p.prefix || '_')
            AND pg_catalog.pg_has_role(current_user, r.oid, 'USAGE')) AS roles,
       ARRAY(
         SELECT r.rolname::text
           FROM pg_catalog.pg_roles r
          WHERE pg_catalog.starts_with(r.rolname, p.prefix || '_')
            AND pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER')
            AND NOT pg_catalog.pg_has_role(current_user, r.oid, 'USAGE')) AS dormant,
       ARRAY(
         SELECT r.rolname || '=' || pg_catalog.quote_ident(o.rolname)
           FROM pg_catalog.pg_roles r
          CROSS JOIN LATERAL (
                SELECT l.rolname
                  FROM pg_catalog.pg_auth_members m
                  JOIN pg_catalog.pg_roles l ON l.oid = m.member
                 WHERE m.roleid = r.oid AND l.rolcanlogin AND NOT l.rolsuper AND l.rolname <> current_user
                   AND pg_catalog.pg_has_role(l.oid, r.oid, 'USAGE')
                 ORDER BY l.rolname
                 LIMIT 3) o
          WHERE pg_catalog.starts_with(r.rolname, p.prefix || '_') AND NOT r.rolcanlogin
          ORDER BY r.rolname, o.rolname) AS others
  FROM (
       SELECT coalesce((
         SELECT pg_catalog.substring(pg_catalog.pg_get_userbyid(n.nspowner)::text, '^(.+)_owner$')
           FROM pg_catalog.pg_namespace n
          WHERE n.nspname = 'analysis'), 'analysis') AS prefix) p
