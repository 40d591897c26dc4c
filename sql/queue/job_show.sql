-- Some jobs of one shard and month.
SELECT o_job, o_period, o_user, o_kind, o_lane, o_state, extract(epoch FROM o_created_at)::float8,
       extract(epoch FROM o_run_at)::float8, extract(epoch FROM o_expires_at)::float8, extract(epoch FROM o_finished_at)::float8,
       o_attempts::int, o_source_name
  FROM analysis.jobs_shown($1, $2, $3)
