-- A page of one shard's dead jobs of one month, the latest first: found by their own small table.
SELECT v.job_id, v.period, v.user_ref, v.kind, v.lane, v.state, extract(epoch FROM v.created_at)::float8,
       extract(epoch FROM v.run_at)::float8, extract(epoch FROM v.expires_at)::float8, extract(epoch FROM v.finished_at)::float8,
       v.attempts::int, v.source_name
  FROM (SELECT d.shard, d.period, d.job_id
          FROM analysis.dead d JOIN analysis.account a ON a.shard = d.shard AND a.user_id = d.user_id
         WHERE d.shard = $1 AND d.period = $2 AND d.job_id < $3
           AND ($4::text IS NULL OR a.user_ref = $4) AND ($5::text IS NULL OR $5 = 'dead')
           AND ($6::smallint IS NULL OR d.kind = $6)
         ORDER BY d.job_id DESC
         LIMIT $7) d
  JOIN LATERAL (SELECT * FROM analysis.job_status v WHERE v.shard = $1 AND v.period = d.period AND v.job_id = d.job_id) v ON true
 ORDER BY v.job_id DESC
