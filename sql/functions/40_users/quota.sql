-- Units of the monthly quota: taken under the lock of the user's usage row, refunded by applying
-- refunds. Without settings of their own are those that functions alone call, whose settings hold.

-- What a user has used of a month: a unit whose refund is still to be applied does not count.
CREATE OR REPLACE FUNCTION analysis.used_of(p_shard smallint, p_user_id bigint, p_period smallint)
RETURNS int
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce(
      (SELECT u.used FROM analysis.usage u
       WHERE u.shard = p_shard AND u.user_id = p_user_id AND u.period = p_period), 0)
    - (SELECT count(*) FROM analysis.refund f
       WHERE f.shard = p_shard AND f.user_id = p_user_id AND f.period = p_period);
END $$;

-- The share of a limit that is reported to a user: 80 or 100 percent, or 0. A limit of NULL is none.
CREATE OR REPLACE FUNCTION analysis.limit_level(p_used int, p_limit int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_used > 0 AND p_used >= p_limit THEN 100
    WHEN p_used > 0 AND p_used::bigint * 5 >= p_limit::bigint * 4 THEN 80 ELSE 0 END
$$;

-- Locks the usage rows of users and months, always in the same order, and makes those that are missing. The
-- locks are held until the transaction ends. They also put in a row whoever submits for the same user and
-- month, so that a key that an open submit has just used is waited for here.
CREATE OR REPLACE FUNCTION analysis.lock_usage(p_shard smallint, p_users bigint[], p_periods smallint[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  -- A row that is there is locked, whatever the condition says of its change.
  INSERT INTO analysis.usage AS u (shard, user_id, period)
  SELECT DISTINCT p_shard, d.user_id, d.period FROM unnest(p_users, p_periods) d(user_id, period)
  ORDER BY 2, 3
  ON CONFLICT (shard, user_id, period) DO UPDATE SET used = u.used WHERE false;
END $$;

-- The same, but nobody is waited for longer than lock_timeout says: answers the users whose rows it has; each
-- is named once. What somebody's open transaction has, a submit above all, is left to it.
CREATE OR REPLACE FUNCTION analysis.lock_free_usage(p_shard smallint, p_users bigint[], p_periods smallint[])
RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
  v_patience text := current_setting('lock_timeout');
  v_free bigint[];
  v_new record;
BEGIN
  BEGIN
    PERFORM analysis.lock_usage(p_shard, p_users, p_periods);
    RETURN p_users;
  EXCEPTION WHEN lock_not_available THEN
    NULL;
  END;
  SELECT array_agg(g.user_id) INTO v_free
  FROM (SELECT d.user_id, d.period FROM unnest(p_users, p_periods) d(user_id, period) ORDER BY 1, 2) g
  CROSS JOIN LATERAL (
    SELECT FROM analysis.usage s
    WHERE s.shard = p_shard AND s.user_id = g.user_id AND s.period = g.period
    FOR NO KEY UPDATE SKIP LOCKED) u;
  -- Who has no row yet may be getting one just now.
  PERFORM set_config('lock_timeout', '10ms', true);
  FOR v_new IN
    SELECT d.user_id, d.period FROM unnest(p_users, p_periods) d(user_id, period)
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM analysis.usage s
      WHERE s.shard = p_shard AND s.user_id = d.user_id AND s.period = d.period OFFSET 0) u ON true
    WHERE u.is_there IS NULL ORDER BY 1
  LOOP
    BEGIN
      PERFORM analysis.lock_usage(p_shard, ARRAY[v_new.user_id], ARRAY[v_new.period]);
      v_free := v_free || v_new.user_id;
    EXCEPTION WHEN lock_not_available THEN
      NULL;
    END;
  END LOOP;
  PERFORM set_config('lock_timeout', v_patience, true);
  RETURN v_free;
END $$;

-- Holds the accounts of users, by their numbers and references, against older snapshots: in a SERIALIZABLE
-- transaction a lock of an account that was changed since the transaction began fails (40001). In others the
-- callers look at the account again once they have the locks.
CREATE OR REPLACE FUNCTION analysis.hold_accounts(p_shard smallint, p_users bigint[], p_references text[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') = 'serializable' THEN
    PERFORM FROM (
      SELECT a.user_id FROM analysis.account a
      WHERE a.shard = p_shard AND (a.user_id = ANY (p_users) OR a.user_ref = ANY (p_references))
      ORDER BY a.user_id) u
    CROSS JOIN LATERAL (
      SELECT FROM analysis.account k WHERE k.shard = p_shard AND k.user_id = u.user_id FOR SHARE) k;
  END IF;
END $$;

-- Waits for every submit of a user, and has the next ones wait for this transaction: locks the counters, as a
-- submit does and in its order, of every month that takes jobs or that may be made meanwhile. Where there is
-- none yet it is made, which waits for a submit that has made it and not committed. A submit that had read
-- the account, or terms, and not yet come to its counter waits there, and then looks at the account again.
CREATE OR REPLACE FUNCTION analysis.lock_months(p_shard smallint, p_user_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_there smallint[]                   -- the months that have a counter
    := ARRAY(SELECT u.period FROM analysis.usage u WHERE u.shard = p_shard AND u.user_id = p_user_id);
  v_month smallint[] := ARRAY(
    SELECT unnest(v_there) UNION SELECT m.period FROM analysis.partition_made m
    UNION SELECT analysis.period_of(clock_timestamp(), 'UTC') + i FROM generate_series(-1, 25) i);
BEGIN
  PERFORM analysis.lock_usage(p_shard, array_fill(p_user_id, ARRAY[cardinality(v_month)]), v_month);
  UPDATE analysis.usage u SET terms_at = NULL
  WHERE u.shard = p_shard AND u.user_id = p_user_id AND u.terms_at IS NOT NULL;
  DELETE FROM analysis.usage u
  WHERE u.shard = p_shard AND u.user_id = p_user_id AND NOT (u.period = ANY (v_there))
    AND (u.used, u.refunded, u.refused) = (0, 0, 0);
END $$;

-- Deals out units, as many of the wanted as the limits allow, one group (user, month, limit) after the other
-- in the order given; a limit of NULL allows all. The caller has locked the usage rows.
CREATE OR REPLACE FUNCTION analysis.deal_units(
  p_shard smallint, p_users bigint[], p_periods smallint[], p_limits int[], p_wanted int[],
  p_count_refused boolean)
RETURNS TABLE (o_user bigint, o_period smallint, o_limit int, o_granted int, o_used int)
LANGUAGE plpgsql AS $$
DECLARE
  v_used int[];
  v_granted int[] := '{}';
  v_tight boolean;
  v_reached int[];                     -- groups that come to 80 % or all of the limit
  v_groups int := cardinality(p_users);
BEGIN
  -- 1. What each group's user has used. Where a limit would be hit, what is owed to the users is applied
  --    first, and read again.
  FOR v_round IN 1 .. 2 LOOP
    SELECT array_agg(u.used ORDER BY g.i),
           bool_or(u.used + g.all_wanted > g.quota)
    INTO v_used, v_tight
    FROM (SELECT w.*, sum(w.wanted) OVER (PARTITION BY w.user_id, w.period) AS all_wanted
          FROM unnest(p_users, p_periods, p_limits, p_wanted) WITH ORDINALITY w(
            user_id, period, quota, wanted, i)) g
    CROSS JOIN LATERAL (
      SELECT s.used FROM analysis.usage s
      WHERE s.shard = p_shard AND s.user_id = g.user_id AND s.period = g.period OFFSET 0) u;
    EXIT WHEN v_round = 2 OR v_tight IS NOT TRUE;
    EXIT WHEN analysis.apply_refunds_locked(p_shard, p_users, p_periods, NULL) = 0;
  END LOOP;

  -- 2. Deal, in memory. Groups of one user and month follow each other.
  FOR i IN 1 .. v_groups LOOP
    o_user := p_users[i];
    o_period := p_periods[i];
    o_limit := p_limits[i];
    IF i > 1 AND p_users[i - 1] = o_user AND p_periods[i - 1] = o_period THEN
      v_used[i] := o_used;
    END IF;
    o_granted := CASE WHEN o_limit IS NULL THEN p_wanted[i]
      ELSE greatest(0, least(p_wanted[i], o_limit - v_used[i])) END;
    o_used := v_used[i] + o_granted;
    v_granted[i] := o_granted;
    IF analysis.limit_level(o_used, o_limit) > analysis.limit_level(v_used[i], o_limit) THEN
      v_reached := v_reached || i;
    END IF;
    RETURN NEXT;
  END LOOP;

  -- 3. Write. An upsert finds its rows by the key whatever plan is taken.
  INSERT INTO analysis.usage AS u (shard, user_id, period, used, refused)
  SELECT p_shard, w.user_id, w.period, sum(w.granted), CASE WHEN p_count_refused
    THEN sum(w.wanted - w.granted) ELSE 0 END
  FROM unnest(p_users, p_periods, p_wanted, v_granted) w(user_id, period, wanted, granted)
  GROUP BY w.user_id, w.period
  ON CONFLICT (shard, user_id, period) DO UPDATE SET used = u.used + EXCLUDED.used,
  refused = u.refused + EXCLUDED.refused;
  IF v_reached IS NOT NULL THEN
    PERFORM analysis.note_limit(p_shard, p_users[i], p_periods[i], p_limits[i]) FROM unnest(v_reached) i;
  END IF;
END $$;

-- Applies the refunds of users whose usage rows the caller has locked: that lock is what makes a refund
-- applied once, and nobody wait for a refund's row. p_from: of those written since then, the first 100,000.
CREATE OR REPLACE FUNCTION analysis.apply_refunds_locked(
  p_shard smallint, p_users bigint[], p_periods smallint[], p_from timestamptz) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
  v_count int;
BEGIN
  WITH gone AS (
    DELETE FROM analysis.refund r
    WHERE r.shard IS NOT DISTINCT FROM p_shard
      AND r.ctid = ANY (CASE WHEN p_from IS NULL THEN ARRAY(
          SELECT f.ctid
          FROM (SELECT DISTINCT d.user_id, d.period FROM unnest(p_users, p_periods) d(user_id, period)) g
          CROSS JOIN LATERAL (
            SELECT o.ctid FROM analysis.refund o
            WHERE o.shard = p_shard AND o.user_id = g.user_id AND o.period = g.period OFFSET 0) f)
        ELSE ARRAY(
          SELECT f.ctid FROM (
            SELECT o.ctid, o.user_id, o.period FROM analysis.refund o
            WHERE o.shard + 0 = p_shard AND o.at >= p_from ORDER BY o.shard + 0, o.at LIMIT 100000) f
          JOIN (SELECT DISTINCT d.user_id, d.period FROM unnest(p_users, p_periods) d(user_id, period)) g
            USING (user_id, period)) END)
    RETURNING r.user_id, r.period),
  owed AS (SELECT g.user_id, g.period, count(*)::int AS n FROM gone g GROUP BY g.user_id, g.period),
  applied AS (
    INSERT INTO analysis.usage AS u (shard, user_id, period, refunded)
    SELECT p_shard, o.user_id, o.period, o.n FROM owed o
    ON CONFLICT (shard, user_id, period) DO UPDATE
      SET used = u.used - EXCLUDED.refunded, refunded = u.refunded + EXCLUDED.refunded, terms_at = NULL)
  SELECT coalesce(sum(o.n), 0) INTO v_count FROM owed o;
  RETURN v_count;
END $$;

-- Applies what is owed to up to p_limit users and months, and the places that users gave up; answers how
-- many refunds ended. Users with an open submit are left for later: it never waits.
CREATE OR REPLACE FUNCTION analysis.apply_refunds(p_shard smallint, p_limit int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_from timestamptz;
  v_user bigint[];
  v_period smallint[];
BEGIN
  IF (p_shard IS NOT NULL AND p_limit BETWEEN 0 AND 100000) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false, 'refunds are applied in one shard, for at most 100000 users and months');
  END IF;
  PERFORM analysis.refuse_repeatable_read();
  v_from := (analysis.scan_marks(p_shard, v_now)).o_owed_from;
  PERFORM analysis.note_taken(p_shard, v_now);
  PERFORM analysis.apply_freed_places(p_shard, p_limit, v_from);
  SELECT array_agg(o.user_id), array_agg(o.period) INTO v_user, v_period
  FROM (SELECT DISTINCT r.user_id, r.period FROM (
          SELECT f.user_id, f.period FROM analysis.refund f WHERE f.shard + 0 = p_shard AND f.at >= v_from
          ORDER BY f.shard + 0, f.at LIMIT 100000) r ORDER BY 1, 2 LIMIT p_limit) o
  CROSS JOIN LATERAL (
    SELECT 1 FROM analysis.usage s
    WHERE s.shard = p_shard AND s.user_id = o.user_id AND s.period = o.period
    FOR NO KEY UPDATE SKIP LOCKED) u;
  -- All of the first are held: those of the others, by user.
  IF v_user IS NULL AND (
    SELECT count(*) = 100000 FROM (
      SELECT FROM analysis.refund f WHERE f.shard + 0 = p_shard AND f.at >= v_from
      ORDER BY f.shard + 0, f.at LIMIT 100000) f) THEN
    v_from := NULL;
    SELECT array_agg(o.user_id), array_agg(o.period) INTO v_user, v_period
    FROM (SELECT DISTINCT r.user_id, r.period FROM analysis.refund r
          WHERE r.shard = p_shard ORDER BY 1, 2 LIMIT p_limit) o
    CROSS JOIN LATERAL (
      SELECT 1 FROM analysis.usage s
      WHERE s.shard = p_shard AND s.user_id = o.user_id AND s.period = o.period
      FOR NO KEY UPDATE SKIP LOCKED) u;
  END IF;
  IF v_user IS NULL THEN
    RETURN 0;
  END IF;
  RETURN analysis.apply_refunds_locked(p_shard, v_user, v_period, v_from);
END $$;
DROP FUNCTION IF EXISTS analysis.apply_refunds_locked(smallint, bigint[], smallint[]);
COMMENT ON FUNCTION analysis.apply_refunds IS
  'Applies pending refunds to the counts of units.';

-- What a user used of a month so far, and how many of the analyses are there. A unit whose refund is still
-- to be applied does not count as used.
CREATE OR REPLACE FUNCTION analysis.month_of(p_shard smallint, p_user_id bigint, p_period smallint)
RETURNS TABLE (o_used int, o_refunded int, o_refused int, o_analysed int)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_pending int;
BEGIN
  IF NOT analysis.is_seen(analysis.clinics_seen(analysis.caller()), p_shard, p_user_id) THEN
    RETURN;
  END IF;
  SELECT count(*) INTO v_pending FROM analysis.refund f
  WHERE f.shard = p_shard AND f.user_id = p_user_id AND f.period = p_period;
  SELECT u.used, u.refunded, u.refused INTO o_used, o_refunded, o_refused FROM analysis.usage u
  WHERE u.shard = p_shard AND u.user_id = p_user_id AND u.period = p_period;
  o_used := coalesce(o_used, 0) - v_pending;
  o_refunded := coalesce(o_refunded, 0) + v_pending;
  o_refused := coalesce(o_refused, 0);
  SELECT count(*) INTO o_analysed FROM analysis.result r
  WHERE r.shard = p_shard AND r.user_id = p_user_id AND r.period = p_period AND r.outcome = 1;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.month_of IS
  'Answers what a user used of a month, and how many of the jobs are analysed.';
