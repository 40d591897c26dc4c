-- Whether there is the schema's owner, a role that cannot log in, and this session may act as that role.
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_namespace n
    JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
   WHERE n.nspname = 'analysis' AND NOT r.rolcanlogin AND NOT r.rolsuper
     AND pg_catalog.pg_has_role(
       current_user, r.oid, CASE WHEN pg_catalog.current_setting('server_version_num')::int < 160000
         THEN 'MEMBER' ELSE 'SET' END)) AS may_act
