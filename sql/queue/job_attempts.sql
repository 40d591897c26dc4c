-- A job's failed attempts, in order; a retried job's may be in several months.
SELECT attempt, extract(epoch FROM at)::float8, class, code, message, error_id, status, calls, maybe_counted, consumed, endpoint, worker_id
  FROM analysis.job_attempts($1, $2)
 ORDER BY at, attempt
