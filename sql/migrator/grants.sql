-- Which role may call which functions.
SELECT analysis.role_prefix() || '_' || d.o_role AS role, d.o_functions AS functions
  FROM analysis.role_rights() d
