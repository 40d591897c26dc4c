-- Why a job is dead.
SELECT attempts, class, code, message, extract(epoch FROM failed_at)::float8, calls
  FROM analysis.job_death($1, $2)
