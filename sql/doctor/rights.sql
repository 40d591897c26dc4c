-- Which role has which duty, what of it was not granted, and whether this session's role is that role or a member of it.
SELECT h.o_role::text, h.o_duty, ARRAY(SELECT DISTINCT m.o_name FROM analysis.missing_rights(h.o_role, h.o_duty) m ORDER BY 1),
       pg_has_role(current_user, r.oid, 'USAGE')
  FROM analysis.duties_held() h JOIN pg_roles r ON r.rolname = h.o_role
 ORDER BY 1, 2
