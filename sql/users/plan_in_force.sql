-- The plan that a user has now.
SELECT p.name FROM analysis.limit_of($1, $2, now()) l JOIN analysis.plan p ON p.id = l.plan_id
