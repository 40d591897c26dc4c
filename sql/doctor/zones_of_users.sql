-- The zones of users that the server does not know, each with a user that has it.
SELECT a.zone, min(a.user_ref) FROM analysis.account a
 WHERE a.zone NOT IN (SELECT z.name FROM pg_timezone_names z)
 GROUP BY a.zone ORDER BY a.zone LIMIT 10
