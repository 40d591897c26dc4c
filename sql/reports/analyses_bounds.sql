-- Between which jobs' numbers each shard's analyses of a month are.
-- $1 the month's label, $2 the reading.
SELECT h.shard, b.first_job, b.last_job
FROM (SELECT generate_series(0, s.value::int - 1)::smallint AS shard FROM analysis.setting s WHERE s.name = 'shards') h
CROSS JOIN LATERAL analysis.analyses_bounds($1::smallint, $2::text, h.shard) b
WHERE b.first_job IS NOT NULL
ORDER BY h.shard
