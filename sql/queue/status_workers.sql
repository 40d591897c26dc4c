-- The workers of one shard that were heard of in the last day.
SELECT id, host, pid, version, extract(epoch FROM started_at)::float8, extract(epoch FROM clock_timestamp() - heartbeat_at)::float8,
       in_flight
  FROM analysis.worker
 WHERE shard = $1 AND heartbeat_at > clock_timestamp() - interval '1 day'
 ORDER BY host, pid, id
