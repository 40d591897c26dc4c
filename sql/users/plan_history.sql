-- The plans that a user has had and will have.
SELECT p.name, CASE WHEN isfinite(h.valid_from) THEN extract(epoch FROM h.valid_from)::float8 END
  FROM analysis.account_plan h JOIN analysis.plan p ON p.id = h.plan_id
 WHERE h.shard = $1 AND h.user_id = $2
 ORDER BY h.valid_from
