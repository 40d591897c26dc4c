-- Putting entries into the chain.
--
-- An action writes its entry as a draft, which is there if and only if the action's transaction commits,
-- and locks nothing that others wait for. About once a second a worker chains what is committed, and so does
-- analysisctl as the owner. Nobody else may, since whoever chains can stay in the transaction, and nothing is
-- chained meanwhile.

-- Locks the head of the chain, so that one chains at a time; all of it NULL when somebody else has it.
-- p_wait: whether to wait for two seconds first. Whoever calls this from a transaction that stays open is
-- cut off by the server: such a session may not be idle, and a transaction that has notified cannot be
-- prepared.
CREATE OR REPLACE FUNCTION analysis.lock_audit(p_wait boolean) RETURNS analysis.audit_head
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  v_head analysis.audit_head;
BEGIN
  IF p_wait THEN
    BEGIN
      SELECT h.* INTO v_head FROM analysis.audit_head h FOR UPDATE;
    EXCEPTION WHEN lock_not_available THEN
      RETURN NULL;
    END;
  ELSE
    SELECT h.* INTO v_head FROM analysis.audit_head h FOR UPDATE SKIP LOCKED;
  END IF;
  IF v_head.id IS NOT NULL THEN
    PERFORM set_config('idle_in_transaction_session_timeout', '5s', true), pg_notify('analysis_audit', '');
  ELSIF NOT EXISTS (SELECT FROM analysis.audit_head) THEN
    RAISE EXCEPTION 'the audit has lost its head: what it records cannot be chained'
      USING ERRCODE = 'data_corrupted',
        HINT = 'See what analysisctl audit verify says, and restore analysis.audit_head.';
  END IF;
  RETURN v_head;
END $$;

-- Chains drafts behind a head that is locked, in the order of their numbers, and answers how many.
-- Transactions commit in another order than they took their numbers: what is not committed yet comes
-- after.
CREATE OR REPLACE FUNCTION analysis.chain_drafts(p_head analysis.audit_head, p_limit int) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_draft analysis.audit_draft;
  v_entry analysis.audit;
  v_chained bigint[] := '{}';
BEGIN
  v_entry.id := p_head.id;
  v_entry.hash := p_head.hash;
  FOR v_draft IN SELECT d.* FROM analysis.audit_draft d ORDER BY d.number LIMIT p_limit LOOP
    v_entry.id := v_entry.id + 1;
    v_entry.at := v_draft.at;
    v_entry.role := v_draft.role;
    v_entry.os_user := v_draft.os_user;
    v_entry.host := v_draft.host;
    v_entry.address := v_draft.address;
    v_entry.action := v_draft.action;
    v_entry.object := v_draft.object;
    v_entry.reason := v_draft.reason;
    -- An entry has an object or nothing. Earlier versions recorded what a client gave them, whatever it was.
    v_entry.detail := CASE WHEN jsonb_typeof(v_draft.detail) <> 'object'
      THEN jsonb_build_object('said', v_draft.detail) ELSE v_draft.detail END;
    v_entry.previous := v_entry.hash;
    v_entry.hash := analysis.audit_hash(v_entry);
    INSERT INTO analysis.audit SELECT v_entry.*;
    v_chained := v_chained || v_draft.number;
  END LOOP;
  IF cardinality(v_chained) > 0 THEN
    UPDATE analysis.audit_head SET id = v_entry.id, hash = v_entry.hash;
    DELETE FROM analysis.audit_draft d WHERE d.number = ANY (v_chained);
    PERFORM analysis.count_logins();
  END IF;
  RETURN cardinality(v_chained);
END $$;

-- Chains what is committed, up to p_limit entries, and answers how many; 0 also where somebody else does
-- it, where nothing can be written, or for a login that is no worker's or owner's. Only as a transaction of
-- its own: what a caller's transaction did before could still be undone.
CREATE OR REPLACE FUNCTION analysis.chain_audit(p_limit int, p_wait boolean) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_head analysis.audit_head;
BEGIN
  PERFORM analysis.require_argument(
    p_limit BETWEEN 1 AND 10000 AND p_wait IS NOT NULL,
    'a call chains from 1 to 10000 entries, waiting or not');
  IF current_setting('transaction_read_only')::boolean OR NOT EXISTS (SELECT FROM analysis.audit_draft)
     OR NOT analysis.login_has('{worker}') THEN
    RETURN 0;
  ELSIF pg_current_xact_id_if_assigned() IS NOT NULL THEN
    RAISE EXCEPTION 'the audit is chained in a transaction of its own'
    USING ERRCODE = 'active_sql_transaction';
  END IF;
  v_head := analysis.lock_audit(p_wait);
  RETURN CASE WHEN v_head.id IS NULL THEN 0 ELSE analysis.chain_drafts(v_head, p_limit) END;
END $$;
COMMENT ON FUNCTION analysis.chain_audit IS
  'Puts committed entries into the chain of the audit; answers how many.';

-- How many entries are not in the chain yet, 10,000 being as many or more, and for how many seconds the
-- oldest. Without them an end that is kept says less than what was recorded.
CREATE OR REPLACE FUNCTION analysis.unchained() RETURNS TABLE (o_count int, o_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT (SELECT count(*)::int FROM (SELECT FROM analysis.audit_draft LIMIT 10000) d),
    (SELECT extract(epoch FROM clock_timestamp() - d.at)::double precision FROM analysis.audit_draft d
     ORDER BY d.number LIMIT 1)
$$;
COMMENT ON FUNCTION analysis.unchained IS
  'Answers how many entries of the audit are not chained yet, and for how many seconds the oldest.';
