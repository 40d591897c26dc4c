-- Dead jobs of one shard by filter, the oldest first.
SELECT o_job FROM analysis.dead_jobs($1, $2, $3, $4, $5, $6)
 ORDER BY o_job
