-- Jobs that failed for good in the last day, by cause, the most frequent first.
SELECT d.class, d.code, count(*)::int, max(d.job_id)
  FROM analysis.dead d WHERE d.failed_at > now() - interval '1 day'
 GROUP BY d.class, d.code ORDER BY count(*) DESC, d.class, d.code LIMIT 10
