-- Records that the report of analyses is read. $1 the month's label, $2 what else matters, or NULL.
SELECT analysis.open_analyses($1::smallint, $2::jsonb) AS reading
