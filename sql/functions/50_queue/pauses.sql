-- Pauses by operators. Workers read the table at their housekeeping and claim nothing of what is paused.

-- What is paused, as the audit names it; an account that stands in an address is nobody's business.
CREATE OR REPLACE FUNCTION analysis.pause_target(p_scope text, p_name text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE p_scope WHEN 'all' THEN 'everything'
    ELSE p_scope || ':' || regexp_replace(p_name, '//[^/]*@', '//') END
$$;

-- Pauses something until a time, or until it is resumed; answers paused, changed (it was paused with another
-- reason or end) or unchanged.
CREATE OR REPLACE FUNCTION analysis.pause(p_scope text, p_name text, p_reason text, p_until timestamptz)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_open analysis.pause;
BEGIN
  PERFORM analysis.require_argument(
    CASE p_scope WHEN 'all' THEN p_name = '' WHEN 'type' THEN p_name IN ('throat', 'ear')
      WHEN 'endpoint' THEN length(p_name) BETWEEN 1 AND 200 END
      AND coalesce(length(p_reason) BETWEEN 1 AND 500, true),
    'a pause names what is paused: all, a type or an endpoint; and a reason of 1 to 500 characters, or none');
  IF p_until <= v_now OR p_until = 'infinity' THEN
    RAISE EXCEPTION 'a pause ends in the future' USING ERRCODE = '22023';
  END IF;
  -- One who pauses or resumes at a time, and two seconds' patience; whoever reads is not held up.
  LOCK TABLE analysis.pause IN SHARE ROW EXCLUSIVE MODE;
  UPDATE analysis.pause p SET resumed_at = p.until_at
  WHERE p.scope = p_scope AND p.name = p_name AND p.resumed_at IS NULL AND p.until_at <= v_now;
  SELECT p.* INTO v_open FROM analysis.pause p
  WHERE p.scope = p_scope AND p.name = p_name AND p.resumed_at IS NULL;
  IF FOUND AND v_open.reason IS NOT DISTINCT FROM p_reason
    AND v_open.until_at IS NOT DISTINCT FROM p_until THEN
    RETURN 'unchanged';
  END IF;
  UPDATE analysis.pause p SET resumed_at = v_now, resumed_by = session_user WHERE p.id = v_open.id;
  INSERT INTO analysis.pause (scope, name, reason, until_at, paused_at)
  VALUES (p_scope, p_name, p_reason, p_until, v_now);
  PERFORM analysis.audit_add(
    'pause', analysis.pause_target(p_scope, p_name),
    jsonb_strip_nulls(jsonb_build_object('until', analysis.audit_time(p_until))), p_reason);
  RETURN CASE WHEN v_open.id IS NULL THEN 'paused' ELSE 'changed' END;
END $$;
COMMENT ON FUNCTION analysis.pause IS
  'Pauses all jobs, those of a type or those for an endpoint.';

-- Ends a pause; false when there was none.
CREATE OR REPLACE FUNCTION analysis.resume(p_scope text, p_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_in_force boolean;
BEGIN
  LOCK TABLE analysis.pause IN SHARE ROW EXCLUSIVE MODE;
  UPDATE analysis.pause p
  SET resumed_at = least(v_now, p.until_at), resumed_by = CASE WHEN p.until_at <= v_now THEN NULL
    ELSE session_user END
  WHERE p.scope = p_scope AND p.name = p_name AND p.resumed_at IS NULL
  RETURNING p.resumed_by IS NOT NULL INTO v_in_force;
  IF v_in_force THEN
    PERFORM analysis.audit_add('resume', analysis.pause_target(p_scope, p_name));
  END IF;
  RETURN coalesce(v_in_force, false);
END $$;
COMMENT ON FUNCTION analysis.resume IS
  'Ends a pause; answers whether there was one.';

-- What operators have paused and is paused still.
CREATE OR REPLACE FUNCTION analysis.pauses_in_force()
RETURNS TABLE (
  o_scope text, o_name text, o_reason text, o_by text, o_since timestamptz, o_until timestamptz,
  o_seconds_left float8)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT p.scope, p.name, p.reason, p.paused_by, p.paused_at, p.until_at,
    extract(epoch FROM p.until_at - clock_timestamp())::float8
  FROM analysis.pause p
  WHERE p.resumed_at IS NULL AND (p.until_at IS NULL OR p.until_at > clock_timestamp())
  ORDER BY p.scope, p.name
$$;
COMMENT ON FUNCTION analysis.pauses_in_force IS
  'Answers what operators have paused and is paused still.';
