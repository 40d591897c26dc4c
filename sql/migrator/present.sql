-- The functions of the schema as the server keeps them: name, number of parameters, body, whether it has
-- its owner's rights, settings, owner if that is not the schema's, and which roles may call it.
SELECT p.proname::text AS name, p.pronargs::int AS parameters, p.prosrc AS body,
       p.prosecdef AS has_owners_rights, coalesce(p.proconfig, '{}') AS settings,
       CASE WHEN p.proowner <> n.nspowner
         THEN pg_catalog.pg_get_userbyid(p.proowner)::text END AS foreign_owner,
       ARRAY(
         SELECT CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(x.grantee)::text END
           FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) x
          WHERE x.grantee <> p.proowner
          ORDER BY 1) AS callers
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname = 'analysis'
