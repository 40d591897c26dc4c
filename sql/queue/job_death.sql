-- Why a job is dead.
SELECT attempts, class, code, message, extract(epoch FROM failed_at)::float8, calls
  FROM analysis.dead
 WHERE shard = $1 AND job_id = $2
