-- Closes the month's usage; true for the one caller who did. $1 the label, $2 the moment or NULL for now.
SELECT analysis.close_usage($1::smallint, coalesce($2::timestamptz, now())) AS closed
