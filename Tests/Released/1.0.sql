-- What a database of version 1.0 may hold, for the schema of migrations 1 to 9: users, one with the name of
-- another in its decomposed form; a clinic; jobs of the present month in every state, one with an idempotency key;
-- a closed month; an entry of the audit.
DO $$
DECLARE
  v_now timestamptz := now();
  v_period smallint :=
    extract(year FROM v_now AT TIME ZONE 'UTC') * 12 + extract(month FROM v_now AT TIME ZONE 'UTC') - 1;
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY['job', 'image', 'result', 'attempt_error'] LOOP
    EXECUTE format('CREATE TABLE analysis.%I PARTITION OF analysis.%I FOR VALUES FROM (%s) TO (%s)',
      v_table || '_p' || v_period, v_table, v_period, v_period + 1);
  END LOOP;
  INSERT INTO analysis.partition_made (period) VALUES (v_period);

  INSERT INTO analysis.clinic (name) VALUES ('North'), (U&'Cafe\0301');
  INSERT INTO analysis.account (shard, user_id, user_ref, clinic_id, zone, key_salt)
  SELECT 0, nextval('analysis.user_id'), u.name, u.clinic, 'UTC', sha256(convert_to(u.name, 'UTF8'))
  FROM (VALUES (1, 'plain', 1), (2, U&'Jose\0301', NULL), (3, U&'Jos\00E9', NULL)) u(n, name, clinic)
  ORDER BY u.n;
  INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
  SELECT a.shard, a.user_id, v_now - interval '1 day', 1 FROM analysis.account a;

  INSERT INTO analysis.submitter (id, login) VALUES (1, session_user);
  INSERT INTO analysis.image (shard, period, unsanitized, user_id, created_at, used_at, byte_count, sha256, bytes)
  SELECT 0, v_period, true, 1, v_now, v_now, 4, sha256(i.bytes), i.bytes
  FROM (SELECT '\xffd8ff'::bytea || decode(lpad(to_hex(n), 2, '0'), 'hex') AS bytes FROM generate_series(1, 5) n) i;
  INSERT INTO analysis.image (
    shard, period, unsanitized, user_id, created_at, used_at, encrypted_by, byte_count, sha256, wrapped_key, bytes)
  SELECT 0, v_period, true, 2, v_now, v_now, 7, 100, sha256('six'), decode(repeat('01', 72), 'hex'),
    decode(repeat('06', 100), 'hex');

  -- 1 waits, 2 was analysed, 3 died, 4 was cancelled, 5 is for later, 6 was claimed.
  INSERT INTO analysis.job (
    shard, period, kind, lane, id, user_id, image_id, vt, created_at, run_at, image_bytes, image_period, max_attempts,
    submitter, image_unsanitized, closed, image_mark, key_hash)
  SELECT 0, v_period, 1, 5, nextval('analysis.job_id'), i.user_id, i.id, CASE n WHEN 5 THEN -1 ELSE 1000 * n END, v_now,
    CASE n WHEN 5 THEN v_now + interval '1 hour' END, i.byte_count, v_period, 3, 1, true, n = 4,
    substr(i.sha256, 1, 16), CASE n WHEN 1 THEN sha256(sha256('plain') || 'key') END
  FROM analysis.image i JOIN generate_series(1, 6) n ON n = i.id
  ORDER BY n;
  INSERT INTO analysis.idem (shard, period, user_id, job_id, at, key_hash, content_hash)
  SELECT j.shard, j.period, j.user_id, j.id, v_now, j.key_hash, sha256(i.sha256 || '1')
  FROM analysis.job j JOIN analysis.image i ON i.id = j.image_id
  WHERE j.key_hash IS NOT NULL;
  INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id) VALUES (0, 5, 0, v_period, 1000, 1);
  INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id, is_counted)
  VALUES (0, 5, 0, v_period, v_now + interval '1 hour', 5, 1, true);
  INSERT INTO analysis.fair_share (shard, lane, source, user_id, last_vt, step, tail_vt, tail_job, later)
  VALUES (0, 5, 0, 1, 5000, 1000, 4000, 4, 1), (0, 5, 0, 2, 6000, 1000, 6000, 6, 0);
  INSERT INTO analysis.freed_place (shard, lane, source, user_id, vt, later) VALUES (0, 5, 0, 1, 1000, 0);
  INSERT INTO analysis.lease (shard, lane, id, worker_id, deadline, job_ids, periods, tries, user_ids)
  VALUES (0, 5, 42, 11, v_now - interval '1 minute', '{6}', ARRAY[v_period], '{0}', '{2}');
  INSERT INTO analysis.usage (shard, period, used, user_id) VALUES (0, v_period, 5, 1), (0, v_period, 1, 2);
  INSERT INTO analysis.refund (shard, period, user_id, job_id, reason)
  VALUES (0, v_period, 1, 3, 'dead'), (0, v_period, 1, 4, 'cancelled');
  INSERT INTO analysis.result (
    shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls, condition_count, analysis_id, conditions)
  VALUES (0, v_period, 1, 1, 2, 1, v_now, 1, 2, 0, 'a2', '[]'), (0, v_period, 1, 2, 4, 1, v_now, 0, 0, NULL, NULL, NULL);
  INSERT INTO analysis.attempt_error (
    shard, period, attempt, calls, job_id, user_id, worker_id, at, maybe_counted, consumed, class, message)
  VALUES (0, v_period, 1, 1, 3, 1, 11, v_now, false, true, 'server', 'The model ran out of memory.');
  INSERT INTO analysis.dead (shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, message)
  VALUES (0, v_period, 1, 1, 3, 1, v_now, 1, 'server', 'The model ran out of memory.');

  INSERT INTO analysis.statement (report, period, closed_at) VALUES ('usage', 24300, '2025-02-04');
  INSERT INTO analysis.statement_line (
    report, period, line, for_period, shard, user_id, user_ref, zone, used, over, refunded, refused, last_reset,
    last_reset_local)
  VALUES ('usage', 24300, 1, 24300, 0, 1, 'plain', 'UTC', 3, 0, 0, 0, '2025-01-01', '2025-01-01');
  INSERT INTO analysis.audit_draft (at, role, action, object) VALUES (v_now, 'office', 'add_user', 'user:1');
END $$;
