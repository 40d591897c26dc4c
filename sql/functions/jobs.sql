-- Looking for jobs by their number.

-- The months of jobs; a number that is unknown is not answered. Newest months first for each.
CREATE OR REPLACE FUNCTION analysis.locate(p_shard smallint, p_jobs bigint[])
RETURNS TABLE (o_job bigint, o_period smallint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  RETURN QUERY
  SELECT j.id, j.period
  FROM (SELECT DISTINCT i AS id FROM unnest(p_jobs) i ORDER BY 1) g
  CROSS JOIN LATERAL (
    SELECT f.id, f.period FROM (SELECT m.period FROM analysis.partition_made m ORDER BY m.period DESC) m
    CROSS JOIN LATERAL (
      SELECT k.id, k.period FROM analysis.job k WHERE k.shard = p_shard AND k.period = m.period AND k.id = g.id OFFSET 0) f
    LIMIT 1) j;
END $$;

-- A job's attempts that failed, in whatever month they were written: a retry moves a job to the present
-- month and its history stays.
CREATE OR REPLACE FUNCTION analysis.attempts_of(p_shard smallint, p_job bigint)
RETURNS SETOF analysis.attempt_error
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
BEGIN
  RETURN QUERY
  SELECT e.* FROM analysis.partition_made m
  CROSS JOIN LATERAL (
    SELECT a.* FROM analysis.attempt_error a WHERE a.shard = p_shard AND a.period = m.period AND a.job_id = p_job OFFSET 0) e
  ORDER BY e.at, e.attempt;
END $$;
