-- The timeline on which the server writes; each promotion begins a new one.
CREATE OR REPLACE FUNCTION analysis.timeline() RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT ('x'
    || lpad(left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8), 16, '0'))::bit(
      64)::bigint
$$;

-- Since when the server has been the primary, as far as is known; and how long a lease is overdue at least
-- where that is not known. A promotion begins a new timeline; whoever sees it first writes down when.
CREATE OR REPLACE FUNCTION analysis.primary_since(
  p_now timestamptz, OUT o_since timestamptz, OUT o_patience interval)
LANGUAGE plpgsql AS $$
BEGIN
  o_patience := '0';
  SELECT g.at INTO o_since FROM analysis.gauge g WHERE g.name = 'timeline' AND g.value = analysis.timeline();
  IF NOT FOUND THEN
    -- The row is there since the first migration. Where somebody's open transaction holds it, the grace
    -- has no beginning, and only what is overdue for long is taken.
    BEGIN
      UPDATE analysis.gauge g SET value = analysis.timeline(), at = p_now WHERE g.name = 'timeline';
      o_since := p_now;
    EXCEPTION WHEN lock_not_available THEN
      o_patience := interval '1 minute';
    END;
  END IF;
  -- A moment to come is one from before the clock was set back.
  o_since := greatest(pg_postmaster_start_time(), CASE WHEN o_since <= p_now THEN o_since END);
END $$;

-- Locks the lost leases that nobody else is ending or rescuing, the oldest deadline first, and answers them.
-- The table holds leases only, so it is read whole: an index on the deadline would make every heartbeat
-- dearer.
CREATE OR REPLACE FUNCTION analysis.lock_lost_leases(
  p_shard smallint, p_limit int, p_now timestamptz, p_since timestamptz, p_patience interval)
RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  -- Nobody but the owner (tests do) takes a lease sooner after a restart than the lease lasts.
  v_is_owner boolean := pg_has_role(
    session_user, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'analysis'), 'MEMBER');
  v_lost bigint[];
BEGIN
  -- A deadline further ahead than its lease is from before the server's clock was set back: it is drawn near.
  -- A worker that lives pushes it on before it passes.
  UPDATE analysis.lease b SET deadline = p_now + b.lease_ms * interval '1 millisecond'
  WHERE b.shard = p_shard
    AND b.id = ANY (ARRAY(
      SELECT k.id FROM analysis.lease k
      WHERE k.shard = p_shard AND k.deadline > p_now + (k.lease_ms + 1000) * interval '1 millisecond'
      ORDER BY k.id LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED));
  SELECT array_agg(l.id ORDER BY l.id) INTO v_lost FROM (
    SELECT b.id FROM analysis.lease b
    WHERE b.shard = p_shard AND b.deadline < p_now - p_patience
      AND (v_is_owner OR p_since + b.lease_ms * interval '1 millisecond' < p_now)
    ORDER BY b.deadline, b.id
    LIMIT p_limit FOR UPDATE SKIP LOCKED) l;
  RETURN v_lost;
END $$;

-- What comes of the jobs of lost leases, which the caller has locked: what has a result has ended; the others
-- are judged. A job whose row someone holds (a cancellation, say) stays in its lease until the next round.
CREATE OR REPLACE FUNCTION analysis.judge_lost(
  p_shard smallint, p_leases bigint[],
  OUT o_leases bigint[], OUT o_jobs bigint[], OUT o_ended analysis.ended[])
LANGUAGE plpgsql AS $$
BEGIN
  SELECT array_agg(s.lease_id), array_agg(s.job_id),
         array_agg(ROW(
           s.job_id, s.period, s.user_id, s.kind, s.worker_id, (s.consumed_before + 1)::smallint, s.attempts,
           CASE WHEN s.attempts >= s.max_attempts AND s.alone THEN 'dead' ELSE 'retried' END,
           CASE WHEN s.losses = 0 AND NOT s.alone THEN s.lane ELSE analysis.quarantine_of(s.kind) END,
           analysis.tries_of(s.attempts, least(s.losses + 1, 2)),
           CASE WHEN s.losses = 0 AND NOT s.alone THEN s.vt ELSE 0 END,
           -- Alone and lost: again after 2, 4, 8 s and so on, at most 60, less up to half by chance.
           CASE WHEN s.alone THEN least(60000, 1000 * 2 ^ least(s.attempts, 6)) * (1 - random() / 2)
             ELSE 0 END,
           s.alone, 'worker_lost', NULL,
           CASE WHEN s.alone THEN 'The worker was lost while it ran this job alone.'
                ELSE 'The worker was lost while the job was in its lease.' END,
           NULL, NULL, 1, true, NULL)::analysis.ended) FILTER (WHERE NOT (s.closed OR s.finished))
  INTO o_leases, o_jobs, o_ended
  FROM (
    SELECT h.lease_id, h.worker_id, h.lane, h.job_id, h.period, j.*,
           analysis.attempts_of(h.tries) AS consumed_before,
           analysis.losses_of(h.tries) AS losses, analysis.is_quarantine(h.lane) AS alone,
           (analysis.attempts_of(h.tries) + analysis.is_quarantine(h.lane)::int)::smallint AS attempts,
           r.job_id IS NOT NULL AS finished
    FROM analysis.leased_jobs(p_shard, p_leases) h
    LEFT JOIN LATERAL (
      SELECT f.job_id FROM analysis.result f
      WHERE f.shard = p_shard AND f.period = h.period AND f.job_id = h.job_id OFFSET 0) r ON true
    CROSS JOIN LATERAL (
      SELECT k.user_id, k.kind, k.vt, k.max_attempts, k.closed FROM analysis.job k
      WHERE k.shard = p_shard AND k.period = h.period AND k.id = h.job_id
      FOR NO KEY UPDATE SKIP LOCKED) j) s;
END $$;

-- Takes over the leases whose worker gave no sign of life until their deadline.
--
-- The first loss sends a job back to its lane; the second to the quarantine lane of its type, of which a
-- worker runs one job at a time. Only a loss there consumes an attempt.
CREATE OR REPLACE FUNCTION analysis.rescue(p_shard smallint, p_limit int, p_grace_ms int DEFAULT 15000)
RETURNS TABLE (o_leases int, o_requeued int, o_dead int)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_since timestamptz;                 -- since when the server has been the primary, as far as is known
  v_patience interval;                 -- how long a lease is overdue at least
  v_lost bigint[];
  v_of bigint[];                       -- the leases of what is applied
  v_ended_jobs bigint[];
  v_ended analysis.ended[];
BEGIN
  IF (p_shard IS NOT NULL AND p_limit BETWEEN 0 AND 100000 AND p_grace_ms >= 0) IS NOT TRUE THEN
    PERFORM analysis.require_argument(false, 'a rescue names a shard, at most 100000 leases and a grace');
  END IF;
  PERFORM analysis.refuse_repeatable_read();
  o_leases := 0;
  o_requeued := 0;
  o_dead := 0;

  -- 1. Workers that kept their calls over a restart of the server, or over the promotion of a standby, get
  --    a lease's time to say so.
  SELECT s.* INTO v_since, v_patience FROM analysis.primary_since(v_now) s;
  IF v_now < v_since + p_grace_ms * interval '1 millisecond' THEN
    RETURN NEXT;
    RETURN;
  END IF;

  -- 2. The lost leases.
  v_lost := analysis.lock_lost_leases(p_shard, p_limit, v_now, v_since, v_patience);
  IF v_lost IS NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;

  -- 3. In a second statement, with a snapshot that sees what was stored until the lock was ours.
  SELECT j.* INTO v_of, v_ended_jobs, v_ended FROM analysis.judge_lost(p_shard, v_lost) j;

  -- 4. Write, and take them out of the leases.
  IF v_ended IS NOT NULL THEN
    PERFORM analysis.end_attempts(p_shard, v_ended);
  END IF;
  PERFORM analysis.end_leases(p_shard, v_lost, v_of, v_ended_jobs, '{}');

  o_leases := cardinality(v_lost);
  o_dead := (SELECT count(*) FROM unnest(v_ended) e WHERE e.outcome = 'dead');
  o_requeued := coalesce(cardinality(v_ended), 0) - o_dead;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.rescue IS
  'Takes back the jobs of leases whose deadline has passed.';
