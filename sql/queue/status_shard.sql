-- What else there is in one shard. Counting stops at $2.
SELECT (SELECT count(*)::int FROM (SELECT 1 FROM analysis.scheduled s WHERE s.shard = $1 LIMIT $2) s) AS scheduled,
       (SELECT extract(epoch FROM min(s.run_at))::float8 FROM analysis.scheduled s WHERE s.shard = $1) AS next_scheduled,
       (SELECT extract(epoch FROM min(s.run_at) - clock_timestamp())::float8 FROM analysis.scheduled s WHERE s.shard = $1) AS next_scheduled_in,
       d.o_dead AS dead, d.o_refunds AS refunds
  FROM analysis.dead_counts($1, $2) d
