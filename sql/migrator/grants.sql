-- Which role may call which functions.
SELECT analysis.role_prefix() || '_' || d.o_role, d.o_functions FROM analysis.role_rights() d
