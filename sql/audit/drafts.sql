-- Entries that are not chained yet, the latest first, by what audit_list finds entries by.
SELECT d.at, d.role, d.os_user, d.host, d.address, d.action, d.object, d.reason, d.detail
  FROM analysis.audit_draft d
  LEFT JOIN analysis.account a ON a.shard = analysis.shard_of($4) AND a.user_ref = normalize($4)
 CROSS JOIN LATERAL (
       SELECT coalesce(a.user_id, pg_catalog.substring($4, '^#([0-9]{1,18})$')::bigint) AS number,
              pg_catalog.substring($7, '^job:([0-9]{1,18})$')::bigint AS job) u
 WHERE ($1 IS NULL OR d.at >= $1) AND ($2 IS NULL OR d.at < $2) AND ($3 IS NULL OR d.action = $3)
   AND ($5 IS NULL OR d.role = $5 OR d.os_user = $5) AND ($6 IS NULL OR d.role = $6)
   AND ($7 IS NULL OR d.object = $7 OR d.detail -> 'jobs' @> pg_catalog.to_jsonb(u.job))
   AND ($4 IS NULL OR d.object = 'user:' || u.number
     OR d.detail -> 'users' @> pg_catalog.to_jsonb(u.number))
 ORDER BY d.number DESC
 LIMIT $8
