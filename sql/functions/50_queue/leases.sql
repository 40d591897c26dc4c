-- What completing, failing and releasing share: fencing, and taking jobs out of a lease.
--
-- These are called by functions alone, whose settings hold here too: each setting of a function costs as
-- much as a small statement.
--
-- Rows of leases are read by a lateral subquery for each key, and written between the least and greatest
-- key: a plan made while the table was empty and new would else go through all leases of the shard, and
-- all that an old snapshot keeps of them. The leases of one worker have numbers next to each other, so the
-- range holds hardly another.

-- A worker's number: it belongs to the login and to the secret of 32 random bytes that the worker draws at
-- its start and gives with each call. Whoever has another login or another secret has another number, and
-- nothing is registered that could be lost. 63 bits of a SHA-256. It is inlined, so it has no settings of
-- its own, and names what it calls with its schema: workers ask for it by whatever search path they have.
CREATE OR REPLACE FUNCTION analysis.worker_number(p_worker bytea) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT ('x' OPERATOR(pg_catalog.||) pg_catalog.encode(
      pg_catalog.substr(pg_catalog.sha256(
          p_worker OPERATOR(pg_catalog.||) pg_catalog.convert_to(session_user, 'UTF8')), 1, 8),
      'hex'))::bit(64)::bigint OPERATOR(pg_catalog.&) 9223372036854775807
$$;
COMMENT ON FUNCTION analysis.worker_number IS
  'Answers the number of the worker that has a secret, for this login.';

-- Locks those of the leases that the worker still holds, in order, and answers them. Everything a worker
-- wants to change goes through this: if rescue took the lease, there is nothing to hold and nothing changes.
-- A repeatable read transaction would not see what was written meanwhile, and is refused.
CREATE OR REPLACE FUNCTION analysis.lock_leases(p_shard smallint, p_worker bigint, p_leases bigint[])
RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  v_held bigint[];
BEGIN
  IF current_setting('transaction_isolation') = 'repeatable read' THEN
    PERFORM analysis.refuse_repeatable_read();
  END IF;
  SELECT array_agg(b.id ORDER BY b.id) INTO v_held
  FROM (SELECT DISTINCT i AS id FROM unnest(p_leases) i ORDER BY 1) g
  CROSS JOIN LATERAL (
    SELECT k.id FROM analysis.lease k
    WHERE k.shard = p_shard AND k.id = g.id AND k.worker_id = p_worker FOR UPDATE) b;
  RETURN coalesce(v_held, '{}');
END $$;

-- The jobs in leases, one row each. Arrays are taken apart in the list of a SELECT wherever jobs are many:
-- in FROM each goes through a store of its own, at three times the work.
CREATE OR REPLACE FUNCTION analysis.leased_jobs(p_shard smallint, p_leases bigint[])
RETURNS TABLE (
  lease_id bigint, worker_id bigint, lane smallint, job_id bigint, period smallint, tries smallint,
  user_id bigint)
LANGUAGE sql STABLE AS $$
  SELECT b.id, b.worker_id, b.lane, unnest(b.job_ids), unnest(b.periods), unnest(b.tries), unnest(b.user_ids)
  FROM (SELECT DISTINCT i AS id FROM unnest(p_leases) i) g
  CROSS JOIN LATERAL (
    SELECT k.id, k.worker_id, k.lane, k.job_ids, k.periods, k.tries, k.user_ids FROM analysis.lease k
    WHERE k.shard = p_shard AND k.id = g.id OFFSET 0) b
$$;

-- Takes jobs out of leases that the caller has locked, and gives in ascending order: p_jobs[i] out of
-- p_of[i], and out of no other. What is left stays in the lease; a lease of which nothing is left goes.
-- p_busy: jobs that stay.
CREATE OR REPLACE FUNCTION analysis.end_leases(
  p_shard smallint, p_leases bigint[], p_of bigint[], p_jobs bigint[], p_busy bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_low bigint := p_leases[1];
  v_high bigint := p_leases[cardinality(p_leases)];
BEGIN
  IF cardinality(p_busy) > 0 THEN
    SELECT array_agg(g.lease_id), array_agg(g.job_id) INTO p_of, p_jobs
    FROM (SELECT unnest(p_of) AS lease_id, unnest(p_jobs) AS job_id) g
    WHERE NOT (g.job_id = ANY (p_busy));
  END IF;
  WITH rest AS MATERIALIZED (
    SELECT h.lease_id, array_agg(h.job_id) AS job_ids, array_agg(h.period) AS periods,
           array_agg(h.tries) AS tries, array_agg(h.user_id) AS user_ids
    FROM analysis.leased_jobs(p_shard, p_leases) h
    WHERE NOT EXISTS (
      SELECT 1 FROM (SELECT unnest(p_jobs) AS job_id, unnest(p_of) AS lease_id) s
      WHERE s.job_id = h.job_id AND s.lease_id = h.lease_id)
    GROUP BY h.lease_id),
  kept AS (
    UPDATE analysis.lease b SET job_ids = r.job_ids, periods = r.periods, tries = r.tries,
      user_ids = r.user_ids
    FROM rest r
    WHERE b.shard = p_shard AND b.id BETWEEN v_low AND v_high AND b.id = r.lease_id)
  DELETE FROM analysis.lease b
  WHERE b.shard = p_shard AND b.id BETWEEN v_low AND v_high AND b.id = ANY (p_leases)
    AND b.id NOT IN (SELECT r.lease_id FROM rest r);
END $$;

-- Counts attempts that consumed nothing into the job's latest line of the same cause, where it has many
-- such lines; answers the attempts without those.
CREATE OR REPLACE FUNCTION analysis.fold_attempts(
  p_shard smallint, p_ended analysis.ended[], p_now timestamptz)
RETURNS analysis.ended[]
LANGUAGE plpgsql AS $$
DECLARE
  v_folded bigint[] := '{}';
  v_line record;
BEGIN
  FOR v_line IN
    SELECT e.*, l.last_at FROM unnest(p_ended) e
    CROSS JOIN LATERAL (
      -- A line is full when its calls are all that the column holds; then another begins.
      SELECT count(*) AS lines,
        max(k.at) FILTER (WHERE k.class = e.class AND k.calls::int + e.calls <= 32767) AS last_at
      FROM analysis.attempt_error k
      WHERE k.shard = p_shard AND k.period = e.period AND k.job_id = e.job_id AND NOT k.consumed OFFSET 0) l
    WHERE NOT e.consumed AND e.outcome <> 'stale' AND e.class IS NOT NULL AND l.lines >= 20
      AND l.last_at IS NOT NULL
  LOOP
    -- One by one: they are few, and a join would have to go through the whole history.
    UPDATE analysis.attempt_error a
    SET calls = a.calls + v_line.calls, at = p_now, maybe_counted = a.maybe_counted OR v_line.maybe_counted,
        code = v_line.code, message = v_line.message, error_id = v_line.error_id, status = v_line.status,
        worker_id = v_line.worker_id, endpoint = v_line.endpoint
    WHERE a.shard = p_shard AND a.period = v_line.period AND a.job_id = v_line.job_id
      AND a.at = v_line.last_at AND a.class = v_line.class AND NOT a.consumed;
    v_folded := v_folded || v_line.job_id;
  END LOOP;
  RETURN ARRAY(SELECT e FROM unnest(p_ended) e WHERE e.job_id <> ALL (v_folded));
END $$;

-- Writes the dead, with their cause and all their calls; a unit is owed only for a row that was written here.
CREATE OR REPLACE FUNCTION analysis.bury_dead(
  p_shard smallint, p_ended analysis.ended[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  WITH buried AS (
    INSERT INTO analysis.dead (
      shard, period, job_id, user_id, kind, attempts, class, code, message, failed_at, status, calls)
    SELECT p_shard, e.period, e.job_id, e.user_id, e.kind, e.attempts, e.class, e.code, e.message, p_now,
           e.status, (SELECT coalesce(sum(h.calls), 0) FROM analysis.attempts_of(p_shard, e.job_id) h)
    FROM unnest(p_ended) e
    WHERE e.outcome = 'dead'
    ORDER BY e.job_id
    ON CONFLICT (shard, job_id) DO NOTHING
    RETURNING period, user_id, job_id, class)
  INSERT INTO analysis.refund (shard, period, user_id, job_id, reason, at)
  SELECT p_shard, b.period, b.user_id, b.job_id, b.class, p_now FROM buried b;
  -- Written, not only locked: a cancellation with an older snapshot would else not see that they are dead.
  PERFORM analysis.note_places(p_shard, array_agg(e.period), array_agg(e.job_id), NULL, NULL)
  FROM unnest(p_ended) e WHERE e.outcome = 'dead';
  IF EXISTS (SELECT FROM analysis.webhook) THEN
    PERFORM analysis.note_endings(
      p_shard, 3::smallint, p_now, array_agg(e.job_id), array_agg(e.period), array_agg(e.user_id))
    FROM unnest(p_ended) e
    CROSS JOIN LATERAL (
      SELECT FROM analysis.dead d
      WHERE d.shard = p_shard AND d.job_id = e.job_id AND d.failed_at = p_now OFFSET 0) d
    WHERE e.outcome = 'dead'
    HAVING count(*) > 0;
  END IF;
END $$;

-- Writes what came of attempts that ended without a result; the callers hold the leases' and the jobs'
-- locks. An attempt that was stale writes nothing.
CREATE OR REPLACE FUNCTION analysis.end_attempts(p_shard smallint, p_ended analysis.ended[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_lines analysis.ended[] := p_ended;
  v_period smallint[];
  v_job bigint[];
  v_vt bigint[];
BEGIN
  -- 1. The history. What consumes nothing can come again for weeks, as each probe of a paused endpoint
  --    does: a job with twenty such lines has its later ones counted into the latest of the same cause.
  IF EXISTS (
    SELECT 1 FROM unnest(p_ended) e
    WHERE NOT e.consumed AND e.outcome <> 'stale' AND e.class IS NOT NULL) THEN
    v_lines := analysis.fold_attempts(p_shard, p_ended, v_now);
  END IF;
  INSERT INTO analysis.attempt_error (
    shard, period, job_id, user_id, attempt, at, class, code, message, error_id, status, calls, maybe_counted,
    consumed, worker_id, endpoint)
  SELECT p_shard, e.period, e.job_id, e.user_id, e.attempt, v_now, e.class, e.code, e.message, e.error_id,
         e.status, e.calls, e.maybe_counted, e.consumed, e.worker_id, e.endpoint
  FROM unnest(v_lines) e
  WHERE e.outcome <> 'stale' AND e.class IS NOT NULL;

  -- 2. The dead.
  IF EXISTS (SELECT 1 FROM unnest(p_ended) e WHERE e.outcome = 'dead') THEN
    PERFORM analysis.bury_dead(p_shard, p_ended, v_now);
  END IF;

  -- 3. Those that run again, at once or later. They have had their turn: they queue where the lane is now.
  INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
  SELECT p_shard, e.lane, e.tries, e.period, v_now + e.delay_ms * interval '1 millisecond', e.job_id,
    e.user_id
  FROM unnest(p_ended) e
  WHERE e.outcome = 'retried' AND e.delay_ms > 0;
  WITH placed AS (
    INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
    SELECT p_shard, e.lane, e.tries, e.period, greatest(e.vt, coalesce(c.now_vt, 0)), e.job_id
    FROM unnest(p_ended) e
    LEFT JOIN LATERAL (
      SELECT k.now_vt FROM analysis.lane_clock k
      WHERE k.shard = p_shard AND k.lane = e.lane OFFSET 0) c ON true
    WHERE e.outcome = 'retried' AND (e.delay_ms > 0) IS NOT TRUE
    RETURNING period, job_id, vt)
  SELECT array_agg(p.period), array_agg(p.job_id), array_agg(p.vt) INTO v_period, v_job, v_vt
  FROM placed p;
  IF v_job IS NOT NULL THEN
    PERFORM analysis.note_places(p_shard, v_period, v_job, v_vt, 2::smallint);
  END IF;
END $$;
