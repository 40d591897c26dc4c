-- The roles that are restricted to clinics: whether there is such a role still, and which duties they have beside those of
-- reports, whose tables alone know clinics.
SELECT v.role::text, r.oid IS NOT NULL,
       ARRAY(SELECT DISTINCT h.o_duty FROM analysis.duties_held() h JOIN pg_roles g ON g.rolname = h.o_role
              WHERE h.o_duty NOT IN ('reporter', 'diagnoses') AND pg_has_role(r.oid, g.oid, 'MEMBER') ORDER BY 1)
  FROM analysis.clinic_viewer v LEFT JOIN pg_roles r ON r.rolname = v.role OR r.oid = v.role_id
 ORDER BY 1
