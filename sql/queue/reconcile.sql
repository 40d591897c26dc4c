-- Every user of one shard and month whose counter differs from what their jobs say: analysed jobs and
-- those still open hold a unit each; a unit whose refund is pending has been given back already. A month of which jobs
-- have been removed cannot be recounted: it was stated before.
WITH held AS (
  SELECT r.user_id, count(*)::int AS analysed, 0 AS open
    FROM analysis.result r
   WHERE r.shard = $1 AND r.period = $2 AND r.outcome = 1
   GROUP BY r.user_id
   UNION ALL
  SELECT j.user_id, 0, count(*)::int
    FROM analysis.job j
   WHERE j.shard = $1 AND j.period = $2
     AND NOT EXISTS (SELECT 1 FROM analysis.result r WHERE r.shard = $1 AND r.period = $2 AND r.job_id = j.id)
     AND NOT EXISTS (SELECT 1 FROM analysis.dead d WHERE d.shard = $1 AND d.job_id = j.id)
   GROUP BY j.user_id),
expected AS (
  SELECT user_id, sum(analysed)::int AS analysed, sum(open)::int AS open FROM held GROUP BY user_id),
pending AS (
  SELECT f.user_id, count(*)::int AS units FROM analysis.refund f WHERE f.shard = $1 AND f.period = $2 GROUP BY f.user_id),
counted AS (
  SELECT u.user_id, u.used FROM analysis.usage u WHERE u.shard = $1 AND u.period = $2),
compared AS (
  SELECT user_id, coalesce(c.used, 0) AS used, coalesce(p.units, 0) AS pending, coalesce(e.analysed, 0) AS analysed,
         coalesce(e.open, 0) AS open
    FROM expected e FULL JOIN counted c USING (user_id) FULL JOIN pending p USING (user_id))
SELECT coalesce(a.user_ref, '#' || x.user_id), x.used, x.pending, x.analysed, x.open
  FROM compared x LEFT JOIN analysis.account a ON a.shard = $1 AND a.user_id = x.user_id
 WHERE x.used - x.pending <> x.analysed + x.open
   AND NOT EXISTS (SELECT 1 FROM analysis.purged_month p WHERE p.period = $2)
 ORDER BY 1
