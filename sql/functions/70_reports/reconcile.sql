-- Whether the counters are what the jobs say.

-- The jobs of one shard and month without a result. Both sides come in order from their keys: of millions of
-- jobs that is less work than a table of all results in memory. Functions that read other things in parallel
-- call it.
CREATE OR REPLACE FUNCTION analysis.jobs_without_result(p_shard smallint, p_period smallint)
RETURNS TABLE (job_id bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10000 SET plan_cache_mode = force_custom_plan
SET enable_hashjoin = off SET enable_nestloop = off SET max_parallel_workers_per_gather = 0 AS $$
BEGIN
  RETURN QUERY
  SELECT j.id FROM analysis.job j
  WHERE j.shard = p_shard AND j.period = p_period
    AND NOT EXISTS (
      SELECT FROM (
        SELECT r.job_id FROM analysis.result r
        WHERE r.shard = p_shard AND r.period = p_period ORDER BY r.job_id) r
      WHERE r.job_id = j.id);
END $$;

-- Every user of one shard and month whose counter differs from what their jobs say: analysed jobs and
-- those still open hold a unit each; a unit whose refund is pending has been refunded already. A month
-- of which jobs have been removed cannot be recounted: it was stated before.
CREATE OR REPLACE FUNCTION analysis.usage_differences(p_shard smallint, p_period smallint)
RETURNS TABLE (o_user text, o_used int, o_pending int, o_analysed int, o_open int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  RETURN QUERY
  WITH held AS (
    -- All results, by one index, less the few that stand for a cancelled job, by another.
    SELECT r.user_id, count(*)::int AS analysed, 0 AS open
      FROM analysis.result r
     WHERE r.shard = p_shard AND r.period = p_period
     GROUP BY r.user_id
     UNION ALL
    SELECT r.user_id, -count(*)::int, 0
      FROM analysis.result r
     WHERE r.shard = p_shard AND r.period = p_period AND r.outcome = 2
     GROUP BY r.user_id
     UNION ALL
    SELECT j.user_id, 0, count(*)::int
      FROM analysis.jobs_without_result(p_shard, p_period) n
      JOIN analysis.job j ON j.shard = p_shard AND j.period = p_period AND j.id = n.job_id
     WHERE NOT EXISTS (SELECT 1 FROM analysis.dead d WHERE d.shard = p_shard AND d.job_id = j.id)
     GROUP BY j.user_id),
  expected AS (
    SELECT user_id, sum(analysed)::int AS analysed, sum(open)::int AS open FROM held GROUP BY user_id),
  pending AS (
    SELECT f.user_id, count(*)::int AS units FROM analysis.refund f
    WHERE f.shard = p_shard AND f.period = p_period GROUP BY f.user_id),
  counted AS (
    SELECT u.user_id, u.used FROM analysis.usage u WHERE u.shard = p_shard AND u.period = p_period),
  compared AS (
    SELECT user_id, coalesce(c.used, 0) AS used, coalesce(p.units, 0) AS pending,
           coalesce(e.analysed, 0) AS analysed, coalesce(e.open, 0) AS open
      FROM expected e FULL JOIN counted c USING (user_id) FULL JOIN pending p USING (user_id))
  SELECT coalesce(a.user_ref, '#' || x.user_id), x.used, x.pending, x.analysed, x.open
    FROM compared x LEFT JOIN analysis.account a ON a.shard = p_shard AND a.user_id = x.user_id
   WHERE x.used - x.pending <> x.analysed + x.open AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen))
     AND NOT EXISTS (SELECT 1 FROM analysis.purged_month p WHERE p.period = p_period)
   ORDER BY 1;
END $$;
COMMENT ON FUNCTION analysis.usage_differences IS
  'Answers the users of a shard and month whose count differs from their jobs.';
