-- Removing counters, events of webhooks and the oldest of the audit. Each call removes p_limit rows at most
-- and answers a row for each month of which some went; no row means that nothing is left to do. A dry run
-- answers all at once.

-- The counters of months that are stated and of which nothing else is left. What is owed and not applied
-- yet stays.
CREATE OR REPLACE FUNCTION analysis.purge_usage(
  p_limit int, p_now timestamptz, p_dry boolean, p_record boolean)
RETURNS TABLE (o_period smallint, o_rows bigint, o_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s' AS $$
DECLARE
  v_until timestamptz := analysis.kept_until('keep_usage', p_now);
BEGIN
  PERFORM analysis.require_argument(
    p_limit BETWEEN 1 AND 100000 AND p_now IS NOT NULL AND p_dry IS NOT NULL,
    'a call needs a time, whether it is a dry run, and a number of rows from 1 to 100000');
  PERFORM analysis.refuse_repeatable_read();
  FOR o_period IN
    SELECT s.period FROM analysis.statement s
    WHERE s.report = 'usage' AND analysis.period_start((s.period + 1)::smallint, 'Etc/GMT+12') <= v_until
      AND NOT EXISTS (SELECT 1 FROM analysis.partition_made m WHERE m.period = s.period)
    ORDER BY s.period
  LOOP
    IF p_dry THEN
      SELECT count(*), coalesce(sum(pg_column_size(u.*)), 0) INTO o_rows, o_bytes FROM analysis.usage u
      WHERE u.period = o_period
        AND NOT EXISTS (SELECT 1 FROM analysis.refund f
                        WHERE f.shard = u.shard AND f.user_id = u.user_id AND f.period = u.period);
    ELSE
      WITH gone AS (
        DELETE FROM analysis.usage d WHERE d.ctid = ANY (ARRAY(
          SELECT u.ctid FROM analysis.usage u
          WHERE u.period = o_period
            AND NOT EXISTS (SELECT 1 FROM analysis.refund f
                            WHERE f.shard = u.shard AND f.user_id = u.user_id AND f.period = u.period)
          LIMIT p_limit FOR UPDATE SKIP LOCKED))
        RETURNING pg_column_size(d.*) AS size)
      SELECT count(*), coalesce(sum(g.size), 0) INTO o_rows, o_bytes FROM gone g;
      IF o_rows > 0 THEN
        PERFORM analysis.record_purge('usage', v_until, p_record);
      END IF;
    END IF;
    CONTINUE WHEN o_rows = 0;
    RETURN NEXT;
    EXIT WHEN NOT p_dry;
  END LOOP;
END $$;
COMMENT ON FUNCTION analysis.purge_usage IS
  'Removes counts of months that are past their time.';

-- Events of a shard that were sent to webhooks, or were to be. Workers that deliver some remove them too; who
-- has removed the last webhook has no such worker any more.
CREATE OR REPLACE FUNCTION analysis.purge_events(
  p_shard smallint, p_limit int, p_now timestamptz, p_dry boolean, p_record boolean)
RETURNS TABLE (o_period smallint, o_rows bigint, o_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '2s' AS $$
BEGIN
  PERFORM analysis.refuse_repeatable_read();
  RETURN QUERY
  SELECT e.period, e.rows, e.bytes FROM analysis.remove_events(p_shard, p_limit, p_now, p_dry) e;
  IF FOUND AND NOT p_dry THEN
    PERFORM analysis.record_purge('events', p_now - interval '7 days', p_record);
  END IF;
END $$;
COMMENT ON FUNCTION analysis.purge_events IS
  'Removes events that were sent to webhooks long ago; answers of which months.';

-- The oldest entries of the audit, and none of the last year, whatever the moment and the setting are. The
-- chain stays whole: the head keeps where it begins now and the hash before that, and the removal is an
-- entry of its own that says both, with the server's clock, the bound and the newest moment that went.
-- p_through: the last entry that may go, so that a run never comes to its own.
CREATE OR REPLACE FUNCTION analysis.purge_audit(
  p_limit int, p_now timestamptz, p_dry boolean, p_through bigint)
RETURNS TABLE (o_period smallint, o_rows bigint, o_bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_clock timestamptz := clock_timestamp();
  v_until timestamptz := analysis.kept_until('keep_audit', p_now);
  v_head analysis.audit_head;
  v_first bigint;                      -- of what stays
  v_previous bytea;
  v_newest timestamptz;
BEGIN
  PERFORM analysis.require_argument(
    p_limit BETWEEN 1 AND 100000 AND p_now IS NOT NULL AND p_dry IS NOT NULL AND p_through IS NOT NULL,
    'a call needs a time, whether it is a dry run, and a number of rows from 1 to 100000');
  PERFORM analysis.refuse_repeatable_read();
  IF v_until IS NULL THEN
    RETURN;
  ELSIF p_dry THEN
    SELECT h.* INTO v_head FROM analysis.audit_head h;
  ELSE
    v_head := analysis.lock_audit(true);
    IF v_head.id IS NULL THEN
      RAISE EXCEPTION 'somebody else is writing the audit' USING ERRCODE = 'lock_not_available';
    END IF;
  END IF;
  v_until := least(v_until, (v_clock AT TIME ZONE 'UTC' - interval '1 year') AT TIME ZONE 'UTC');
  -- Only from the beginning on, up to the first that is still to be kept.
  v_first := least(
    coalesce((SELECT min(a.id) FROM analysis.audit a WHERE a.at > v_until), v_head.id + 1), p_through + 1);
  IF NOT p_dry THEN
    v_first := least(v_first, v_head.first_id + p_limit);
  END IF;
  IF v_first <= v_head.first_id THEN
    RETURN;
  END IF;
  RETURN QUERY
  SELECT analysis.period_of(a.at, 'UTC'), count(*), sum(pg_column_size(a.*)) FROM analysis.audit a
  WHERE a.id < v_first GROUP BY 1 ORDER BY 1;
  IF NOT p_dry THEN
    v_previous := coalesce((SELECT a.previous FROM analysis.audit a WHERE a.id = v_first), v_head.hash);
    UPDATE analysis.audit_head SET first_id = v_first, first_previous = v_previous;
    WITH gone AS (DELETE FROM analysis.audit a WHERE a.id < v_first RETURNING a.at)
    SELECT max(g.at) INTO v_newest FROM gone g;
    PERFORM analysis.audit_add(
      'purge', 'audit', jsonb_build_object(
        'first', v_first, 'previous', encode(v_previous, 'hex'), 'clock', analysis.audit_time(v_clock),
        'until', analysis.audit_time(v_until), 'newest', analysis.audit_time(v_newest)));
    -- The head is locked already, and is not to be seen without the entry that tells of it.
    PERFORM analysis.chain_drafts(v_head, NULL);
  END IF;
END $$;
COMMENT ON FUNCTION analysis.purge_audit IS
  'Removes the oldest entries of the audit that are past their time.';
