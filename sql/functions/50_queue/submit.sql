-- Submitting. Limit, month, shard, cost and clock are looked up here; the caller only says who wants what.

-- What binds everybody, in one row. Workers refresh the gauges; where none has for a minute the submit takes
-- what the server has counted anyway, and writes nothing: its transaction may stay open, and would keep the
-- workers from the gauge. A part of what calls it.
CREATE OR REPLACE FUNCTION analysis.admission_at(p_now timestamptz)
RETURNS TABLE (
  max_bytes bigint, max_all bigint, max_waiting bigint, only_encrypted boolean, has_old_keys boolean,
  once boolean, waiting bigint, submitter smallint, version bigint)
LANGUAGE sql STABLE AS $$
  SELECT g.max_bytes, g.max_all, g.max_waiting, g.only_encrypted, g.has_old_keys,
    -- By the setting, or for this transaction, as a gateway has it.
    g.photos_once OR coalesce(current_setting('analysis.photos_once', true) = 'yes', false),
    CASE WHEN g.counted_at BETWEEN p_now - interval '1 minute' AND clock_timestamp() THEN g.waiting
      ELSE analysis.counted_waiting() END,
    s.id, g.version
  FROM analysis.admission g
  LEFT JOIN LATERAL (SELECT k.id FROM analysis.submitter k WHERE k.login = session_user LIMIT 1) s ON true
  WHERE g.is_only
$$;

-- How large the database is, by the gauge or as the server has counted.
CREATE OR REPLACE FUNCTION analysis.bytes_at(p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN coalesce((
    SELECT g.value FROM analysis.gauge g
    WHERE g.name = 'database_bytes' AND g.at BETWEEN p_now - interval '1 minute' AND clock_timestamp()),
    analysis.counted_bytes());
END $$;

-- The rules of a submit the general way, with what a transaction of another isolation needs.
CREATE OR REPLACE FUNCTION analysis.rules_of_submit(
  p_shard smallint, p_users text[], p_keys text[], p_now timestamptz, p_max_attempts smallint)
RETURNS analysis.submit_rules
LANGUAGE plpgsql AS $$
DECLARE
  v_rules analysis.submit_rules;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    PERFORM analysis.refuse_repeatable_read();
    PERFORM analysis.hold_accounts(p_shard, NULL, p_users);
  END IF;
  SELECT p_max_attempts, r.max_waiting, p_now, coalesce(r.submitter, analysis.new_submitter()),
    r.has_old_keys, r.only_encrypted,
    r.once AND (p_keys IS NULL OR array_position(p_keys, NULL) IS NOT NULL),
    CASE WHEN CASE WHEN r.max_bytes IS NOT NULL THEN analysis.bytes_at(p_now) >= r.max_bytes END
           THEN 'storage_full'
         WHEN r.waiting >= r.max_all THEN 'queue_full' END
  INTO STRICT v_rules FROM analysis.admission_at(p_now) r;
  RETURN v_rules;
END $$;

-- Whether arrays have an element for each job of a submit, all with the dimensions p_dims; which ones may be
-- NULL as a whole. A part of what calls it.
CREATE OR REPLACE FUNCTION analysis.are_submissions(
  p_jobs analysis.submissions, p_images bytea[], p_dims text)
RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT num_nulls(p_jobs."user", p_jobs.kind, p_jobs.priority, p_jobs.sha256) = 0
    AND concat_ws(
      ',', array_dims(p_jobs."user"), array_dims(p_jobs.kind), array_dims(p_jobs.priority),
      array_dims(p_jobs.sha256), array_dims(p_images), array_dims(p_jobs.width), array_dims(p_jobs.height),
      array_dims(p_jobs.unsanitized), array_dims(p_jobs.key), array_dims(p_jobs.at),
      array_dims(p_jobs.expires), array_dims(p_jobs.source), array_dims(p_jobs.encrypted_by),
      array_dims(p_jobs.wrapped_key))
    = p_dims || repeat(
      ',' || p_dims, 3 + num_nonnulls(
        p_images, p_jobs.width, p_jobs.height, p_jobs.unsanitized, p_jobs.key, p_jobs.at, p_jobs.expires,
        p_jobs.source, p_jobs.encrypted_by, p_jobs.wrapped_key))
$$;

-- Looks up user, month, plan and limit, once for each user and moment, and judges each job as far as it can
-- be judged alone.
CREATE OR REPLACE FUNCTION analysis.judge_submissions(
  p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_rules analysis.submit_rules,
  OUT o_state analysis.submit_state)
LANGUAGE plpgsql AS $$
BEGIN
  WITH asked AS MATERIALIZED (
    SELECT t.*, greatest(t.at, p_rules.now) AS run_from,
      p_images[t.i] IS NOT NULL AND t.encrypted_by IS NULL AS is_plaintext,
      analysis.is_sound(
        t.user_ref, t.kind, t.priority, t.sha256, coalesce(t.object_bytes, octet_length(p_images[t.i])),
        t.width, t.height, t.key, t.source, t.at)
        AND analysis.is_soundly_encrypted(
          t.encrypted_by, t.key_bytes, coalesce(t.object_bytes, octet_length(p_images[t.i])))
        AND analysis.is_expiry(t.expires) AS sound
    FROM (
      SELECT generate_series(1, cardinality(p_jobs."user")) AS i, unnest(p_jobs."user") AS user_ref,
        unnest(p_jobs.kind) AS kind, unnest(p_jobs.priority) AS priority, unnest(p_jobs.sha256) AS sha256,
        unnest(p_jobs.width) AS width, unnest(p_jobs.height) AS height, unnest(p_jobs.key) AS key,
        unnest(p_jobs.at) AS at, unnest(p_jobs.expires) AS expires, unnest(p_jobs.source) AS source,
        unnest(p_jobs.encrypted_by) AS encrypted_by, octet_length(unnest(p_jobs.wrapped_key)) AS key_bytes,
        unnest(p_jobs.object_bytes) AS object_bytes) t),
  known AS MATERIALIZED (
    SELECT d.user_ref, d.run_from, a.user_id, a.key_salt, f.period, m.period IS NOT NULL AS is_open, l.cost,
      CASE WHEN l.plan_id IS NULL THEN 0 ELSE l.monthly_limit END AS quota
    FROM (SELECT DISTINCT t.user_ref, t.run_from FROM asked t WHERE t.sound) d
    LEFT JOIN LATERAL (
      SELECT c.user_id, c.zone, c.anchors, c.key_salt FROM analysis.account c
      WHERE c.shard = p_shard AND c.user_ref = d.user_ref AND c.erased_at IS NULL OFFSET 0) a ON true
    CROSS JOIN LATERAL (SELECT analysis.period_at(d.run_from, a.zone, a.anchors) AS period OFFSET 0) f
    LEFT JOIN LATERAL (
      SELECT q.plan_id, q.monthly_limit, q.cost
      FROM analysis.limit_of(p_shard, a.user_id, d.run_from) q OFFSET 0) l ON true
    LEFT JOIN analysis.partition_made m ON m.period = f.period)
  SELECT array_agg(x.user_id), array_agg(x.lane), array_agg(x.period), array_agg(x.quota), array_agg(x.cost),
    array_agg(x.job_id), array_agg(x.run_at), array_agg(x.key_hash), array_agg(x.old_hash),
    array_agg(x.content_hash), array_agg(x.reason), array_agg(NULL::bigint)
  INTO o_state.user_id, o_state.lane, o_state.period, o_state.quota, o_state.cost, o_state.job,
    o_state.run_at, o_state.key_hash, o_state.old_hash, o_state.content_hash, o_state.reason, o_state.twin
  FROM (
    SELECT k.user_id, CASE WHEN t.sound THEN analysis.lane_of(t.kind, t.priority) END AS lane, k.period,
      k.quota, k.cost, nextval('analysis.job_id') AS job_id,
      CASE WHEN t.at > p_rules.now THEN t.at END AS run_at,
      analysis.key_hash(k.key_salt, t.key) AS key_hash,
      CASE WHEN p_rules.has_old_keys THEN analysis.old_key_hash(k.key_salt, t.key) END AS old_hash,
      sha256(t.sha256 || convert_to(t.kind::text, 'UTF8')) AS content_hash,
      CASE WHEN NOT t.sound THEN 'bad_argument'
           WHEN k.user_id IS NULL AND analysis.shard_of(t.user_ref) <> p_shard THEN 'wrong_shard'
           WHEN k.user_id IS NULL THEN 'unknown_user'
           WHEN t.expires <= t.run_from THEN 'expired'
           WHEN NOT k.is_open THEN 'no_partition'
           WHEN p_rules.only_encrypted AND t.is_plaintext THEN analysis.plaintext_refusal()
           ELSE p_rules.full END AS reason
    FROM asked t
    LEFT JOIN known k ON k.user_ref = t.user_ref AND k.run_from = t.run_from AND t.sound
    ORDER BY t.i) x;
END $$;

-- Locks the usage rows of whoever may be given something. From here on nobody else submits for these users
-- and months, so that what is read after it holds: also whether a key is there. Who was erased or renamed
-- while this call waited is unknown now, and no job is labelled by an anchor that was replaced meanwhile:
-- seen with the locks, which all three take too.
CREATE OR REPLACE FUNCTION analysis.lock_submitted(
  p_shard smallint, p_users text[], p_now timestamptz, INOUT p_state analysis.submit_state)
LANGUAGE plpgsql AS $$
DECLARE
  v_gone bigint[];                     -- who was erased or renamed
  v_has_moved boolean;                 -- whether anybody has another period now
BEGIN
  PERFORM analysis.lock_usage(p_shard, array_agg(s.user_id), array_agg(s.period))
  FROM (
    SELECT DISTINCT t.user_id, t.period
    FROM (SELECT unnest(p_state.user_id) AS user_id, unnest(p_state.period) AS period,
                 unnest(p_state.reason) AS reason) t
    WHERE t.reason IS NULL) s
  HAVING count(*) > 0;
  SELECT array_agg(g.user_id) FILTER (WHERE a.is_gone), bool_or(a.has_moved AND NOT a.is_gone)
  INTO v_gone, v_has_moved
  FROM (
    SELECT DISTINCT unnest(p_state.user_id) AS user_id, unnest(p_users) AS user_ref,
      unnest(p_state.period) AS period, unnest(p_state.run_at) AS run_at) g
  CROSS JOIN LATERAL (
    SELECT c.erased_at IS NOT NULL OR c.user_ref <> g.user_ref AS is_gone,
      analysis.period_at(coalesce(g.run_at, p_now), c.zone, c.anchors) <> g.period AS has_moved
    FROM analysis.account c WHERE c.shard = p_shard AND c.user_id = g.user_id OFFSET 0) a;
  IF v_has_moved THEN
    RAISE EXCEPTION 'the period of a user was changed while this submit waited'
      USING ERRCODE = 'lock_not_available', HINT = 'Submit again.';
  ELSIF v_gone IS NOT NULL THEN
    SELECT array_agg(CASE WHEN n.user_id IS NULL THEN g.user_id END ORDER BY g.i),
      array_agg(CASE WHEN n.user_id IS NULL THEN g.reason ELSE 'unknown_user' END ORDER BY g.i)
    INTO p_state.user_id, p_state.reason
    FROM (SELECT generate_series(1, cardinality(p_users)) AS i, unnest(p_state.user_id) AS user_id,
                 unnest(p_state.reason) AS reason) g
    LEFT JOIN (SELECT DISTINCT unnest(v_gone) AS user_id) n ON n.user_id = g.user_id;
  END IF;
END $$;

-- Writes the keys of jobs that are neither refused nor known; false where one is there already.
CREATE OR REPLACE FUNCTION analysis.keep_keys(
  p_shard smallint, p_now timestamptz, p_state analysis.submit_state)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO analysis.idem (shard, user_id, key_hash, content_hash, job_id, period, at)
  SELECT p_shard, t.user_id, t.key_hash, t.content_hash, t.job_id, t.period, p_now
  FROM (SELECT unnest(p_state.user_id) AS user_id, unnest(p_state.key_hash) AS key_hash,
               unnest(p_state.content_hash) AS content_hash, unnest(p_state.job) AS job_id,
               unnest(p_state.period) AS period, unnest(p_state.reason) AS reason,
               unnest(p_state.twin) AS twin) t
  WHERE t.key_hash IS NOT NULL AND t.reason IS NULL AND t.twin IS NULL
  ORDER BY t.user_id, t.key_hash;
  RETURN true;
EXCEPTION WHEN unique_violation THEN
  RETURN false;
END $$;

-- Idempotency, before everything that may refuse: a repeat is answered even when nothing new is taken. Most
-- calls bring new keys only; those are written at once, and the table's own key tells. Who repeats a call
-- repeats its first key. Keys of version 1.0 are kept otherwise, and are looked up. NULL: there are no keys;
-- true: they are kept; false: there may be duplicates among them.
CREATE OR REPLACE FUNCTION analysis.keep_new_keys(
  p_shard smallint, p_rules analysis.submit_rules, p_state analysis.submit_state)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  v_first int;                         -- the index of the first key
  v_is_refused boolean;
BEGIN
  SELECT min(t.i), bool_or(t.reason IS NOT NULL) INTO v_first, v_is_refused
  FROM (SELECT generate_series(1, cardinality(p_state.job)) AS i, unnest(p_state.key_hash) AS key_hash,
               unnest(p_state.reason) AS reason) t
  WHERE t.key_hash IS NOT NULL;
  IF v_first IS NULL THEN
    RETURN NULL;
  ELSIF v_is_refused OR EXISTS (
      SELECT 1 FROM analysis.idem k
      WHERE k.shard = p_shard AND k.user_id = p_state.user_id[v_first]
        AND k.key_hash = p_state.key_hash[v_first])
      OR p_rules.has_old_keys AND EXISTS (
        SELECT FROM (SELECT unnest(p_state.user_id) AS user_id, unnest(p_state.old_hash) AS old_hash) t
        CROSS JOIN LATERAL (
          SELECT FROM analysis.idem k
          WHERE k.shard = p_shard AND k.user_id = t.user_id AND k.key_hash = t.old_hash OFFSET 0) k) THEN
    RETURN false;
  END IF;
  RETURN analysis.keep_keys(p_shard, p_rules.now, p_state);
END $$;

-- Finds the twin of each job whose key is there already, or comes twice in the call, with the same content:
-- it is a duplicate.
CREATE OR REPLACE FUNCTION analysis.find_twins(p_shard smallint, INOUT p_state analysis.submit_state)
LANGUAGE plpgsql AS $$
DECLARE
  v_job bigint[] := p_state.job;
  v_content bytea[] := p_state.content_hash;
  v_period smallint[] := p_state.period;
BEGIN
  SELECT array_agg(x.reason), array_agg(x.twin), array_agg(x.twin_period), array_agg(x.leader)
  INTO p_state.reason, p_state.twin, p_state.twin_period, p_state.leader
  FROM (
    SELECT
      CASE WHEN t.content_hash = f.content_hash THEN NULL WHEN t.job_id IS NULL THEN f.reason
           ELSE 'key_conflict' END AS reason,
      CASE WHEN t.content_hash = f.content_hash THEN t.job_id END AS twin,
      CASE WHEN t.content_hash = f.content_hash THEN t.period END AS twin_period,
      CASE WHEN f.job_there IS NULL THEN t.leader END AS leader
    FROM (
      SELECT s.*, e.o_job AS job_there, e.o_content AS content_there, e.o_period AS period_there,
        CASE WHEN s.key_hash IS NOT NULL THEN
          min(s.i) FILTER (WHERE s.reason IS NULL) OVER (PARTITION BY s.user_id, s.key_hash) END AS first
      FROM (SELECT generate_series(1, cardinality(v_job)) AS i, unnest(p_state.user_id) AS user_id,
                   unnest(p_state.key_hash) AS key_hash, unnest(p_state.old_hash) AS old_hash,
                   unnest(p_state.content_hash) AS content_hash, unnest(p_state.reason) AS reason) s
      LEFT JOIN LATERAL analysis.job_of_key(p_shard, s.user_id, s.key_hash, s.old_hash) e ON true) f
    -- Its twin: the job that is there, or the first of this call with the key.
    CROSS JOIN LATERAL (
      SELECT f.job_there AS job_id, f.content_there AS content_hash, f.period_there AS period,
        NULL::int AS leader
      WHERE f.job_there IS NOT NULL OR f.first IS NULL OR f.first >= f.i
      UNION ALL
      SELECT v_job[f.first], v_content[f.first], v_period[f.first], f.first
      WHERE f.job_there IS NULL AND f.first < f.i) t
    ORDER BY f.i) x;
END $$;

-- A photo that comes without a key is one job a day: of the jobs that this login has submitted for the user
-- in the day before, one with the same image and type that has an analysis or may still get one. Whoever lost
-- an answer and sends the photo again gets that job, whatever may refuse a new one; so does whoever sends it
-- twice in one call. A job that is to run later is meant, and is no repeat. Who submits for the user at the
-- same moment has been waited for; only a month that begins just then has another counter.
CREATE OR REPLACE FUNCTION analysis.find_photos(
  p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_rules analysis.submit_rules,
  INOUT p_state analysis.submit_state)
LANGUAGE plpgsql AS $$
DECLARE
  v_job bigint[] := p_state.job;
  v_period smallint[] := p_state.period;
BEGIN
  WITH asked AS MATERIALIZED (
    SELECT t.*, substr(t.sha256, 1, 16) AS mark, t.user_id IS NOT NULL AND t.key_hash IS NULL
        AND t.run_at IS NULL AND (t.reason IS NULL OR t.reason = p_rules."full") AS is_photo
    FROM (
      SELECT generate_series(1, cardinality(v_job)) AS i, unnest(p_state.user_id) AS user_id,
        unnest(p_jobs.kind) AS kind, unnest(p_jobs.sha256) AS sha256, unnest(p_state.key_hash) AS key_hash,
        unnest(p_state.run_at) AS run_at, unnest(p_state.reason) AS reason, unnest(p_state.twin) AS twin,
        unnest(p_state.twin_period) AS twin_period, unnest(p_state.leader) AS leader) t),
  stored AS MATERIALIZED (
    SELECT g.user_id, array_agg(g.mark) AS marks
    FROM (SELECT DISTINCT a.user_id, a.sha256, a.mark, p_images[a.i] IS NULL AS is_named FROM asked a
          WHERE a.is_photo) g
    WHERE g.is_named OR analysis.is_photo_stored(p_shard, g.user_id, g.sha256, p_rules.now)
    GROUP BY 1),
  there AS MATERIALIZED (
    SELECT DISTINCT ON (s.user_id, j.o_kind, j.o_mark) s.user_id, j.*
    FROM stored s
    CROSS JOIN LATERAL analysis.jobs_of_day(p_shard, s.user_id, s.marks, p_rules.now) j
    ORDER BY s.user_id, j.o_kind, j.o_mark, j.o_job DESC)
  SELECT array_agg(x.reason), array_agg(x.twin), array_agg(x.twin_period), array_agg(x.leader)
  INTO p_state.reason, p_state.twin, p_state.twin_period, p_state.leader
  FROM (
    SELECT CASE WHEN h.o_job IS NULL THEN f.reason END AS reason,
      coalesce(h.o_job, v_job[f.earlier], f.twin) AS twin,
      coalesce(h.o_period, v_period[f.earlier], f.twin_period) AS twin_period,
      CASE WHEN h.o_job IS NULL THEN coalesce(f.earlier, f.leader) END AS leader
    FROM (
      SELECT d.*, CASE WHEN d.is_photo AND d.first < d.i THEN d.first END AS earlier
      FROM (
        SELECT a.*, min(a.i) FILTER (WHERE a.is_photo AND a.reason IS NULL)
          OVER (PARTITION BY a.user_id, a.kind, a.sha256) AS first
        FROM asked a) d) f
    LEFT JOIN there h ON f.is_photo AND h.user_id = f.user_id AND h.o_kind = f.kind AND h.o_mark = f.mark
    ORDER BY f.i) x;
END $$;

-- Finds the images that are not given: they have to be there, and stay while this transaction is open. Each
-- is looked for once, however many jobs show it: first among the images of the job's own month, then in the
-- others. Here and in the other looks for a hash the order asks for the index of hashes: see make_partition.
CREATE OR REPLACE FUNCTION analysis.find_images(
  p_shard smallint, p_sha256 bytea[], p_images bytea[], p_only_encrypted boolean,
  INOUT p_state analysis.submit_state)
LANGUAGE plpgsql AS $$
BEGIN
  WITH named AS MATERIALIZED (
    SELECT t.*, t.reason IS NULL AND t.twin IS NULL AND p_images[t.i] IS NULL AS is_named
    FROM (SELECT generate_series(1, cardinality(p_sha256)) AS i, unnest(p_state.user_id) AS user_id,
                 unnest(p_sha256) AS sha256, unnest(p_state.period) AS period,
                 unnest(p_state.reason) AS reason, unnest(p_state.twin) AS twin) t),
  own AS MATERIALIZED (
    SELECT d.user_id, d.sha256, m.*
    FROM (SELECT DISTINCT n.user_id, n.sha256, n.period FROM named n WHERE n.is_named ORDER BY 1, 2, 3) d
    CROSS JOIN LATERAL (
      SELECT k.id, k.period, k.byte_count, k.unsanitized FROM analysis.image k
      WHERE k.shard = p_shard AND k.period = d.period AND k.user_id = d.user_id
        AND k.sha256 BETWEEN d.sha256 AND d.sha256
        AND k.reusable AND (k.encrypted_by IS NOT NULL OR NOT p_only_encrypted)
      ORDER BY k.sha256 LIMIT 1 FOR KEY SHARE) m),
  older AS MATERIALIZED (
    SELECT d.user_id, d.sha256, m.*
    FROM (SELECT DISTINCT n.user_id, n.sha256 FROM named n
          WHERE n.is_named
            AND NOT EXISTS (SELECT 1 FROM own o WHERE o.user_id = n.user_id AND o.sha256 = n.sha256)
          ORDER BY 1, 2) d
    CROSS JOIN LATERAL (
      SELECT f.* FROM (SELECT p.period FROM analysis.partition_made p ORDER BY p.period DESC) p
      CROSS JOIN LATERAL (
        SELECT k.id, k.period, k.byte_count, k.unsanitized FROM analysis.image k
        WHERE k.shard = p_shard AND k.period = p.period AND k.user_id = d.user_id
          AND k.sha256 BETWEEN d.sha256 AND d.sha256
          AND k.reusable AND (k.encrypted_by IS NOT NULL OR NOT p_only_encrypted)
        ORDER BY k.sha256 LIMIT 1 FOR KEY SHARE) f
      LIMIT 1) m),
  there AS (
    SELECT DISTINCT ON (f.user_id, f.sha256) f.* FROM (SELECT * FROM own UNION ALL SELECT * FROM older) f
    ORDER BY f.user_id, f.sha256, f.period DESC)
  SELECT array_agg(x.reason), array_agg(x.id), array_agg(x.period), array_agg(x.byte_count),
    array_agg(x.unsanitized)
  INTO p_state.reason, p_state.image, p_state.image_period, p_state.image_bytes, p_state.image_unsanitized
  FROM (
    SELECT CASE WHEN n.is_named AND t.id IS NULL THEN 'image_missing' ELSE n.reason END AS reason,
      t.id, t.period, t.byte_count, t.unsanitized
    FROM named n
    LEFT JOIN there t ON t.user_id = n.user_id AND t.sha256 = n.sha256 AND n.is_named
    ORDER BY n.i) x;
END $$;

-- The limit on a user's waiting jobs, by the marks, without counting any. Whoever would be refused by that is
-- looked at more closely. Answers why jobs are refused then.
CREATE OR REPLACE FUNCTION analysis.limit_waiting(
  p_shard smallint, p_most bigint, p_state analysis.submit_state)
RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
  v_reason text[] := p_state.reason;
BEGIN
  WITH asking AS MATERIALIZED (
    SELECT t.* FROM (
      SELECT generate_series(1, cardinality(v_reason)) AS i, unnest(p_state.user_id) AS user_id,
        unnest(p_state.cost) AS cost, unnest(v_reason) AS reason, unnest(p_state.twin) AS twin) t
    WHERE t.reason IS NULL AND t.twin IS NULL),
  -- Nearly always nobody is among them, and that is all there is to it.
  doubtful AS MATERIALIZED (
    SELECT d.user_id, d.cost, d.n
    FROM (SELECT a.user_id, max(a.cost) AS cost, count(*) AS n FROM asking a GROUP BY 1) d
    CROSS JOIN LATERAL analysis.marked_waiting(p_shard, d.user_id, d.cost) b
    WHERE b.waiting + d.n > p_most),
  beyond AS MATERIALIZED (
    SELECT d.user_id, w.waiting FROM doubtful d
    CROSS JOIN LATERAL (SELECT analysis.waiting_of(p_shard, d.user_id, d.cost) AS waiting OFFSET 0) w
    WHERE w.waiting + d.n > p_most)
  SELECT CASE WHEN count(*) = 0 THEN v_reason ELSE (
    SELECT array_agg(
      coalesce(v_reason[n], CASE WHEN x.waiting + x.position > p_most THEN 'waiting_limit' END) ORDER BY n)
    FROM generate_series(1, cardinality(v_reason)) n
    LEFT JOIN (
      SELECT a.i, o.waiting, row_number() OVER (PARTITION BY a.user_id ORDER BY a.i) AS position
      FROM asking a JOIN beyond o ON o.user_id = a.user_id) x ON x.i = n) END
  INTO v_reason FROM beyond;
  RETURN v_reason;
END $$;

-- Takes units of the monthly limits. What repeats a job of this call shares its fate.
CREATE OR REPLACE FUNCTION analysis.take_units(p_shard smallint, INOUT p_state analysis.submit_state)
LANGUAGE plpgsql AS $$
DECLARE
  v_reason text[] := p_state.reason;
  v_leader int[] := p_state.leader;
BEGIN
  WITH asking AS MATERIALIZED (
    SELECT t.* FROM (
      SELECT generate_series(1, cardinality(v_reason)) AS i, unnest(p_state.user_id) AS user_id,
        unnest(p_state.period) AS period, unnest(p_state.quota) AS quota, unnest(v_reason) AS reason,
        unnest(p_state.twin) AS twin) t
    WHERE t.reason IS NULL AND t.twin IS NULL),
  wanted AS (
    SELECT array_agg(g.user_id) AS users, array_agg(g.period) AS periods, array_agg(g.quota) AS quotas,
      array_agg(g.n) AS counts
    FROM (SELECT a.user_id, a.period, a.quota, count(*)::int AS n FROM asking a GROUP BY 1, 2, 3
      ORDER BY 1, 2, min(a.i)) g
    HAVING count(*) > 0),
  dealt AS MATERIALIZED (
    SELECT u.* FROM wanted w
    CROSS JOIN LATERAL analysis.deal_units(p_shard, w.users, w.periods, w.quotas, w.counts, true) u)
  SELECT array_agg(x.reason), array_agg(x.o_used) INTO v_reason, p_state.used
  FROM (
    SELECT CASE WHEN a.position > d.o_granted THEN 'quota' ELSE v_reason[n] END AS reason, d.o_used
    FROM generate_series(1, cardinality(v_reason)) n
    LEFT JOIN (
      SELECT s.*, row_number() OVER (PARTITION BY s.user_id, s.period, s.quota ORDER BY s.i) AS position
      FROM asking s) a ON a.i = n
    LEFT JOIN dealt d ON d.o_user = a.user_id AND d.o_period = a.period
      AND d.o_limit IS NOT DISTINCT FROM a.quota
    ORDER BY n) x;
  IF array_remove(v_leader, NULL) <> '{}' THEN
    SELECT array_agg(coalesce(v_reason[n], v_reason[v_leader[n]]) ORDER BY n) INTO v_reason
    FROM generate_series(1, cardinality(v_reason)) n;
  END IF;
  p_state.reason := v_reason;
END $$;

-- What was refused keeps no key, what is new gets its own. Only a submit of the same key into another month
-- can have come between: it is tried again then. p_are_kept: as keep_new_keys answers it.
CREATE OR REPLACE FUNCTION analysis.settle_keys(
  p_shard smallint, p_now timestamptz, p_are_kept boolean, p_state analysis.submit_state)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_user bigint;
  v_key bytea;
BEGIN
  IF p_are_kept AND array_remove(p_state.reason, NULL) <> '{}' THEN
    FOR v_user, v_key IN
      SELECT t.user_id, t.key_hash
      FROM (SELECT unnest(p_state.user_id) AS user_id, unnest(p_state.key_hash) AS key_hash,
                   unnest(p_state.reason) AS reason) t
      WHERE t.reason IS NOT NULL AND t.key_hash IS NOT NULL
    LOOP
      DELETE FROM analysis.idem k
      WHERE k.shard = p_shard AND k.user_id = v_user AND k.key_hash = v_key;
    END LOOP;
  ELSIF NOT p_are_kept AND NOT analysis.keep_keys(p_shard, p_now, p_state) THEN
    RAISE EXCEPTION 'a key of this call was used at the same moment for another month'
      USING ERRCODE = '40001';
  END IF;
END $$;

-- Writes the images that are given. One that the user has in this month already is used again as it is, also
-- within the call; but not in place of one that comes encrypted, unless it is under the same key: that job
-- has no image yet. The bytes are fetched from the array as each row is written, so no sort carries them.
CREATE OR REPLACE FUNCTION analysis.write_images(
  p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_now timestamptz,
  INOUT p_state analysis.submit_state)
LANGUAGE plpgsql AS $$
BEGIN
  WITH given AS MATERIALIZED (
    SELECT t.*, t.reason IS NULL AND t.twin IS NULL AND t.named_id IS NULL AS is_given
    FROM (SELECT generate_series(1, cardinality(p_images)) AS i, unnest(p_state.user_id) AS user_id,
                 unnest(p_state.period) AS period, unnest(p_jobs.sha256) AS sha256,
                 unnest(p_state.reason) AS reason, unnest(p_state.twin) AS twin,
                 unnest(p_jobs.width) AS width, unnest(p_jobs.height) AS height,
                 unnest(p_jobs.unsanitized) AS unsanitized, unnest(p_jobs.encrypted_by) AS encrypted_by,
                 unnest(p_jobs.wrapped_key) AS wrapped_key, unnest(p_jobs.object_bytes) AS object_bytes,
                 unnest(p_state.image) AS named_id,
                 unnest(p_state.image_period) AS named_period, unnest(p_state.image_bytes) AS named_bytes,
                 unnest(p_state.image_unsanitized) AS named_unsanitized) t),
  stored AS (
    INSERT INTO analysis.image AS k (
      shard, period, user_id, sha256, bytes, byte_count, width, height, unsanitized, created_at, used_at,
      encrypted_by, wrapped_key, object_key)
    SELECT p_shard, o.period, o.user_id, o.sha256, CASE WHEN o.object_bytes IS NULL THEN p_images[o.i] END,
      coalesce(o.object_bytes, octet_length(p_images[o.i])), o.width, o.height,
      coalesce(o.unsanitized, false), p_now, p_now, o.encrypted_by, o.wrapped_key,
      CASE WHEN o.object_bytes IS NOT NULL THEN convert_from(p_images[o.i], 'UTF8') END
    FROM (SELECT DISTINCT ON (g.period, g.user_id, g.sha256) g.* FROM given g WHERE g.is_given
          ORDER BY g.period, g.user_id, g.sha256, g.encrypted_by IS NULL, g.i) o
    ON CONFLICT (shard, period, user_id, sha256) WHERE reusable DO UPDATE SET used_at = EXCLUDED.used_at
      WHERE EXCLUDED.encrypted_by IS NULL OR k.encrypted_by IS NOT DISTINCT FROM EXCLUDED.encrypted_by
    RETURNING k.id, k.period, k.user_id, k.sha256, k.byte_count, k.unsanitized)
  SELECT array_agg(x.id), array_agg(x.period), array_agg(x.byte_count), array_agg(x.unsanitized)
  INTO p_state.image, p_state.image_period, p_state.image_bytes, p_state.image_unsanitized
  FROM (
    SELECT coalesce(k.id, g.named_id) AS id, coalesce(k.period, g.named_period) AS period,
      coalesce(k.byte_count, g.named_bytes) AS byte_count,
      coalesce(k.unsanitized, g.named_unsanitized) AS unsanitized
    FROM given g
    LEFT JOIN stored k ON k.period = g.period AND k.user_id = g.user_id AND k.sha256 = g.sha256
      AND g.is_given
    ORDER BY g.i) x;
END $$;

-- Stores the images that are given. Where one that comes encrypted found another in its place, room is made
-- for it first.
CREATE OR REPLACE FUNCTION analysis.store_images(
  p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_now timestamptz,
  INOUT p_state analysis.submit_state)
LANGUAGE plpgsql AS $$
DECLARE
  v_found_another bigint[];            -- the keys of the images that did
BEGIN
  IF p_images IS NULL THEN
    RETURN;
  END IF;
  p_state := analysis.write_images(p_shard, p_jobs, p_images, p_now, p_state);
  v_found_another := ARRAY(
    SELECT CASE WHEN t.reason IS NULL AND t.twin IS NULL AND t.image IS NULL THEN t.encrypted_by END
    FROM (SELECT unnest(p_jobs.encrypted_by) AS encrypted_by, unnest(p_state.reason) AS reason,
                 unnest(p_state.twin) AS twin, unnest(p_state.image) AS image) t);
  IF array_remove(v_found_another, NULL) <> '{}' THEN
    PERFORM analysis.replace_images(
      p_shard, p_state.user_id, p_state.period, p_jobs.sha256, v_found_another);
    p_state := analysis.write_images(p_shard, p_jobs, p_images, p_now, p_state);
  END IF;
END $$;

-- Takes places in the lanes, for what may run at once, and writes the jobs and their rows in the queue.
CREATE OR REPLACE FUNCTION analysis.enqueue(
  p_shard smallint, p_jobs analysis.submissions, p_rules analysis.submit_rules,
  p_state analysis.submit_state)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  WITH asking AS MATERIALIZED (
    SELECT t.*,
      row_number() OVER (PARTITION BY t.user_id, t.lane, t.run_at IS NULL ORDER BY t.i) - 1 AS position
    FROM (
      SELECT generate_series(1, cardinality(p_state.job)) AS i, unnest(p_state.user_id) AS user_id,
        unnest(p_state.lane) AS lane, unnest(p_state.period) AS period, unnest(p_state.cost) AS cost,
        unnest(p_state.job) AS job_id, unnest(p_state.run_at) AS run_at, unnest(p_state.key_hash) AS key_hash,
        unnest(p_jobs.sha256) AS sha256, unnest(p_jobs.kind) AS kind, unnest(p_jobs.expires) AS expires_at,
        unnest(p_jobs.source) AS source_name, unnest(p_state.image) AS image_id,
        unnest(p_state.image_period) AS image_period, unnest(p_state.image_bytes) AS image_bytes,
        unnest(p_state.image_unsanitized) AS image_unsanitized, unnest(p_state.reason) AS reason,
        unnest(p_state.twin) AS twin) t
    WHERE t.reason IS NULL AND t.twin IS NULL),
  wanted AS (
    SELECT array_agg(g.user_id) AS users, array_agg(g.lane) AS lanes, array_agg(g.cost) AS costs,
      array_agg(g.n) AS counts, array_agg(g.tail) AS tails, array_agg(g.later) AS later
    FROM (SELECT a.user_id, a.lane, coalesce(max(a.cost) FILTER (WHERE a.run_at IS NULL), 0) AS cost,
                 count(*) FILTER (WHERE a.run_at IS NULL) AS n,
                 max(a.job_id) FILTER (WHERE a.run_at IS NULL) AS tail, count(a.run_at) AS later
          FROM asking a GROUP BY 1, 2) g
    HAVING count(*) > 0),
  places AS MATERIALIZED (
    SELECT p.* FROM wanted w
    CROSS JOIN LATERAL analysis.take_places(
      p_shard, 0::smallint, w.users, w.lanes, w.costs, w.counts, w.tails, w.later) p),
  accepted AS MATERIALIZED (
    SELECT a.*, coalesce(p.o_first + a.position * a.cost, -1) AS vt
    FROM asking a
    LEFT JOIN places p ON p.o_user = a.user_id AND p.o_lane = a.lane AND a.run_at IS NULL
    ORDER BY a.i),
  born AS (
    INSERT INTO analysis.job (
      shard, period, kind, lane, id, user_id, image_id, vt, created_at, run_at, expires_at, image_bytes,
      image_period, max_attempts, image_unsanitized, image_mark, key_hash, source_name, submitter)
    SELECT p_shard, s.period, s.kind, s.lane, s.job_id, s.user_id, s.image_id, s.vt, p_rules.now, s.run_at,
      s.expires_at, s.image_bytes, s.image_period, p_rules.max_attempts, s.image_unsanitized,
      substr(s.sha256, 1, 16), s.key_hash, s.source_name, p_rules.submitter
    FROM accepted s),
  later AS (
    INSERT INTO analysis.scheduled (shard, lane, tries, is_counted, period, run_at, job_id, user_id)
    SELECT p_shard, s.lane, 0, true, s.period, s.run_at, s.job_id, s.user_id FROM accepted s
    WHERE s.run_at IS NOT NULL)
  INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
  SELECT p_shard, s.lane, 0, s.period, s.vt, s.job_id FROM accepted s WHERE s.run_at IS NULL;
END $$;

-- Submits jobs the general way: step by step for all of them, with arrays that have an element for each job
-- of the call, in order. Called by functions whose settings hold.
CREATE OR REPLACE FUNCTION analysis.submit_jobs(
  p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_rules analysis.submit_rules)
RETURNS SETOF analysis.submit_answer
LANGUAGE plpgsql AS $$
DECLARE
  v_state analysis.submit_state := analysis.judge_submissions(p_shard, p_jobs, p_images, p_rules);
  v_are_kept boolean;
BEGIN
  v_state := analysis.lock_submitted(p_shard, p_jobs."user", p_rules.now, v_state);
  v_are_kept := analysis.keep_new_keys(p_shard, p_rules, v_state);
  IF NOT v_are_kept THEN
    v_state := analysis.find_twins(p_shard, v_state);
  END IF;
  IF p_rules.once THEN
    v_state := analysis.find_photos(p_shard, p_jobs, p_images, p_rules, v_state);
  END IF;
  IF p_images IS NULL OR array_position(p_images, NULL) IS NOT NULL THEN
    v_state := analysis.find_images(p_shard, p_jobs.sha256, p_images, p_rules.only_encrypted, v_state);
  END IF;
  IF p_rules.max_waiting IS NOT NULL THEN
    v_state.reason := analysis.limit_waiting(p_shard, p_rules.max_waiting, v_state);
  END IF;
  v_state := analysis.take_units(p_shard, v_state);
  PERFORM analysis.settle_keys(p_shard, p_rules.now, v_are_kept, v_state);
  IF EXISTS (
    SELECT 1 FROM (SELECT unnest(v_state.reason) AS reason, unnest(v_state.twin) AS twin) t
    WHERE t.reason IS NULL AND t.twin IS NULL) THEN
    v_state := analysis.store_images(p_shard, p_jobs, p_images, p_rules.now, v_state);
    PERFORM analysis.enqueue(p_shard, p_jobs, p_rules, v_state);
  END IF;
  RETURN QUERY
  SELECT s.i,
    CASE WHEN s.reason IS NOT NULL THEN 'refused' WHEN s.twin IS NOT NULL THEN 'duplicate'
         ELSE 'created' END,
    s.reason, CASE WHEN s.reason IS NULL THEN coalesce(s.twin, s.job_id) END,
    CASE WHEN s.reason IS NULL THEN CASE WHEN s.twin IS NULL THEN s.period ELSE s.twin_period END END,
    CASE WHEN s.user_id IS NOT NULL THEN s.quota END, s.used
  FROM (SELECT generate_series(1, cardinality(v_state.job)) AS i, unnest(v_state.reason) AS reason,
               unnest(v_state.twin) AS twin, unnest(v_state.job) AS job_id, unnest(v_state.period) AS period,
               unnest(v_state.twin_period) AS twin_period, unnest(v_state.user_id) AS user_id,
               unnest(v_state.quota) AS quota, unnest(v_state.used) AS used) s
  ORDER BY s.i;
END $$;

-- The same, with arrays as callers give them.
CREATE OR REPLACE FUNCTION analysis.submit_generally(
  p_shard smallint, p_jobs analysis.submissions, p_images bytea[], p_max_attempts smallint, p_now timestamptz)
RETURNS SETOF analysis.submit_answer
LANGUAGE plpgsql AS $$
DECLARE
  v_count int := coalesce(cardinality(p_jobs."user"), 0);
BEGIN
  IF v_count = 0 THEN
    RETURN;
  END IF;
  p_jobs."user" := analysis.composed(p_jobs."user");
  PERFORM analysis.require_argument(
    p_shard IS NOT NULL AND v_count <= 100000 AND p_max_attempts BETWEEN 1 AND 100
      AND analysis.are_submissions(p_jobs, p_images, '[1:' || v_count || ']'),
    'the arrays of a submit differ in length or do not begin at 1, or max_attempts is not from 1 to 100');
  RETURN QUERY SELECT a.* FROM analysis.submit_jobs(
    p_shard, p_jobs, p_images,
    analysis.rules_of_submit(p_shard, p_jobs."user", p_jobs.key, p_now, p_max_attempts)) a;
END $$;

-- Submits many jobs.
--
-- Each job of a call is created, a duplicate or refused, and one refused does not stop the others. The
-- order of the arrays decides who gets the last units. Optional arrays may be NULL as a whole.
-- Locks are taken in a fixed order within a call: usage rows, idempotency keys, images, fair shares, each
-- sorted. Whoever submits for the same user waits for its transaction, for ten seconds at most. Arrays are
-- taken apart in the lists of SELECTs, which is several times cheaper than in FROM.
--
-- An image that was encrypted by the submitter comes with the number of the key and with its own key under
-- that one, and with a keyed hash; one in plaintext has NULL for both, and its SHA-256. Where the setting
-- require_encryption is yes, no image in plaintext is stored, nor one that is stored so used again.
CREATE OR REPLACE FUNCTION analysis.submit(
  p_shard smallint, p_user text[], p_kind smallint[], p_priority smallint[], p_sha256 bytea[],
  p_image bytea[], p_width int[], p_height int[], p_unsanitized boolean[], p_key text[], p_at timestamptz[],
  p_expires timestamptz[], p_source text[], p_max_attempts smallint, p_encrypted_by bigint[],
  p_wrapped_key bytea[])
RETURNS TABLE (
  o_index int, o_outcome text, o_reason text, o_job bigint, o_period smallint, o_limit int, o_used int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET lock_timeout = '10s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_answer analysis.submit_answer;     -- what came of the short way
BEGIN
  -- One job alone goes the short way, if it is as usual.
  IF cardinality(p_user) = 1 AND ('[1:1]' = ALL (ARRAY[
       array_dims(p_user), array_dims(p_kind), array_dims(p_priority), array_dims(p_sha256),
       array_dims(p_image), array_dims(p_width), array_dims(p_height), array_dims(p_unsanitized),
       array_dims(p_key), array_dims(p_at), array_dims(p_expires), array_dims(p_source),
       array_dims(p_encrypted_by), array_dims(p_wrapped_key)])) IS NOT FALSE THEN
    v_answer := analysis.submit_single(
      p_shard, p_image[1],
      ROW(p_user[1], p_kind[1], p_priority[1], p_sha256[1], p_width[1], p_height[1], p_unsanitized[1],
        p_key[1], p_at[1], p_expires[1], p_source[1], p_encrypted_by[1],
        p_wrapped_key[1])::analysis.submission,
      p_max_attempts, v_now);
  END IF;
  IF v_answer.job_id IS NOT NULL THEN
    SELECT (v_answer).* INTO o_index, o_outcome, o_reason, o_job, o_period, o_limit, o_used;
    RETURN NEXT;
  ELSE
    RETURN QUERY SELECT a.* FROM analysis.submit_generally(
      p_shard,
      ROW(p_user, p_kind, p_priority, p_sha256, p_width, p_height, p_unsanitized, p_key, p_at, p_expires,
        p_source, p_encrypted_by, p_wrapped_key, NULL, NULL)::analysis.submissions,
      p_image, p_max_attempts, v_now) a;
  END IF;
END $$;
COMMENT ON FUNCTION analysis.submit IS
  'Submits many jobs of one shard in one transaction; answers for each created, duplicate or refused.';

-- Submits one job, as `submit` does.
CREATE OR REPLACE FUNCTION analysis.submit_one(
  p_shard smallint, p_image bytea, p_one analysis.submission, p_max_attempts smallint)
RETURNS analysis.submit_answer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET lock_timeout = '10s' AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_answer analysis.submit_answer := analysis.submit_single(p_shard, p_image, p_one, p_max_attempts, v_now);
BEGIN
  IF v_answer.job_id IS NULL THEN
    SELECT a.* INTO v_answer FROM analysis.submit_generally(
      p_shard,
      ROW(ARRAY[p_one."user"], ARRAY[p_one.kind], ARRAY[p_one.priority], ARRAY[p_one.sha256],
        ARRAY[p_one.width], ARRAY[p_one.height], ARRAY[p_one.unsanitized], ARRAY[p_one.key],
        ARRAY[p_one.at], ARRAY[p_one.expires], ARRAY[p_one.source], ARRAY[p_one.encrypted_by],
        ARRAY[p_one.wrapped_key], NULL, NULL)::analysis.submissions,
      ARRAY[p_image], p_max_attempts, v_now) a;
  END IF;
  RETURN v_answer;
END $$;
COMMENT ON FUNCTION analysis.submit_one IS
  'Submits one job of a shard; answers created, duplicate or refused.';
