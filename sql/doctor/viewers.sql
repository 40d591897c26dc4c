-- The roles that are restricted to clinics: whether there is such a role, which one else has the number that is kept of it, and
-- which duties it has beside those that know clinics.
SELECT v.role::text, r.oid IS NOT NULL, o.rolname::text,
       ARRAY(SELECT DISTINCT h.o_duty FROM analysis.duties_held() h JOIN pg_roles g ON g.rolname = h.o_role
              WHERE h.o_duty NOT IN ('reporter', 'diagnoses') AND pg_has_role(coalesce(r.oid, o.oid), g.oid, 'MEMBER') ORDER BY 1)
  FROM analysis.clinic_viewer v
  LEFT JOIN pg_roles r ON r.rolname = v.role
  LEFT JOIN pg_roles o ON o.oid = v.role_id AND o.rolname <> v.role
 ORDER BY 1
