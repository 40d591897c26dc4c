-- What waits and runs in each lane of one shard. Counting stops at $3.
SELECT l.lane,
       (SELECT count(*)::int FROM (SELECT 1 FROM analysis.ready r WHERE r.shard = $1 AND r.lane = l.lane LIMIT $3) w) AS waiting,
       (SELECT coalesce(sum(cardinality(b.job_ids)), 0)::int FROM analysis.lease b WHERE b.shard = $1 AND b.lane = l.lane) AS in_flight,
       -- The head of the lane stands for the one that has waited longest.
       (SELECT extract(epoch FROM clock_timestamp() - greatest(j.created_at, j.run_at))::float8
          FROM (SELECT r.job_id, r.period FROM analysis.ready r WHERE r.shard = $1 AND r.lane = l.lane ORDER BY r.vt, r.job_id LIMIT 1) r
          JOIN analysis.job j ON j.shard = $1 AND j.period = r.period AND j.id = r.job_id) AS oldest
  FROM unnest($2::smallint[]) AS l(lane)
 ORDER BY l.lane
