-- The jobs of one shard and month that are in no place, and how many there are.
SELECT o_job, o_user, extract(epoch FROM o_created_at)::float8, o_count
  FROM analysis.lost_jobs($1, $2, $3)
 ORDER BY o_job
