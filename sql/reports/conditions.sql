-- A row a condition; the normal ones apart, at the end.
-- $1 the month's label, $2 the reading.
SELECT $1::smallint AS period, c.id, c.name, c.normal, c.green, c.yellow, c.orange, c.red, c.total
FROM analysis.report_conditions($1, $2::text) c
ORDER BY c.normal, c.id COLLATE "C"
