-- What makes logins $1, each with the role of $2 and the password of $3, which is hashed; NULL: without
-- one. A login that is there keeps its password. Those of $4 keep their search path: they may be
-- applications with tables of their own.
SELECT p.login, r.oid IS NOT NULL AS is_there,
       CASE WHEN r.oid IS NULL
         THEN pg_catalog.format('CREATE ROLE %I LOGIN%s IN ROLE %I;', p.login,
           CASE WHEN p.password IS NOT NULL THEN pg_catalog.format(' PASSWORD %L', p.password) END, p.role)
         ELSE pg_catalog.format('GRANT %I TO %I;', p.role, p.login) END
       || CASE WHEN p.login = ANY ($4) THEN ''
            ELSE pg_catalog.format(
              ' ALTER ROLE %I IN DATABASE %I SET search_path = pg_catalog, pg_temp;', p.login,
              pg_catalog.current_database()) END AS sql
  FROM (
    SELECT pg_catalog.unnest($1) AS login, pg_catalog.unnest($2) AS role, pg_catalog.unnest($3) AS password) p
  LEFT JOIN pg_catalog.pg_roles r ON r.rolname = p.login
