-- The roles that are restricted to clinics: whether there is such a role, which one else has the number that
-- is kept of it, and which roles it has beside those that know clinics.
SELECT v.role::text, r.oid IS NOT NULL, o.rolname::text,
       ARRAY(
         SELECT d.o_role
           FROM analysis.role_rights() d
           JOIN pg_roles g ON g.rolname = analysis.role_prefix() || '_' || d.o_role
          WHERE d.o_role NOT IN ('reporter', 'clinician', 'gateway')
            AND pg_has_role(coalesce(r.oid, o.oid), g.oid, 'MEMBER')
          ORDER BY 1)
  FROM analysis.clinic_viewer v
  LEFT JOIN pg_roles r ON r.rolname = v.role
  LEFT JOIN pg_roles o ON o.oid = v.role_id AND o.rolname <> v.role
 ORDER BY 1
