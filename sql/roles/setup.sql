-- What makes logins $1, each with the role of $2 and the password of $3, which is hashed; NULL: without
-- one. A login that is there keeps its password. Those of $4 keep their search path: they may be
-- applications with tables of their own. $5 has the time limits of each, as NAME=MILLISECONDS with commas
-- between them. A role of NULL: the login is there, and gets its limits alone.
SELECT p.login, r.oid IS NOT NULL AS is_there,
       CASE WHEN r.oid IS NULL
         THEN pg_catalog.format('CREATE ROLE %I LOGIN%s IN ROLE %I;', p.login,
           CASE WHEN p.password IS NOT NULL THEN pg_catalog.format(' PASSWORD %L', p.password) END, p.role)
         WHEN p.role IS NULL THEN '' ELSE pg_catalog.format('GRANT %I TO %I;', p.role, p.login) END
       || CASE WHEN p.login = ANY ($4) THEN ''
            ELSE pg_catalog.format(
              ' ALTER ROLE %I IN DATABASE %I SET search_path = pg_catalog, pg_temp;', p.login,
              pg_catalog.current_database()) END
       || (SELECT pg_catalog.string_agg(
             pg_catalog.format(
               ' ALTER ROLE %I IN DATABASE %I SET %s = %s;', p.login, pg_catalog.current_database(),
               pg_catalog.split_part(l.item, '=', 1), pg_catalog.split_part(l.item, '=', 2)::bigint),
             '' ORDER BY l.position)
           FROM pg_catalog.unnest(pg_catalog.string_to_array(p.limits, ','))
                 WITH ORDINALITY l(item, position))
         AS sql
  FROM (
    SELECT pg_catalog.unnest($1) AS login, pg_catalog.unnest($2) AS role, pg_catalog.unnest($3) AS password,
      pg_catalog.unnest($5) AS limits) p
  LEFT JOIN pg_catalog.pg_roles r ON r.rolname = p.login
