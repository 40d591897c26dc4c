-- A job's stored analysis; none when its person was erased.
SELECT analysis_id, extract(epoch FROM answered_at)::float8, extract(epoch FROM finished_at)::float8, conditions::text, serious,
       consult, calls, call_ms, model, endpoint, version, attempt
  FROM analysis.result
 WHERE shard = $1 AND period = $2 AND job_id = $3 AND outcome = 1 AND condition_count IS NOT NULL
