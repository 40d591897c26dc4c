-- What makes the database this installation's own: nobody but its roles connects to it, and nobody makes
-- temporary tables in it. $1: the roles.
SELECT pg_catalog.format(
         'REVOKE CONNECT, TEMPORARY ON DATABASE %1$I FROM PUBLIC; GRANT CONNECT ON DATABASE %1$I TO %2$s;',
         pg_catalog.current_database(),
         (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(r), ', ' ORDER BY i)
            FROM pg_catalog.unnest($1) WITH ORDINALITY u(r, i))) AS sql
