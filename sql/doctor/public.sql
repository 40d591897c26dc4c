-- What everybody who can log in to the server may do with this database.
SELECT current_database()::text,
       ARRAY(
         SELECT x.privilege_type::text
           FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) x
          WHERE x.grantee = 0
          ORDER BY 1)
  FROM pg_database d
 WHERE d.datname = current_database()
