-- The logins that have roles of this installation, and those that are named in $2, with the roles of $1 that
-- each has. Superusers have all roles and are answered where they are named alone.
SELECT l.rolname::text AS login, l.rolsuper AS is_superuser,
       ARRAY(
         SELECT r.rolname::text
           FROM pg_catalog.pg_roles r
          WHERE r.rolname = ANY ($1) AND pg_catalog.pg_has_role(l.oid, r.oid, 'USAGE')) AS roles
  FROM pg_catalog.pg_roles l
 WHERE l.rolname = ANY ($2)
    OR pg_catalog.cardinality($2) = 0 AND l.rolcanlogin AND NOT l.rolsuper AND EXISTS (
         SELECT FROM pg_catalog.pg_roles r
          WHERE r.rolname = ANY ($1) AND pg_catalog.pg_has_role(l.oid, r.oid, 'USAGE'))
 ORDER BY 1
