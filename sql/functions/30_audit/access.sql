-- Reading data of persons: a call that opens it, its commit, and then the rows. Nothing is read
-- before the entry of the audit is there to stay: one that is written together with what is read would go
-- with a rollback, or with a connection that is cut once the rows have come.

-- Records a reading, and answers what the functions that give the rows ask for: the transaction's number,
-- and the time from which on they look for its entry.
CREATE OR REPLACE FUNCTION analysis.open_reading(p_action text, p_object text, p_detail jsonb) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  v_reading text
    := format('%s-%s', pg_current_xact_id(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
BEGIN
  PERFORM analysis.audit_add(
    p_action, p_object, coalesce(p_detail, '{}') || jsonb_build_object('reading', v_reading));
  RETURN v_reading;
END $$;

-- The detail of a reading's entry; p_object NULL: whatever was opened. Refuses what belongs to no reading
-- of this that this role has opened, in the last day, and committed.
CREATE OR REPLACE FUNCTION analysis.require_reading(p_action text, p_object text, p_reading text)
RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_opened timestamptz := '1970-01-01 00:00:00+00'::timestamptz
    + substring(p_reading FROM '^[0-9]{1,20}-([0-9]{1,17})$')::bigint * interval '1 microsecond';
  v_detail jsonb;
BEGIN
  -- What is seen of another transaction is committed; it may not be chained yet. The entry has its time
  -- from the same call that opened the reading.
  IF split_part(p_reading, '-', 1) IS DISTINCT FROM pg_current_xact_id_if_assigned()::text
     AND v_opened > clock_timestamp() - interval '1 day' THEN
    SELECT a.detail INTO v_detail FROM analysis.audit_entry a
    WHERE a.at >= v_opened AND a.at < v_opened + interval '1 minute' AND a.action = p_action
      AND a.role = session_user
      AND (p_object IS NULL OR a.object = p_object) AND a.detail ->> 'reading' = p_reading;
  END IF;
  IF v_detail IS NULL THEN
    RAISE EXCEPTION 'the audit has no entry of this reading' USING ERRCODE = 'insufficient_privilege',
      HINT = 'Call the function that opens it, commit, and give what it answered.';
  END IF;
  RETURN v_detail;
END $$;

-- Records that a person's data, with the images, are read, and answers whom and by what the parts know it.
-- No row: there is no such user, or none of the clinics that the caller sees.
CREATE OR REPLACE FUNCTION analysis.open_export(p_shard smallint, p_user text)
RETURNS TABLE (o_user_id bigint, o_export text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_seen int[] := analysis.clinics_seen(analysis.caller());
BEGIN
  SELECT a.user_id INTO o_user_id FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user)
    AND (v_seen IS NULL OR a.clinic_id = ANY (v_seen));
  IF NOT FOUND THEN
    RETURN;
  END IF;
  o_export := analysis.open_reading('export', 'user:' || o_user_id, NULL);
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION analysis.open_export IS
  'Records that a person''s data are exported; answers what the parts of the export ask for.';

-- Who they are and what they used: the first part of an export. NULL: there is no such user.
CREATE OR REPLACE FUNCTION analysis.export_user(p_shard smallint, p_user_id bigint, p_export text)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
BEGIN
  PERFORM analysis.require_reading('export', 'user:' || p_user_id, p_export);
  RETURN (SELECT jsonb_build_object(
    'user', a.user_ref, 'number', a.user_id, 'zone', a.zone, 'added_at', a.created_at, 'erased_at',
    a.erased_at, 'anchors', (
      SELECT coalesce(
        jsonb_agg(
          jsonb_build_object(
            'anchor', e & 31, 'from', CASE WHEN e >= 32 THEN analysis.period_text((e / 32)::smallint) END)
          ORDER BY e), '[]')
      FROM unnest(a.anchors) e),
    'clinic', (SELECT c.name FROM analysis.clinic c WHERE c.id = a.clinic_id),
    'profile', (
      SELECT to_jsonb(p) - '{shard,user_id}'::text[] FROM analysis.profile p
      WHERE p.shard = a.shard AND p.user_id = a.user_id),
    'renamed_at', (
      SELECT coalesce(jsonb_agg(DISTINCT r.since), '[]') FROM analysis.renamed r
      WHERE r.shard = a.shard AND r.user_id = a.user_id),
    'plans', (
      SELECT coalesce(
        jsonb_agg(
          jsonb_build_object('plan', p.name, 'from', nullif(h.valid_from, '-infinity'))
          ORDER BY h.valid_from), '[]')
      FROM analysis.account_plan h JOIN analysis.plan p ON p.id = h.plan_id
      WHERE h.shard = a.shard AND h.user_id = a.user_id),
    'months', (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'month', analysis.period_text(u.period), 'used', u.used, 'refunded', u.refunded, 'refused', u.refused)
          ORDER BY u.period), '[]')
      FROM analysis.usage u WHERE u.shard = a.shard AND u.user_id = a.user_id),
    'tokens', (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'token', t.number, 'label', t.label, 'added_at', t.created_at, 'expires_at', analysis.token_ends(t),
        'session', t.family IS NOT NULL, 'revoked_at', t.revoked_at, 'last_used_on', t.last_used_on)
          ORDER BY t.number), '[]')
      FROM analysis.user_token t WHERE t.shard = a.shard AND t.user_id = a.user_id),
    'shares', analysis.shares_exported(a.shard, a.user_id),
    'webhooks', (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'url', w.url, 'findings', w.has_findings, 'added_at', w.created_at, 'off_at', w.off_at)
          ORDER BY w.id), '[]')
      FROM analysis.webhook w WHERE w.shard = a.shard AND w.user_id = a.user_id),
    'told', (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'webhook', w.host, 'job', e.job_id::text, 'at', e.at, 'delivered_at', e.delivered_at,
        'limit_percent', CASE e.state WHEN 4 THEN 80 WHEN 5 THEN 100 END)
          ORDER BY e.id), '[]')
      FROM analysis.webhook_event e JOIN analysis.webhook w ON w.id = e.webhook_id
      WHERE e.shard = a.shard AND e.user_id = a.user_id AND e.state <> 0))
  FROM analysis.account a WHERE a.shard = p_shard AND a.user_id = p_user_id);
END $$;
COMMENT ON FUNCTION analysis.export_user IS
  'Answers the account of a person who is exported.';

-- The conditions of a result, with their bands by name.
CREATE OR REPLACE FUNCTION analysis.conditions_exported(p_conditions jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    jsonb_agg(
      c.condition || jsonb_build_object(
        'band', (ARRAY['green', 'yellow', 'orange', 'red'])[(c.condition ->> 'band')::int])
      ORDER BY c.position),
    '[]')
  FROM jsonb_array_elements(p_conditions) WITH ORDINALITY c(condition, position)
$$;

-- Every job of a user, in the order in which they came: what was submitted, what was found and what went
-- wrong. An image by its number, as the next function has it, while it is kept. Each call is an entry in
-- the audit, beside that of the export.
CREATE OR REPLACE FUNCTION analysis.export_jobs(p_shard smallint, p_user_id bigint, p_export text)
RETURNS TABLE (o_job jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
BEGIN
  PERFORM analysis.require_reading('export', 'user:' || p_user_id, p_export);
  PERFORM analysis.audit_add('read_result', 'user:' || p_user_id);
  RETURN QUERY
  SELECT jsonb_build_object(
    'job', j.id, 'month', analysis.period_text(j.period), 'type', CASE j.kind WHEN 1 THEN 'throat'
      ELSE 'ear' END,
    'submitted_at', j.created_at, 'not_before', j.run_at, 'not_after', j.expires_at, 'file', j.source_name,
    'reference', t.reference, 'batch', 'B' || t.batch_id, 'batch_name', t.batch_name,
    'state', CASE WHEN r.outcome = 1 THEN 'succeeded' WHEN r.outcome = 2 THEN 'cancelled'
                  WHEN d.job_id IS NOT NULL THEN 'dead' ELSE 'open' END,
    'ended_at', coalesce(r.finished_at, d.failed_at),
    'image', CASE WHEN i.id IS NOT NULL THEN jsonb_build_object(
      'image', i.id, CASE WHEN i.encrypted_by IS NULL THEN 'sha256' ELSE 'hmac_sha256' END,
      encode(i.sha256, 'hex'), 'width', i.width, 'height', i.height) END,
    'analysis', CASE WHEN r.outcome = 1 THEN jsonb_build_object(
      'analysis', r.analysis_id, 'answered_at', r.answered_at, 'serious', r.serious, 'consult', r.consult,
      'endpoint_serious', r.endpoint_serious, 'endpoint_consult', r.endpoint_consult, 'model', r.model,
      'conditions', analysis.conditions_exported(r.conditions)) END,
    'reviews', (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'by', v.reviewer, 'verdict', analysis.verdict_name(v.verdict), 'instead', v.instead, 'at', v.at,
        'until', v.replaced_at)
          ORDER BY v.at, v.reviewer), '[]')
      FROM analysis.review v WHERE v.shard = p_shard AND v.period = j.period AND v.job_id = j.id),
    'comments', (
      SELECT coalesce(jsonb_agg(jsonb_build_object('by', c.author, 'at', c.at, 'comment', c.body)
          ORDER BY c.number), '[]')
      FROM analysis.review_comment c WHERE c.shard = p_shard AND c.period = j.period AND c.job_id = j.id),
    'failure', CASE WHEN d.job_id IS NOT NULL
      THEN jsonb_build_object('class', d.class, 'code', d.code, 'message', d.message) END,
    'attempts', (
      SELECT coalesce(jsonb_agg(jsonb_build_object(
        'at', e.at, 'class', e.class, 'code', e.code, 'message', e.message, 'error', e.error_id)
          ORDER BY e.at), '[]')
      FROM analysis.attempts_of(p_shard, j.id) e))
  FROM (SELECT x.o_period, x.o_job FROM analysis.jobs_of_user(p_shard, p_user_id, false) x) o
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.job k
    WHERE k.shard = p_shard AND k.period = o.o_period AND k.id = o.o_job OFFSET 0) j
  LEFT JOIN LATERAL (
    SELECT l.reference, l.batch_id,
      (SELECT b.name FROM analysis.batch b WHERE b.id = l.batch_id) AS batch_name
    FROM analysis.job_label l
    WHERE l.shard = p_shard AND l.period = j.period AND l.job_id = j.id OFFSET 0) t ON true
  LEFT JOIN LATERAL (
    SELECT k.* FROM analysis.result k
    WHERE k.shard = p_shard AND k.period = j.period AND k.job_id = j.id OFFSET 0) r ON true
  LEFT JOIN LATERAL (
    SELECT k.* FROM analysis.dead k WHERE k.shard = p_shard AND k.job_id = j.id OFFSET 0) d ON r.job_id
      IS NULL
  LEFT JOIN LATERAL (
    SELECT k.id, k.sha256, k.encrypted_by, k.width, k.height FROM analysis.image k
    WHERE k.shard = p_shard AND k.period = j.image_period AND k.id = j.image_id OFFSET 0) i ON true
  ORDER BY j.id;
END $$;
COMMENT ON FUNCTION analysis.export_jobs IS
  'Answers every job of a person who is exported.';

-- The next images of a user's month that are kept, as they are stored, with what is needed to decrypt
-- them, in the order of their numbers. Each call is an entry in the audit, beside that of the export.
CREATE OR REPLACE FUNCTION analysis.export_images(
  p_shard smallint, p_user_id bigint, p_export text, p_period smallint, p_after bigint, p_limit int)
RETURNS TABLE (
  o_image bigint, o_bytes bytea, o_sha256 bytea, o_unsanitized boolean, o_encrypted_by bigint,
  o_wrapped_key bytea, o_user_sha256 bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_image bigint[];
BEGIN
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND p_user_id IS NOT NULL AND p_period IS NOT NULL AND p_after IS NOT NULL
      AND p_limit BETWEEN 1 AND 1000,
    'an export names a shard, a user, a month and where to go on, and reads 1 to 1000 images');
  PERFORM analysis.require_reading('export', 'user:' || p_user_id, p_export);
  v_image := ARRAY(
    SELECT i.id FROM analysis.image i
    WHERE i.shard = p_shard AND i.period = p_period AND i.user_id = p_user_id AND i.id > p_after ORDER BY i.id
    LIMIT p_limit);
  IF cardinality(v_image) = 0 THEN
    RETURN;
  END IF;
  PERFORM analysis.audit_add(
    'read_image', 'user:' || p_user_id,
    jsonb_build_object('month', analysis.period_text(p_period), 'images', to_jsonb(v_image)));
  RETURN QUERY
  SELECT i.id, i.bytes, i.sha256, i.unsanitized, i.encrypted_by, i.wrapped_key,
    coalesce(i.user_sha256, u.user_sha256)
  FROM (SELECT unnest(v_image) AS id) g
  CROSS JOIN LATERAL (
    SELECT k.* FROM analysis.image k
    WHERE k.shard = p_shard AND k.period = p_period AND k.id = g.id OFFSET 0) i
  CROSS JOIN (
    SELECT sha256(convert_to(a.user_ref, 'UTF8')) AS user_sha256 FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_id = p_user_id) u
  ORDER BY i.id;
END $$;
COMMENT ON FUNCTION analysis.export_images IS
  'Answers a page of the images of a person who is exported.';
