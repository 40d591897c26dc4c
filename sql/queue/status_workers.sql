-- The workers of one shard that were heard of in the last hour. The report is read by its name, since the schema
-- before this program's has none.
SELECT id, host, pid, version, extract(epoch FROM started_at)::float8, extract(epoch FROM clock_timestamp() - heartbeat_at)::float8,
       in_flight, to_jsonb(w) ->> 'report'
  FROM analysis.worker w
 WHERE shard = $1 AND heartbeat_at > clock_timestamp() - interval '1 hour'
 ORDER BY host, pid, id
