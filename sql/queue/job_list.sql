-- A page of one shard's jobs, the latest first. Without a state, the last row says how far was looked.
SELECT o_job, o_period, o_user, o_kind, o_lane, o_state, extract(epoch FROM o_created_at)::float8,
       extract(epoch FROM o_run_at)::float8, extract(epoch FROM o_expires_at)::float8,
       extract(epoch FROM o_finished_at)::float8, o_attempts, o_source
  FROM analysis.list_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9)
