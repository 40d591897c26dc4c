-- A page of analyses, by the jobs' numbers.
-- $1 the month's label, $2 the reading, $3 the zone to show times in or NULL, $4 the shard, $5 and $6 the first and the last
-- number.
SELECT t.* FROM analysis.report_analyses($1::smallint, $2::text, $3::text, $4::smallint, $5::bigint, $6::bigint) t
