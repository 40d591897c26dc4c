-- Whether this role sees what other roles' sessions do.
SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
