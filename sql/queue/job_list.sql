-- A page of one shard's jobs of one month, the latest first.
SELECT v.job_id, v.period, v.user_ref, v.kind, v.lane, v.state, extract(epoch FROM v.created_at)::float8,
       extract(epoch FROM v.run_at)::float8, extract(epoch FROM v.expires_at)::float8, extract(epoch FROM v.finished_at)::float8,
       v.attempts::int, v.source_name
  FROM analysis.job_status v
 WHERE v.shard = $1 AND v.period = $2 AND v.job_id < $3
   AND ($4::text IS NULL OR v.user_ref = $4) AND ($5::text IS NULL OR v.state = $5) AND ($6::smallint IS NULL OR v.kind = $6)
 ORDER BY v.job_id DESC
 LIMIT $7
