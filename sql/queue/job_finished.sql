-- Which of some jobs of one shard and month are finished, by primary key alone.
SELECT r.job_id, CASE r.outcome WHEN 1 THEN 'succeeded' ELSE 'cancelled' END AS state
  FROM analysis.result r
 WHERE r.shard = $1 AND r.period = $2 AND r.job_id = ANY ($3)
 UNION ALL
SELECT d.job_id, 'dead' FROM analysis.dead d WHERE d.shard = $1 AND d.job_id = ANY ($3)
