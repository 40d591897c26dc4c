-- What else there is in one shard. Counting stops at $2.
SELECT (SELECT count(*)::int FROM (SELECT 1 FROM analysis.scheduled s WHERE s.shard = $1 LIMIT $2) s) AS scheduled,
       (SELECT extract(epoch FROM min(s.run_at))::float8 FROM analysis.scheduled s WHERE s.shard = $1) AS next_scheduled,
       (SELECT extract(epoch FROM min(s.run_at) - clock_timestamp())::float8 FROM analysis.scheduled s WHERE s.shard = $1) AS next_scheduled_in,
       (SELECT count(*)::int FROM (SELECT 1 FROM analysis.dead d WHERE d.shard = $1 LIMIT $2) d) AS dead,
       (SELECT count(*)::int FROM (SELECT 1 FROM analysis.refund f WHERE f.shard = $1 LIMIT $2) f) AS refunds
