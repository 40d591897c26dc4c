-- Records that the report of conditions is read. $1 the month's label, $2 what else matters, or NULL.
SELECT analysis.open_conditions($1::smallint, $2::jsonb) AS reading
