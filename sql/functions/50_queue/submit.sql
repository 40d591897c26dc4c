-- Submitting. Limit, month, shard, cost and clock are looked up here; the caller only says who wants what.
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
  p_image bytea[],
  p_width int[], p_height int[], p_unsanitized boolean[], p_key text[], p_at timestamptz[],
  p_expires timestamptz[],
  p_source text[], p_max_attempts smallint, p_encrypted_by bigint[], p_wrapped_key bytea[])
RETURNS TABLE (
  o_index int, o_outcome text, o_reason text, o_job bigint, o_period smallint, o_limit int, o_used int)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
SET lock_timeout = '10s'
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_count int := coalesce(cardinality(p_user), 0);
  v_dims text;                         -- of arrays with an element for each job
  v_full text;                         -- why nothing at all is taken at present
  v_submitter smallint;                -- who submits
  v_max_waiting bigint;                -- jobs waiting, for each user
  v_max_bytes bigint;                  -- of the database
  v_max_all bigint;                    -- jobs waiting, of all users
  v_bytes bigint;                      -- as far as a worker told lately
  v_all bigint;
  v_only_encrypted boolean;            -- no image in plaintext is taken
  v_has_old_keys boolean;              -- there are keys of version 1.0
  v_login bytea := sha256(convert_to(session_user, 'UTF8'));
  v_is_single boolean := v_count = 1;  -- it may go the short way
  v_single record;                     -- what came of it then
  -- What follows has an element for each job of the call, in order.
  v_user bigint[];
  v_lane smallint[];
  v_period smallint[];
  v_quota int[];                       -- the limit in force when it may run; NULL: none
  v_cost bigint[];
  v_job bigint[];
  v_run_at timestamptz[];              -- NULL: at once
  v_key_hash bytea[];
  v_old_hash bytea[];                  -- as version 1.0 kept the key
  v_content_hash bytea[];
  v_reason text[];                     -- why it is refused
  v_twin bigint[];                     -- the job of which it is a duplicate
  v_twin_period smallint[];
  v_leader int[];                      -- the index of that job, if it is of this call
  v_used int[];
  v_image bigint[];
  v_image_period smallint[];
  v_image_bytes int[];
  v_image_unsanitized boolean[];
  v_first int;                         -- the index of the first key
  v_keys_there boolean := false;       -- whether there may be duplicates
  v_keys_taken boolean := false;       -- whether every key of the call is its job's already
BEGIN
  IF v_count = 0 THEN
    RETURN;
  END IF;
  v_dims := '[1:' || v_count || ']';
  IF (p_shard IS NOT NULL AND v_count <= 100000 AND p_max_attempts BETWEEN 1 AND 100
      AND array_dims(p_user) = v_dims AND array_dims(p_kind) = v_dims AND array_dims(p_priority) = v_dims
      AND array_dims(p_sha256) = v_dims AND (p_image IS NULL OR array_dims(p_image) = v_dims)
      AND (p_width IS NULL OR array_dims(p_width) = v_dims)
        AND (p_height IS NULL OR array_dims(p_height) = v_dims)
      AND (p_unsanitized IS NULL OR array_dims(p_unsanitized) = v_dims)
        AND (p_key IS NULL OR array_dims(p_key) = v_dims)
      AND (p_at IS NULL OR array_dims(p_at) = v_dims)
        AND (p_expires IS NULL OR array_dims(p_expires) = v_dims)
      AND (p_source IS NULL OR array_dims(p_source) = v_dims)
      AND (p_encrypted_by IS NULL OR array_dims(p_encrypted_by) = v_dims)
      AND (p_wrapped_key IS NULL OR array_dims(p_wrapped_key) = v_dims)) IS NOT TRUE THEN
    PERFORM analysis.require_argument(
      false,
      'the arrays of a submit differ in length or do not begin at 1, or max_attempts is not from 1 to 100');
  END IF;
  IF array_to_string(p_user, '') IS NOT NFC NORMALIZED THEN
    p_user := analysis.composed(p_user);
  END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    v_is_single := false;
    PERFORM analysis.refuse_repeatable_read();
    PERFORM analysis.hold_accounts(p_shard, NULL, p_user);
  END IF;

  -- 1. What binds everybody. Workers refresh the gauges; where none has for a minute the submit takes what
  --    the server has counted anyway, and writes nothing: its transaction may stay open, and would keep the
  --    workers from the gauge.
  SELECT (SELECT nullif(s.value, '')::bigint FROM analysis.setting s WHERE s.name = 'max_database_bytes'),
         (SELECT nullif(s.value, '')::bigint FROM analysis.setting s WHERE s.name = 'max_waiting'),
         (SELECT nullif(s.value, '')::bigint FROM analysis.setting s WHERE s.name = 'max_waiting_per_user'),
         (SELECT g.value FROM analysis.gauge g
           WHERE g.name = 'database_bytes'
             AND g.at BETWEEN v_now - interval '1 minute' AND clock_timestamp()),
         (SELECT g.value FROM analysis.gauge g
           WHERE g.name = 'waiting'
             AND g.at BETWEEN v_now - interval '1 minute' AND clock_timestamp()),
         (SELECT min(s.id) FROM analysis.submitter s WHERE s.login = session_user),
         coalesce(
           (SELECT s.value <> 'no' FROM analysis.setting s WHERE s.name = 'require_encryption'), true),
         EXISTS (SELECT FROM analysis.gauge g WHERE g.name = 'old_keys')
  INTO v_max_bytes, v_max_all, v_max_waiting, v_bytes, v_all, v_submitter, v_only_encrypted,
    v_has_old_keys;
  IF v_submitter IS NULL THEN
    v_submitter := analysis.new_submitter();
  END IF;
  IF v_bytes IS NULL AND v_max_bytes IS NOT NULL THEN
    v_bytes := analysis.counted_bytes();
  END IF;
  IF v_all IS NULL AND v_max_all IS NOT NULL THEN
    v_all := analysis.counted_waiting();
  END IF;
  v_full := CASE WHEN v_bytes >= v_max_bytes THEN 'storage_full' WHEN v_all >= v_max_all
    THEN 'queue_full' END;

  --    One job alone goes the short way, if it is as usual.
  IF v_is_single AND v_full IS NULL AND p_at[1] IS NULL
     AND (p_encrypted_by[1] IS NOT NULL OR NOT v_only_encrypted) THEN
    v_single := analysis.submit_single(
      p_shard, p_image[1],
      ROW(p_user[1], p_kind[1], p_priority[1], p_sha256[1], p_width[1], p_height[1], p_unsanitized[1],
        p_key[1], p_expires[1], p_source[1], p_encrypted_by[1], p_wrapped_key[1])::analysis.submission,
      ROW(p_max_attempts, v_max_waiting, v_now, v_submitter, v_has_old_keys)::analysis.submit_rules);
    IF v_single.o_job IS NOT NULL THEN
      o_index := 1;
      o_outcome := 'created';
      o_job := v_single.o_job;
      o_period := v_single.o_period;
      o_limit := v_single.o_limit;
      o_used := v_single.o_used;
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;

  -- 2. Look up user, month, plan and limit, once for each user and moment, and judge each job as far as it
  --    can be judged alone.
  WITH asked AS MATERIALIZED (
    SELECT t.*, greatest(t.at, v_now) AS run_from,
           p_image[t.i] IS NOT NULL AND p_encrypted_by[t.i] IS NULL AS is_plaintext,
           analysis.is_sound(
             t.user_ref, t.kind, t.priority, t.sha256, octet_length(p_image[t.i]), t.width, t.height,
                             t.key, t.source, t.at)
             AND analysis.is_soundly_encrypted(
               p_encrypted_by[t.i], octet_length(p_wrapped_key[t.i]), octet_length(p_image[t.i]))
             AND analysis.is_expiry(t.expires) AS sound
    FROM (
      SELECT generate_series(1, v_count) AS i, unnest(p_user) AS user_ref, unnest(p_kind) AS kind,
             unnest(p_priority) AS priority, unnest(p_sha256) AS sha256, unnest(p_width) AS width,
             unnest(p_height) AS height,
             unnest(p_key) AS key, unnest(p_at) AS at, unnest(p_expires) AS expires,
             unnest(p_source) AS source) t),
  known AS MATERIALIZED (
    SELECT d.user_ref, d.run_from, a.user_id, a.key_salt, f.period, m.period IS NOT NULL AS is_open, l.cost,
           CASE WHEN l.plan_id IS NULL THEN 0 ELSE l.monthly_limit END AS quota,
           CASE WHEN a.user_id IS NULL THEN
             CASE WHEN analysis.shard_of(d.user_ref) <> p_shard THEN 'wrong_shard'
               ELSE 'unknown_user' END END AS stranger
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
         array_agg(x.content_hash), array_agg(x.reason),
         array_fill(NULL::bigint, ARRAY[v_count])
  INTO v_user, v_lane, v_period, v_quota, v_cost, v_job, v_run_at, v_key_hash, v_old_hash, v_content_hash,
    v_reason, v_twin
  FROM (
    SELECT k.user_id, CASE WHEN t.sound
      THEN analysis.lane_of(t.kind, t.priority) END AS lane, k.period, k.quota, k.cost,
           nextval('analysis.job_id') AS job_id, CASE WHEN t.at > v_now THEN t.at END AS run_at,
           analysis.key_hash(k.key_salt, t.key, v_login) AS key_hash,
           CASE WHEN v_has_old_keys THEN analysis.old_key_hash(k.key_salt, t.key) END AS old_hash,
           sha256(t.sha256 || convert_to(t.kind::text, 'UTF8')) AS content_hash,
           CASE WHEN NOT t.sound THEN 'bad_argument'
                WHEN k.user_id IS NULL THEN k.stranger
                WHEN t.expires <= t.run_from THEN 'expired'
                WHEN NOT k.is_open THEN 'no_partition'
                WHEN v_only_encrypted AND t.is_plaintext THEN analysis.plaintext_refusal()
                ELSE v_full END AS reason
    FROM asked t
    LEFT JOIN known k ON k.user_ref = t.user_ref AND k.run_from = t.run_from AND t.sound
    ORDER BY t.i) x;

  -- 3. Lock the usage rows of whoever may be given something. From here on nobody else submits for these
  --    users and months, so that what is read below holds: also whether a key is there.
  PERFORM analysis.lock_usage(p_shard, array_agg(s.user_id), array_agg(s.period))
  FROM (
    SELECT DISTINCT t.user_id, t.period
    FROM (SELECT unnest(v_user) AS user_id, unnest(v_period) AS period, unnest(v_reason) AS reason) t
    WHERE t.reason IS NULL) s
  HAVING count(*) > 0;

  --    Who was erased or renamed while this call waited is unknown now, and no job is labelled by an anchor
  --    that was replaced meanwhile: seen with the locks, which all three take too.
  IF EXISTS (
    SELECT 1 FROM (
      SELECT DISTINCT unnest(v_user) AS user_id, unnest(p_user) AS user_ref, unnest(v_period) AS period,
        unnest(v_run_at) AS run_at) g
    CROSS JOIN LATERAL (
      SELECT 1 FROM analysis.account a
      WHERE a.shard = p_shard AND a.user_id = g.user_id
        AND (a.erased_at IS NOT NULL OR a.user_ref <> g.user_ref
             OR analysis.period_at(coalesce(g.run_at, v_now), a.zone, a.anchors) <> g.period)
      OFFSET 0) a) THEN
    SELECT array_agg(CASE WHEN a.is_there THEN g.user_id END ORDER BY g.i),
           array_agg(
             CASE WHEN a.is_there OR g.user_id IS NULL THEN g.reason ELSE 'unknown_user' END ORDER BY g.i)
    INTO v_user, v_reason
    FROM (SELECT generate_series(1, v_count) AS i, unnest(v_user) AS user_id, unnest(p_user) AS user_ref,
                 unnest(v_reason) AS reason) g
    LEFT JOIN LATERAL (
      SELECT true AS is_there FROM analysis.account a
      WHERE a.shard = p_shard AND a.user_id = g.user_id AND a.user_ref = g.user_ref AND a.erased_at IS NULL
      OFFSET 0) a ON true;
    IF EXISTS (
      SELECT 1
      FROM (SELECT unnest(v_user) AS user_id, unnest(v_period) AS period, unnest(v_run_at) AS run_at) g
      JOIN analysis.account a ON a.shard = p_shard AND a.user_id = g.user_id
      WHERE analysis.period_at(coalesce(g.run_at, v_now), a.zone, a.anchors) <> g.period) THEN
      RAISE EXCEPTION 'the period of a user was changed while this submit waited'
        USING ERRCODE = 'lock_not_available', HINT = 'Submit again.';
    END IF;
  END IF;

  -- 4. Idempotency, before everything that may refuse: a repeat is answered even when nothing new is
  --    taken. Most calls bring new keys only; those are written at once, and the table's own key tells. Who
  --    repeats a call repeats its first key. Keys of version 1.0 are kept otherwise, and are looked up.
  SELECT min(t.i), bool_or(t.reason IS NOT NULL) INTO v_first, v_keys_there
  FROM (SELECT generate_series(1, v_count) AS i, unnest(v_key_hash) AS key_hash, unnest(v_reason) AS reason) t
  WHERE t.key_hash IS NOT NULL;
  IF v_first IS NOT NULL AND NOT v_keys_there THEN
    v_keys_there := EXISTS (
      SELECT 1 FROM analysis.idem k
      WHERE k.shard = p_shard AND k.user_id = v_user[v_first] AND k.key_hash = v_key_hash[v_first])
      OR v_has_old_keys AND EXISTS (
        SELECT FROM (SELECT unnest(v_user) AS user_id, unnest(v_old_hash) AS old_hash) t
        CROSS JOIN LATERAL (
          SELECT FROM analysis.idem k
          WHERE k.shard = p_shard AND k.user_id = t.user_id AND k.key_hash = t.old_hash OFFSET 0) k);
  END IF;
  IF v_first IS NOT NULL AND NOT v_keys_there THEN
    BEGIN
      INSERT INTO analysis.idem (shard, user_id, key_hash, content_hash, job_id, period, at)
      SELECT p_shard, t.user_id, t.key_hash, t.content_hash, t.job_id, t.period, v_now
      FROM (SELECT unnest(v_user) AS user_id, unnest(v_key_hash) AS key_hash,
                   unnest(v_content_hash) AS content_hash,
                   unnest(v_job) AS job_id, unnest(v_period) AS period) t
      WHERE t.key_hash IS NOT NULL
      ORDER BY t.user_id, t.key_hash;
      v_keys_taken := true;
    EXCEPTION WHEN unique_violation THEN
      v_keys_there := true;
    END;
  END IF;

  --    A key that is there already, or comes twice in the call, with the same content: a duplicate.
  IF v_keys_there THEN
    SELECT array_agg(x.reason), array_agg(x.twin), array_agg(x.twin_period), array_agg(x.leader)
    INTO v_reason, v_twin, v_twin_period, v_leader
    FROM (
      SELECT CASE WHEN t.content_hash = f.content_hash THEN NULL WHEN t.job_id IS NULL THEN f.reason
        ELSE 'key_conflict' END
               AS reason,
             CASE WHEN t.content_hash = f.content_hash THEN t.job_id END AS twin,
             CASE WHEN t.content_hash = f.content_hash THEN t.period END AS twin_period,
             CASE WHEN f.job_there IS NULL THEN t.leader END AS leader
      FROM (
        SELECT s.*, e.o_job AS job_there, e.o_content AS content_there, e.o_period AS period_there,
               CASE WHEN s.key_hash IS NOT NULL THEN
                 min(s.i) FILTER (WHERE s.reason IS NULL) OVER (
                   PARTITION BY s.user_id, s.key_hash) END AS first
        FROM (SELECT generate_series(1, v_count) AS i, unnest(v_user) AS user_id,
                     unnest(v_key_hash) AS key_hash, unnest(v_old_hash) AS old_hash,
                     unnest(v_content_hash) AS content_hash, unnest(v_reason) AS reason) s
        LEFT JOIN LATERAL analysis.job_of_key(p_shard, s.user_id, s.key_hash, s.old_hash) e ON true) f
      -- Its twin: the job that is there, or the first of this call with the key.
      CROSS JOIN LATERAL (
        SELECT f.job_there AS job_id, f.content_there AS content_hash, f.period_there AS period,
          NULL::int AS leader
        WHERE f.job_there IS NOT NULL OR f.first IS NULL OR f.first >= f.i
        UNION ALL
        SELECT v_job[f.first], v_content_hash[f.first], v_period[f.first], f.first
        WHERE f.job_there IS NULL AND f.first < f.i) t
      ORDER BY f.i) x;
  END IF;

  -- 5. Images that are not given have to be there, and stay while this transaction is open. Each is looked
  --    for once, however many jobs show it: first among the images of the job's own month, then in the
  --    others.
  IF p_image IS NULL OR array_position(p_image, NULL) IS NOT NULL THEN
    WITH named AS MATERIALIZED (
      SELECT t.*, t.reason IS NULL AND t.twin IS NULL AND p_image[t.i] IS NULL AS is_named
      FROM (SELECT generate_series(1, v_count) AS i, unnest(v_user) AS user_id, unnest(p_sha256) AS sha256,
                   unnest(v_period) AS period, unnest(v_reason) AS reason, unnest(v_twin) AS twin) t),
    own AS MATERIALIZED (
      SELECT d.user_id, d.sha256, m.*
      FROM (SELECT DISTINCT n.user_id, n.sha256, n.period FROM named n WHERE n.is_named ORDER BY 1, 2, 3) d
      CROSS JOIN LATERAL (
        SELECT k.id, k.period, k.byte_count, k.unsanitized FROM analysis.image k
        WHERE k.shard = p_shard AND k.period = d.period AND k.user_id = d.user_id AND k.sha256 = d.sha256
          AND k.reusable AND (k.encrypted_by IS NOT NULL OR NOT v_only_encrypted)
        FOR KEY SHARE) m),
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
          WHERE k.shard = p_shard AND k.period = p.period AND k.user_id = d.user_id AND k.sha256 = d.sha256
            AND k.reusable AND (k.encrypted_by IS NOT NULL OR NOT v_only_encrypted)
          FOR KEY SHARE) f
        LIMIT 1) m),
    there AS (
      SELECT DISTINCT ON (f.user_id, f.sha256) f.* FROM (SELECT * FROM own UNION ALL SELECT * FROM older) f
      ORDER BY f.user_id, f.sha256, f.period DESC)
    SELECT array_agg(x.reason), array_agg(x.id), array_agg(x.period), array_agg(x.byte_count),
      array_agg(x.unsanitized)
    INTO v_reason, v_image, v_image_period, v_image_bytes, v_image_unsanitized
    FROM (
      SELECT CASE WHEN n.is_named AND t.id IS NULL THEN 'image_missing' ELSE n.reason END AS reason,
             t.id, t.period, t.byte_count, t.unsanitized
      FROM named n
      LEFT JOIN there t ON t.user_id = n.user_id AND t.sha256 = n.sha256 AND n.is_named
      ORDER BY n.i) x;
  END IF;

  -- 6. The limit on a user's waiting jobs, from virtual time: how far their last job is behind the lanes is
  --    how many wait, without counting any. Whoever would be refused by that is looked at more closely.
  IF v_max_waiting IS NOT NULL THEN
    WITH asking AS MATERIALIZED (
      SELECT t.* FROM (
        SELECT generate_series(1, v_count) AS i, unnest(v_user) AS user_id, unnest(v_cost) AS cost,
               unnest(v_reason) AS reason, unnest(v_twin) AS twin) t
      WHERE t.reason IS NULL AND t.twin IS NULL),
    -- Nearly always nobody is among them, and that is all there is to it.
    doubtful AS MATERIALIZED (
      SELECT d.user_id, d.cost, d.n
      FROM (SELECT a.user_id, max(a.cost) AS cost, count(*) AS n FROM asking a GROUP BY 1) d
      CROSS JOIN LATERAL (
        SELECT div(coalesce(sum(greatest(0, f.last_vt - coalesce(
                 (SELECT c.now_vt FROM analysis.lane_clock c WHERE c.shard = p_shard AND c.lane = f.lane),
                 0))), 0), d.cost)
               + coalesce(sum(f.later), 0) AS waiting
        FROM analysis.fair_share f WHERE f.shard = p_shard AND f.user_id = d.user_id OFFSET 0) b
      WHERE b.waiting + d.n > v_max_waiting),
    beyond AS MATERIALIZED (
      SELECT d.user_id, w.waiting FROM doubtful d
      CROSS JOIN LATERAL (SELECT analysis.waiting_of(p_shard, d.user_id, d.cost) AS waiting OFFSET 0) w
      WHERE w.waiting + d.n > v_max_waiting)
    SELECT CASE WHEN count(*) = 0 THEN v_reason ELSE (
      SELECT array_agg(
        coalesce(v_reason[n], CASE WHEN x.waiting + x.position > v_max_waiting THEN 'waiting_limit' END)
        ORDER BY n)
      FROM generate_series(1, v_count) n
      LEFT JOIN (
        SELECT a.i, o.waiting, row_number() OVER (PARTITION BY a.user_id ORDER BY a.i) AS position
        FROM asking a JOIN beyond o ON o.user_id = a.user_id) x ON x.i = n) END
    INTO v_reason FROM beyond;
  END IF;

  -- 7. The monthly quota. What repeats a job of this call shares its fate.
  WITH asking AS MATERIALIZED (
    SELECT t.* FROM (
      SELECT generate_series(1, v_count) AS i, unnest(v_user) AS user_id, unnest(v_period) AS period,
             unnest(v_quota) AS quota, unnest(v_reason) AS reason, unnest(v_twin) AS twin) t
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
  SELECT array_agg(x.reason), array_agg(x.o_used) INTO v_reason, v_used
  FROM (
    SELECT CASE WHEN a.position > d.o_granted THEN 'quota' ELSE v_reason[n] END AS reason, d.o_used
    FROM generate_series(1, v_count) n
    LEFT JOIN (
      SELECT s.*, row_number() OVER (PARTITION BY s.user_id, s.period, s.quota ORDER BY s.i) AS position
      FROM asking s) a ON a.i = n
    LEFT JOIN dealt d ON d.o_user = a.user_id AND d.o_period = a.period
      AND d.o_limit IS NOT DISTINCT FROM a.quota
    ORDER BY n) x;
  IF array_remove(v_leader, NULL) <> '{}' THEN
    SELECT array_agg(coalesce(v_reason[n], v_reason[v_leader[n]]) ORDER BY n) INTO v_reason
    FROM generate_series(1, v_count) n;
  END IF;

  -- 8. The keys: what was refused keeps none, what is new gets its own. Only a submit of the same key into
  --    another month can have come between: try again then.
  IF v_keys_taken THEN
    FOR i IN 1 .. v_count LOOP
      IF v_reason[i] IS NOT NULL AND v_key_hash[i] IS NOT NULL THEN
        DELETE FROM analysis.idem k
        WHERE k.shard = p_shard AND k.user_id = v_user[i] AND k.key_hash = v_key_hash[i];
      END IF;
    END LOOP;
  ELSIF v_first IS NOT NULL THEN
    BEGIN
      INSERT INTO analysis.idem (shard, user_id, key_hash, content_hash, job_id, period, at)
      SELECT p_shard, t.user_id, t.key_hash, t.content_hash, t.job_id, t.period, v_now
      FROM (SELECT unnest(v_user) AS user_id, unnest(v_key_hash) AS key_hash,
                   unnest(v_content_hash) AS content_hash,
                   unnest(v_job) AS job_id, unnest(v_period) AS period, unnest(v_reason) AS reason,
                   unnest(v_twin) AS twin) t
      WHERE t.key_hash IS NOT NULL AND t.reason IS NULL AND t.twin IS NULL
      ORDER BY t.user_id, t.key_hash;
    EXCEPTION WHEN unique_violation THEN
      RAISE EXCEPTION 'a key of this call was used at the same moment for another month'
      USING ERRCODE = '40001';
    END;
  END IF;

  IF EXISTS (
    SELECT 1 FROM (SELECT unnest(v_reason) AS reason, unnest(v_twin) AS twin) t
    WHERE t.reason IS NULL AND t.twin IS NULL) THEN
    -- 9. Images. One that the user has in this month already is used again as it is, also within the call;
    --    but not in place of one that comes encrypted, unless it is under the same key. The bytes are
    --    fetched from the array as each row is written, so no sort carries them.
    IF p_encrypted_by IS NOT NULL THEN
      PERFORM analysis.replace_images(
        p_shard, v_user, v_period, p_sha256,
        ARRAY(
          SELECT CASE WHEN t.reason IS NULL AND t.twin IS NULL THEN t.encrypted_by END
          FROM (SELECT unnest(p_encrypted_by) AS encrypted_by, unnest(v_reason) AS reason,
                       unnest(v_twin) AS twin) t));
    END IF;
    IF p_image IS NOT NULL THEN
      WITH given AS MATERIALIZED (
        SELECT t.*, t.reason IS NULL AND t.twin IS NULL AND p_image[t.i] IS NOT NULL AS is_given
        FROM (SELECT generate_series(1, v_count) AS i, unnest(v_user) AS user_id, unnest(v_period) AS period,
                     unnest(p_sha256) AS sha256, unnest(v_reason) AS reason, unnest(v_twin) AS twin) t),
      stored AS (
        INSERT INTO analysis.image AS k (
          shard, period, user_id, sha256, bytes, byte_count, width, height, unsanitized, created_at, used_at,
          encrypted_by, wrapped_key)
        SELECT p_shard, o.period, o.user_id, o.sha256, p_image[o.i], octet_length(p_image[o.i]), p_width[o.i],
               p_height[o.i],
               coalesce(p_unsanitized[o.i], false), v_now, v_now, p_encrypted_by[o.i], p_wrapped_key[o.i]
        FROM (SELECT DISTINCT ON (g.period, g.user_id, g.sha256) g.* FROM given g WHERE g.is_given
              ORDER BY g.period, g.user_id, g.sha256, p_encrypted_by[g.i] IS NULL, g.i) o
        ON CONFLICT (shard, period, user_id, sha256) WHERE reusable DO UPDATE SET used_at = EXCLUDED.used_at
        RETURNING k.id, k.period, k.user_id, k.sha256, k.byte_count, k.unsanitized)
      SELECT array_agg(x.id), array_agg(x.period), array_agg(x.byte_count), array_agg(x.unsanitized)
      INTO v_image, v_image_period, v_image_bytes, v_image_unsanitized
      FROM (
        SELECT coalesce(k.id, v_image[g.i]) AS id, coalesce(k.period, v_image_period[g.i]) AS period,
               coalesce(k.byte_count, v_image_bytes[g.i]) AS byte_count,
               coalesce(k.unsanitized, v_image_unsanitized[g.i]) AS unsanitized
        FROM given g
        LEFT JOIN stored k ON k.period = g.period AND k.user_id = g.user_id AND k.sha256 = g.sha256
          AND g.is_given
        ORDER BY g.i) x;
    END IF;

    -- 10. Places in the lanes, for what may run at once; the jobs; and their rows in the queue.
    WITH asking AS MATERIALIZED (
      SELECT t.*,
        row_number() OVER (PARTITION BY t.user_id, t.lane, t.run_at IS NULL ORDER BY t.i) - 1 AS position
      FROM (
        SELECT generate_series(1, v_count) AS i, unnest(v_user) AS user_id, unnest(v_lane) AS lane,
               unnest(v_period) AS period,
               unnest(v_cost) AS cost, unnest(v_job) AS job_id, unnest(v_run_at) AS run_at,
               unnest(v_key_hash) AS key_hash, unnest(p_sha256) AS sha256,
               unnest(p_kind) AS kind, unnest(p_expires) AS expires_at, unnest(p_source) AS source_name,
               unnest(v_image) AS image_id, unnest(v_image_period) AS image_period,
               unnest(v_image_bytes) AS image_bytes,
               unnest(v_image_unsanitized) AS image_unsanitized, unnest(v_reason) AS reason,
               unnest(v_twin) AS twin) t
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
        image_period,
        max_attempts, image_unsanitized, image_mark, key_hash, source_name,
        submitter)
      SELECT p_shard, s.period, s.kind, s.lane, s.job_id, s.user_id, s.image_id, s.vt, v_now, s.run_at,
             s.expires_at,
             s.image_bytes, s.image_period, p_max_attempts, s.image_unsanitized, substr(s.sha256, 1, 16),
             s.key_hash, s.source_name, v_submitter
      FROM accepted s),
    later AS (
      INSERT INTO analysis.scheduled (shard, lane, tries, is_counted, period, run_at, job_id, user_id)
      SELECT p_shard, s.lane, 0, true, s.period, s.run_at, s.job_id, s.user_id FROM accepted s
      WHERE s.run_at IS NOT NULL)
    INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
    SELECT p_shard, s.lane, 0, s.period, s.vt, s.job_id FROM accepted s WHERE s.run_at IS NULL;
  END IF;

  RETURN QUERY
  SELECT s.i, CASE WHEN s.reason IS NOT NULL THEN 'refused' WHEN s.twin IS NOT NULL THEN 'duplicate'
    ELSE 'created' END,
         s.reason,
         CASE WHEN s.reason IS NULL THEN coalesce(s.twin, s.job_id) END,
         CASE WHEN s.reason IS NULL THEN CASE WHEN s.twin IS NULL THEN s.period ELSE s.twin_period END END,
         CASE WHEN s.user_id IS NOT NULL THEN s.quota END, s.used
  FROM (SELECT generate_series(1, v_count) AS i, unnest(v_reason) AS reason, unnest(v_twin) AS twin,
               unnest(v_job) AS job_id,
               unnest(v_period) AS period, unnest(v_twin_period) AS twin_period, unnest(v_user) AS user_id,
               unnest(v_quota) AS quota, unnest(v_used) AS used) s
  ORDER BY s.i;
END $$;
COMMENT ON FUNCTION analysis.submit IS
  'Submits many jobs of one shard in one transaction; answers for each created, duplicate or refused.';
