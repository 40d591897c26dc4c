-- Leases that ran out more than $1 seconds ago and that nobody has rescued.
SELECT count(*)::int, coalesce(sum(cardinality(b.job_ids)), 0)::int,
  extract(epoch FROM clock_timestamp() - min(b.deadline))::float8
  FROM analysis.lease b WHERE b.deadline < clock_timestamp() - $1::float8 * interval '1 second'
