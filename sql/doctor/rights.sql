-- The roles of this installation, what was not granted to them, and whether this session has them.
SELECT d.o_role,
       ARRAY(
         SELECT DISTINCT m.o_name::text
           FROM analysis.missing_rights() m
          WHERE m.o_role = r.rolname
          ORDER BY 1),
       pg_has_role(current_user, r.oid, 'USAGE')
  FROM analysis.role_rights() d
  JOIN pg_roles r ON r.rolname = analysis.role_prefix() || '_' || d.o_role
 ORDER BY 1
