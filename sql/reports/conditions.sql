-- A row a condition; the normal ones apart, at the end.
-- $1 the month's label.
SELECT c.period, c.id, c.name, c.normal, c.green, c.yellow, c.orange, c.red, c.total
FROM analysis.condition_count c
WHERE c.period = $1::smallint
ORDER BY c.normal, c.id COLLATE "C"
