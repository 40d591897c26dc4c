-- The plans, each with its limits by the time from which they hold.
SELECT p.name, p.display_name, p.cost, CASE WHEN isfinite(l.valid_from) THEN extract(epoch FROM l.valid_from)::float8 END,
       l.monthly_limit, l.plan_id IS NOT NULL,
       l.valid_from = (SELECT max(f.valid_from) FROM analysis.plan_limit f WHERE f.plan_id = p.id AND f.valid_from <= now())
  FROM analysis.plan p LEFT JOIN analysis.plan_limit l ON l.plan_id = p.id
 ORDER BY p.id, l.valid_from
