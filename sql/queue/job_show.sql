-- Some jobs of one shard and month.
SELECT v.job_id, v.period, v.user_ref, v.kind, v.lane, v.state, extract(epoch FROM v.created_at)::float8,
       extract(epoch FROM v.run_at)::float8, extract(epoch FROM v.expires_at)::float8, extract(epoch FROM v.finished_at)::float8,
       v.attempts::int, v.source_name
  FROM analysis.job_status v
 WHERE v.shard = $1 AND v.period = $2 AND v.job_id = ANY ($3)
