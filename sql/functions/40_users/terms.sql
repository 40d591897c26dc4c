-- The terms on which a user's next jobs are submitted: who that is, in which month a job counts, the limit,
-- the cost, and how many units may be used before somebody has to look again. They follow from the account,
-- its plans, the plan and its limits; the short way of a submit (50_queue/submit_single.sql) reads the one
-- row that is kept.
--
-- A submit that finds none makes terms, from its user's third unit of a month on. They hold as long as all
-- of this does:
-- 1. The settings, plans and limits are as they were (`version`), and none has come into force since.
-- 2. The account and its plans are as they were: whoever changes one removes the terms (forget_terms). Both
--    lock the account first, so that none are made meanwhile of what was there before.
-- 3. It is the same month, and not within three hours of its ends, where clocks may be set back: there each
--    submit asks the calendar.
-- 4. The month's counter names them (`terms_at`). Whoever renames or erases a user, or gives them another
--    anchor, waits for the counter's lock (lock_months) and takes the name away. So a submit that had read
--    terms and waited for the counter finds that they hold no more. Refunds take it away too.
-- 5. Less than `most` units are used. Up to there neither the limit is reached nor 80 % of it, which somebody
--    may have to be told.

-- Removes the terms of users of whom something was changed. Their accounts are locked: who makes terms
-- meanwhile is waited for.
CREATE OR REPLACE FUNCTION analysis.forget_terms() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  IF TG_TABLE_NAME = 'account' THEN
    PERFORM analysis.forget_terms_of(c.shard, array_agg(c.user_ref)) FROM changed c GROUP BY c.shard;
  ELSE
    PERFORM analysis.forget_terms_of(u.shard, array_agg(u.user_ref))
    FROM (
      SELECT c.shard, a.user_ref
      FROM (SELECT DISTINCT c.shard, c.user_id FROM changed c ORDER BY 1, 2) c
      CROSS JOIN LATERAL (
        SELECT k.user_ref FROM analysis.account k WHERE k.shard = c.shard AND k.user_id = c.user_id
        FOR NO KEY UPDATE) a) u
    GROUP BY u.shard;
  END IF;
  RETURN NULL;
END $$;

-- The same by the users' names. A transaction with an older snapshot may not see the terms that are there: it
-- writes some in their place first, which fails (40001) where there are newer ones.
CREATE OR REPLACE FUNCTION analysis.forget_terms_of(p_shard smallint, p_users text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    INSERT INTO analysis.terms (
      shard, period, most, user_id, cost, version, made_at, valid_until, key_salt, user_ref)
    SELECT DISTINCT p_shard, 0, 0, 0, 0, -1, timestamptz '-infinity', timestamptz '-infinity', ''::bytea, u
    FROM unnest(p_users) u ORDER BY u
    ON CONFLICT (shard, user_ref) DO UPDATE SET version = -1;
  END IF;
  DELETE FROM analysis.terms d
  WHERE d.ctid = ANY (ARRAY(
    SELECT f.ctid FROM (SELECT DISTINCT unnest(p_users) AS user_ref ORDER BY 1) u
    CROSS JOIN LATERAL (
      SELECT t.ctid FROM analysis.terms t WHERE t.shard = p_shard AND t.user_ref = u.user_ref FOR UPDATE) f));
END $$;

-- Looks up on which terms a single job is submitted, and takes its unit, with which the month's counter may
-- begin. `used` is NULL where there is no such user, or no unit that is free without applying refunds; `most`
-- where the user was erased, renamed, or given another period meanwhile.
CREATE OR REPLACE FUNCTION analysis.find_terms(
  p_shard smallint, p_one analysis.submission, INOUT p_job analysis.single_job)
LANGUAGE plpgsql AS $$
BEGIN
  p_job.terms_at := NULL;
  SELECT a.user_id, f.period, l.monthly_limit, l.cost, a.key_salt, analysis.key_hash(a.key_salt, p_one.key)
  INTO p_job.user_id, p_job.period, p_job.quota, p_job.cost, p_job.key_salt, p_job.key_hash
  FROM (
    SELECT k.user_id, k.key_salt, k.zone, k.anchors FROM analysis.account k
    WHERE k.shard = p_shard AND k.user_ref = p_one."user" AND k.erased_at IS NULL
      AND p_job.submitter IS NOT NULL OFFSET 0) a
  CROSS JOIN LATERAL (SELECT analysis.period_at(p_job.now, a.zone, a.anchors) AS period OFFSET 0) f
  CROSS JOIN LATERAL (
    SELECT q.monthly_limit, q.cost FROM analysis.limit_of(p_shard, a.user_id, p_job.now) q OFFSET 0) l;
  -- The lock, with a unit.
  UPDATE analysis.usage u SET used = u.used + 1, terms_at = p_job.now
  WHERE u.shard = p_shard AND u.user_id = p_job.user_id AND u.period = p_job.period
    AND (u.used >= p_job.quota) IS NOT TRUE
  RETURNING u.used INTO p_job.used;
  IF NOT FOUND THEN
    INSERT INTO analysis.usage AS u (shard, user_id, period, used)
    SELECT p_shard, p_job.user_id, p_job.period, 1 FROM analysis.partition_made m
    WHERE m.period = p_job.period AND (p_job.quota < 1) IS NOT TRUE
    ON CONFLICT (shard, user_id, period) DO NOTHING
    RETURNING u.used INTO p_job.used;
  END IF;
  -- In a statement of its own, which sees what was committed until the lock was there.
  SELECT CASE WHEN p_job.quota IS NULL THEN 2147483647
      WHEN analysis.limit_level(p_job.used, p_job.quota) > 0 THEN p_job.quota - 1
      ELSE (p_job.quota * 4::bigint + 4) / 5 - 1 END
  INTO p_job.most
  FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_id = p_job.user_id AND a.user_ref = p_one."user"
    AND a.erased_at IS NULL AND analysis.period_at(p_job.now, a.zone, a.anchors) = p_job.period;
END $$;

-- Keeps terms for the next submits, where a single job has found none, and its user has used three units of
-- the month with it. Whose account somebody has locked is left without; from here on who changes the user
-- waits for this submit. What is read once the account is locked is not from before such a change: it has to
-- be what the job was submitted by.
CREATE OR REPLACE FUNCTION analysis.keep_terms(p_shard smallint, p_name text, p_job analysis.single_job)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_id = p_job.user_id
    AND analysis.period_at(p_job.now - interval '3 hours', a.zone, a.anchors) = p_job.period
    AND analysis.period_at(p_job.now + interval '3 hours', a.zone, a.anchors) = p_job.period
  FOR SHARE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  INSERT INTO analysis.terms AS t (
    shard, period, quota, most, user_id, cost, version, made_at, valid_until, key_salt, user_ref)
  SELECT p_shard, p_job.period, p_job.quota, p_job.most, p_job.user_id, p_job.cost, p_job.version, p_job.now,
    least(
      analysis.period_ends(p_job.period, a.zone, a.anchors) - interval '3 hours',
      (SELECT min(h.valid_from) FROM analysis.account_plan h
       WHERE h.shard = p_shard AND h.user_id = p_job.user_id AND h.valid_from > p_job.now),
      (SELECT min(d.valid_from) FROM analysis.plan_limit d WHERE d.valid_from > p_job.now)),
    a.key_salt, a.user_ref
  FROM analysis.admission g
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.account k
    WHERE k.shard = p_shard AND k.user_id = p_job.user_id AND k.user_ref = p_name AND k.erased_at IS NULL
      AND analysis.period_at(p_job.now, k.zone, k.anchors) = p_job.period OFFSET 0) a
  CROSS JOIN LATERAL (
    SELECT q.monthly_limit, q.cost FROM analysis.limit_of(p_shard, a.user_id, p_job.now) q OFFSET 0) l
  WHERE g.is_only AND g.version = p_job.version
    AND (l.monthly_limit, l.cost) IS NOT DISTINCT FROM (p_job.quota, p_job.cost)
  ON CONFLICT (shard, user_ref) DO UPDATE SET
    user_id = EXCLUDED.user_id, period = EXCLUDED.period, quota = EXCLUDED.quota, most = EXCLUDED.most,
    cost = EXCLUDED.cost, version = EXCLUDED.version, made_at = EXCLUDED.made_at,
    valid_until = EXCLUDED.valid_until, key_salt = EXCLUDED.key_salt;
END $$;
