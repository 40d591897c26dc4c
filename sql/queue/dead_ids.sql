-- Dead jobs of one shard by filter, the oldest first.
SELECT d.job_id
  FROM analysis.dead d JOIN analysis.account a ON a.shard = d.shard AND a.user_id = d.user_id
 WHERE d.shard = $1 AND ($2::smallint IS NULL OR d.period = $2) AND ($3::text IS NULL OR a.user_ref = $3)
   AND ($4::smallint IS NULL OR d.kind = $4) AND d.job_id > $5
 ORDER BY d.job_id
 LIMIT $6
