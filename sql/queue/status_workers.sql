-- The workers of one shard that were heard of in the last hour, those that have ended too.
SELECT id, host, pid, version, extract(epoch FROM started_at)::float8, extract(epoch FROM clock_timestamp() - heartbeat_at)::float8,
       in_flight, report::text, ended_at IS NOT NULL AS has_ended
  FROM analysis.worker w
 WHERE shard = $1 AND heartbeat_at > clock_timestamp() - interval '1 hour'
 ORDER BY host, pid, id
