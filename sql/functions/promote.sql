-- Moves scheduled jobs whose time has come to their lanes; answers how many rows were moved or dropped.
CREATE OR REPLACE FUNCTION analysis.promote(p_shard smallint, p_limit int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_count int;
  v_job bigint[];
  v_period smallint[];
  v_tries smallint[];
  v_lane smallint[];
BEGIN
  IF (p_shard IS NOT NULL AND p_limit BETWEEN 0 AND 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'a promotion names a shard and at most 100000 rows');
  END IF;
  IF current_setting('transaction_isolation') = 'repeatable read' THEN
    PERFORM analysis.refuse_repeatable_read();
  END IF;

  -- 1. Take the rows that are due, in the same form as a claim.
  WITH taken AS (
    WITH x AS MATERIALIZED (
      SELECT s.ctid, s.run_at FROM analysis.scheduled s
      WHERE s.shard = p_shard AND s.run_at <= v_now
      ORDER BY s.shard, s.run_at, s.job_id
      LIMIT p_limit FOR UPDATE SKIP LOCKED)
    DELETE FROM analysis.scheduled d
    WHERE d.shard = p_shard AND d.run_at >= (SELECT min(x.run_at) FROM x) AND d.run_at <= (SELECT max(x.run_at) FROM x)
      AND d.ctid = ANY (ARRAY(SELECT x.ctid FROM x))
    RETURNING d.job_id, d.period, d.tries, d.lane, d.run_at)
  SELECT array_agg(t.job_id), array_agg(t.period), array_agg(t.tries), array_agg(t.lane), count(*)
  INTO v_job, v_period, v_tries, v_lane, v_count
  FROM (SELECT u.* FROM taken u ORDER BY u.run_at, u.job_id) t;
  IF v_count = 0 THEN
    RETURN 0;
  END IF;

  -- 2. Queue them, less those cancelled meanwhile. They take places in a line of their own: a user whose jobs
  --    are tried again in numbers, or run at the same hour, delays nobody else.
  WITH due AS (
    SELECT t.*, j.user_id, c.cost, row_number() OVER (PARTITION BY j.user_id, t.lane ORDER BY t.i) - 1 AS place
    FROM unnest(v_job, v_period, v_tries, v_lane) WITH ORDINALITY t(job_id, period, tries, lane, i)
    CROSS JOIN LATERAL (
      SELECT k.user_id FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = t.period AND k.id = t.job_id AND NOT k.closed OFFSET 0) j
    CROSS JOIN LATERAL (
      SELECT coalesce((SELECT l.cost FROM analysis.limit_of(p_shard, j.user_id, v_now) l), 1000) AS cost OFFSET 0) c),
  wanted AS (
    SELECT array_agg(g.user_id) AS users, array_agg(g.lane) AS lanes, array_agg(g.cost) AS costs, array_agg(g.n) AS counts
    FROM (SELECT d.user_id, d.lane, max(d.cost) AS cost, count(*) AS n FROM due d GROUP BY 1, 2) g),
  places AS MATERIALIZED (
    SELECT p.* FROM wanted w
    CROSS JOIN LATERAL analysis.take_places(p_shard, 1::smallint, w.users, w.lanes, w.costs, w.counts) p)
  INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
  SELECT p_shard, d.lane, d.tries, d.period, p.o_first + d.place * d.cost, d.job_id
  FROM due d
  JOIN places p ON p.o_user = d.user_id AND p.o_lane = d.lane;
  RETURN v_count;
END $$;
