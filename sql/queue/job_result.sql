-- A job's stored analysis, once its reading is open.
SELECT analysis_id, extract(epoch FROM answered_at)::float8, extract(epoch FROM finished_at)::float8, conditions::text, serious,
       consult, endpoint_serious, endpoint_consult, calls, call_ms, model, endpoint, version, attempt
  FROM analysis.results_of($1, $2)
