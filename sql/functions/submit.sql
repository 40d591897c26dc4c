-- Submitting. Limit, month, shard, cost and clock are looked up here; the caller only says who wants what.
--
-- Each job of a call is created, a duplicate or refused, and one refused does not stop the others. The
-- order of the arrays decides who gets the last units. Optional arrays may be NULL as a whole.
-- Locks are taken in a fixed order within a call: usage rows, idempotency keys, fair shares, images, each
-- sorted.
CREATE OR REPLACE FUNCTION analysis.submit(
  p_shard smallint, p_user text[], p_kind smallint[], p_priority smallint[], p_sha256 bytea[], p_image bytea[],
  p_width int[], p_height int[], p_raw boolean[], p_key text[], p_at timestamptz[], p_expires timestamptz[],
  p_source text[], p_max_attempts smallint)
RETURNS TABLE (o_index int, o_outcome text, o_reason text, o_job bigint, o_period smallint, o_limit int, o_used int)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_nestloop = off
AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_count int := coalesce(cardinality(p_user), 0);
  v_full text;                         -- why nothing at all is taken at present
  v_max_waiting bigint;                -- jobs waiting, for each user
  -- What follows has an element for each job of the call, in order.
  v_items analysis.submission[];       -- what was looked up
  v_reason text[];                     -- why it is refused
  v_twin bigint[];                     -- the job of which it is a duplicate
  v_twin_period smallint[];
  v_leader int[];                      -- the place of that job, if it is of this call
  v_keys int;
  v_used int[];
  v_vt bigint[];
  v_image bigint[];
  v_image_period smallint[];
  v_image_bytes int[];
  v_image_raw boolean[];
BEGIN
  IF v_count = 0 THEN
    RETURN;
  END IF;
  IF NOT (cardinality(p_kind) = v_count AND cardinality(p_priority) = v_count AND cardinality(p_sha256) = v_count
     AND coalesce(cardinality(p_image), v_count) = v_count AND coalesce(cardinality(p_width), v_count) = v_count
     AND coalesce(cardinality(p_height), v_count) = v_count AND coalesce(cardinality(p_raw), v_count) = v_count
     AND coalesce(cardinality(p_key), v_count) = v_count AND coalesce(cardinality(p_at), v_count) = v_count
     AND coalesce(cardinality(p_expires), v_count) = v_count AND coalesce(cardinality(p_source), v_count) = v_count
     AND p_max_attempts BETWEEN 1 AND 100) IS TRUE THEN
    RAISE EXCEPTION 'the arrays of a submit differ in length, or max_attempts is not from 1 to 100' USING ERRCODE = '22023';
  END IF;

  -- 1. What binds everybody. Workers refresh the gauges; where none has for a minute the submit measures for
  --    itself, and writes nothing: its transaction may stay open, and would keep the workers from the gauge.
  SELECT CASE WHEN b.value >= nullif(b.setting, '')::bigint THEN 'storage_full'
              WHEN w.value >= nullif(w.setting, '')::bigint THEN 'queue_full' END,
         nullif(u.value, '')::bigint
  INTO v_full, v_max_waiting
  FROM (SELECT s.value AS setting, CASE WHEN s.value = '' THEN 0 WHEN g.at >= v_now - interval '1 minute' THEN g.value
                                        ELSE analysis.measure('database_bytes') END AS value
        FROM analysis.setting s LEFT JOIN analysis.gauge g ON g.name = 'database_bytes' WHERE s.name = 'max_database_bytes') b,
       (SELECT s.value AS setting, CASE WHEN s.value = '' THEN 0 WHEN g.at >= v_now - interval '1 minute' THEN g.value
                                        ELSE analysis.measure('waiting') END AS value
        FROM analysis.setting s LEFT JOIN analysis.gauge g ON g.name = 'waiting' WHERE s.name = 'max_waiting') w,
       (SELECT (SELECT s.value FROM analysis.setting s WHERE s.name = 'max_waiting_per_user') AS value) u;

  -- 2. Look up user, month, plan and limit of each, and judge it as far as it can be judged alone.
  SELECT array_agg(ROW(
           t.i, a.user_id, t.kind, t.kind * 4 + t.priority, f.period, CASE WHEN l.plan_id IS NULL THEN 0 ELSE l.monthly_limit END,
           l.cost, nextval('analysis.job_id'), CASE WHEN t.at > v_now THEN t.at END, t.expires, t.sha256,
           CASE WHEN f.sound THEN sha256(a.key_salt || convert_to(t.key, 'UTF8')) END,
           sha256(t.sha256 || convert_to(t.kind::text, 'UTF8')), t.source)::analysis.submission ORDER BY t.i),
         array_agg(CASE
           WHEN NOT f.sound THEN 'bad_argument'
           WHEN a.user_id IS NULL THEN
             CASE WHEN analysis.shard_of(t.user_ref) <> p_shard THEN 'wrong_shard' ELSE 'unknown_user' END
           WHEN t.expires <= f.run_from THEN 'expired'
           WHEN m.period IS NULL THEN 'no_partition'
           ELSE v_full END ORDER BY t.i),
         array_fill(NULL::bigint, ARRAY[v_count])
  INTO v_items, v_reason, v_twin
  FROM unnest(p_user, p_kind, p_priority, p_sha256, p_width, p_height, p_key, p_at, p_expires, p_source) WITH ORDINALITY
    AS t(user_ref, kind, priority, sha256, width, height, key, at, expires, source, i)
  LEFT JOIN LATERAL (
    SELECT c.user_id, c.zone, c.key_salt FROM analysis.account c
    WHERE c.shard = p_shard AND c.user_ref = t.user_ref OFFSET 0) a ON true
  CROSS JOIN LATERAL (
    SELECT (t.user_ref IS NOT NULL AND t.kind IN (1, 2) AND t.priority BETWEEN 0 AND 2 AND octet_length(t.sha256) = 32
            AND coalesce(octet_length(p_image[t.i]) BETWEEN 1 AND 10490000, true)
            AND coalesce(t.width BETWEEN 1 AND 100000, true) AND coalesce(t.height BETWEEN 1 AND 100000, true)
            AND coalesce(length(t.key) BETWEEN 1 AND 200, true) AND coalesce(length(t.source) <= 500, true)
            AND coalesce(t.at < timestamptz '2600-01-01' AND t.at > '-infinity', true)) IS TRUE AS sound,
           greatest(t.at, v_now) AS run_from OFFSET 0) s
  CROSS JOIN LATERAL (
    SELECT s.sound, s.run_from, CASE WHEN s.sound THEN analysis.period_of(s.run_from, a.zone) END AS period OFFSET 0) f
  LEFT JOIN LATERAL (
    SELECT q.plan_id, q.monthly_limit, q.cost FROM analysis.limit_of(p_shard, a.user_id, f.run_from) q WHERE f.sound OFFSET 0) l
    ON true
  LEFT JOIN analysis.partition_made m ON m.period = f.period;

  -- 3. Lock the usage rows of whoever may be given something. From here on nobody else submits for these
  --    users and months, so that what is read below holds: also whether a key is there.
  PERFORM analysis.lock_usage(p_shard, array_agg(s.user_id), array_agg(s.period))
  FROM unnest(v_items) s WHERE v_reason[s.i] IS NULL HAVING count(*) > 0;

  -- 4. Idempotency, before everything that may refuse: a repeat is answered even when nothing new is taken.
  --    A key that is there already, or comes twice in the call, with the same content: a duplicate.
  IF p_key IS NOT NULL THEN
    SELECT array_agg(CASE WHEN t.content_hash = x.content_hash THEN NULL WHEN t.job_id IS NULL THEN v_reason[x.i]
                          ELSE 'key_conflict' END ORDER BY x.i),
           array_agg(CASE WHEN t.content_hash = x.content_hash THEN t.job_id END ORDER BY x.i),
           array_agg(CASE WHEN t.content_hash = x.content_hash THEN t.period END ORDER BY x.i),
           array_agg(CASE WHEN x.job_there IS NULL THEN t.leader END ORDER BY x.i)
    INTO v_reason, v_twin, v_twin_period, v_leader
    FROM (
      SELECT s.i, s.content_hash, e.job_id AS job_there, e.content_hash AS content_there, e.period AS period_there,
             CASE WHEN s.key_hash IS NOT NULL THEN
               min(s.i) FILTER (WHERE v_reason[s.i] IS NULL) OVER (PARTITION BY s.user_id, s.key_hash) END AS first
      FROM unnest(v_items) s
      LEFT JOIN LATERAL (
        SELECT k.job_id, k.content_hash, k.period FROM analysis.idem k
        WHERE k.shard = p_shard AND k.user_id = s.user_id AND k.key_hash = s.key_hash OFFSET 0) e ON true) x
    -- Its twin: the job that is there, or the first of this call with the key.
    CROSS JOIN LATERAL (
      SELECT x.job_there AS job_id, x.content_there AS content_hash, x.period_there AS period, NULL::int AS leader
      WHERE x.job_there IS NOT NULL OR x.first IS NULL OR x.first >= x.i
      UNION ALL
      SELECT f.job_id, f.content_hash, f.period, f.i FROM unnest(v_items[x.first:x.first]) f
      WHERE x.job_there IS NULL AND x.first < x.i) t;
  END IF;

  -- 5. Images that are not given have to be there, and stay while this transaction is open. Each is looked for
  --    once, however many jobs show it: first among the images of the job's own month, then in the others.
  IF p_image IS NULL OR array_position(p_image, NULL) IS NOT NULL THEN
    WITH named AS (
      SELECT s.i, s.user_id, s.sha256, s.period FROM unnest(v_items) s
      WHERE v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL AND p_image[s.i] IS NULL),
    own AS MATERIALIZED (
      SELECT d.user_id, d.sha256, m.* FROM (SELECT DISTINCT n.user_id, n.sha256, n.period FROM named n ORDER BY 1, 2, 3) d
      CROSS JOIN LATERAL (
        SELECT k.id, k.period, k.byte_count, k.raw FROM analysis.image k
        WHERE k.shard = p_shard AND k.period = d.period AND k.user_id = d.user_id AND k.sha256 = d.sha256
        FOR KEY SHARE) m),
    older AS MATERIALIZED (
      SELECT d.user_id, d.sha256, m.*
      FROM (SELECT DISTINCT n.user_id, n.sha256 FROM named n
            WHERE NOT EXISTS (SELECT 1 FROM own o WHERE o.user_id = n.user_id AND o.sha256 = n.sha256)
            ORDER BY 1, 2) d
      CROSS JOIN LATERAL (
        SELECT f.* FROM (SELECT p.period FROM analysis.partition_made p ORDER BY p.period DESC) p
        CROSS JOIN LATERAL (
          SELECT k.id, k.period, k.byte_count, k.raw FROM analysis.image k
          WHERE k.shard = p_shard AND k.period = p.period AND k.user_id = d.user_id AND k.sha256 = d.sha256
          FOR KEY SHARE) f
        LIMIT 1) m),
    there AS (
      SELECT DISTINCT ON (f.user_id, f.sha256) f.* FROM (SELECT * FROM own UNION ALL SELECT * FROM older) f
      ORDER BY f.user_id, f.sha256, f.period DESC)
    SELECT array_agg(CASE WHEN n.i IS NOT NULL AND t.id IS NULL THEN 'image_missing' ELSE v_reason[x] END ORDER BY x),
           array_agg(t.id ORDER BY x), array_agg(t.period ORDER BY x), array_agg(t.byte_count ORDER BY x),
           array_agg(t.raw ORDER BY x)
    INTO v_reason, v_image, v_image_period, v_image_bytes, v_image_raw
    FROM generate_series(1, v_count) x
    LEFT JOIN named n ON n.i = x
    LEFT JOIN there t ON t.user_id = n.user_id AND t.sha256 = n.sha256;
  END IF;

  -- 6. The limit on a user's waiting jobs, from virtual time: how far their last job is behind the lanes is
  --    how many wait, without counting any.
  IF v_max_waiting IS NOT NULL THEN
    SELECT array_agg(CASE WHEN v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL AND b.waiting + s.place > v_max_waiting
                          THEN 'waiting_limit' ELSE v_reason[s.i] END ORDER BY s.i)
    INTO v_reason
    FROM (SELECT x.i, x.user_id, x.cost,
                 count(*) FILTER (WHERE v_reason[x.i] IS NULL AND v_twin[x.i] IS NULL)
                   OVER (PARTITION BY x.user_id ORDER BY x.i) AS place
          FROM unnest(v_items) x) s
    LEFT JOIN (
      SELECT d.user_id, (SELECT coalesce(sum(greatest(0, f.last_vt - coalesce(
                           (SELECT c.now_vt FROM analysis.lane_clock c WHERE c.shard = p_shard AND c.lane = f.lane), 0))), 0)
                         FROM analysis.fair_share f WHERE f.shard = p_shard AND f.user_id = d.user_id) / d.cost AS waiting
      FROM (SELECT x.user_id, max(x.cost) AS cost FROM unnest(v_items) x WHERE x.user_id IS NOT NULL GROUP BY 1) d) b
      ON b.user_id = s.user_id;
  END IF;

  -- 7. The monthly quota. What repeats a job of this call shares its fate.
  IF EXISTS (SELECT 1 FROM unnest(v_items) s WHERE v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL) THEN
    WITH asking AS (
      SELECT s.i, s.user_id, s.period, s.quota,
             row_number() OVER (PARTITION BY s.user_id, s.period, s.quota ORDER BY s.i) AS place
      FROM unnest(v_items) s WHERE v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL),
    wanted AS (
      SELECT array_agg(g.user_id) AS users, array_agg(g.period) AS periods, array_agg(g.quota) AS quotas, array_agg(g.n) AS counts
      FROM (SELECT a.user_id, a.period, a.quota, count(*)::int AS n
            FROM asking a GROUP BY 1, 2, 3 ORDER BY 1, 2, min(a.i)) g),
    dealt AS MATERIALIZED (
      SELECT u.* FROM wanted w
      CROSS JOIN LATERAL analysis.deal_units(p_shard, w.users, w.periods, w.quotas, w.counts, true) u)
    SELECT array_agg(CASE WHEN a.place > d.o_granted THEN 'quota' ELSE v_reason[n] END ORDER BY n),
           array_agg(d.o_used ORDER BY n)
    INTO v_reason, v_used
    FROM generate_series(1, v_count) n
    LEFT JOIN asking a ON a.i = n
    LEFT JOIN dealt d ON d.o_user = a.user_id AND d.o_period = a.period AND d.o_limit IS NOT DISTINCT FROM a.quota;
  END IF;
  IF array_remove(v_leader, NULL) <> '{}' THEN
    SELECT array_agg(coalesce(v_reason[n], v_reason[v_leader[n]]) ORDER BY n) INTO v_reason FROM generate_series(1, v_count) n;
  END IF;

  IF EXISTS (SELECT 1 FROM unnest(v_items) s WHERE v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL) THEN
    -- 8. The keys. Only a submit of the same key into another month can have come between: try again then.
    IF p_key IS NOT NULL THEN
      INSERT INTO analysis.idem (shard, user_id, key_hash, content_hash, job_id, period, at)
      SELECT p_shard, s.user_id, s.key_hash, s.content_hash, s.job_id, s.period, v_now
      FROM unnest(v_items) s
      WHERE s.key_hash IS NOT NULL AND v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL
      ORDER BY s.user_id, s.key_hash
      ON CONFLICT (shard, user_id, key_hash) DO NOTHING;
      GET DIAGNOSTICS v_keys = ROW_COUNT;
      IF v_keys < (SELECT count(*) FROM unnest(v_items) s
                   WHERE s.key_hash IS NOT NULL AND v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL) THEN
        RAISE EXCEPTION 'a key of this call was used at the same moment for another month' USING ERRCODE = '40001';
      END IF;
    END IF;

    -- 9. Places in the lanes, for what may run at once.
    WITH asking AS (
      SELECT s.i, s.user_id, s.lane, s.cost, row_number() OVER (PARTITION BY s.user_id, s.lane ORDER BY s.i) - 1 AS place
      FROM unnest(v_items) s WHERE v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL AND s.run_at IS NULL),
    wanted AS (
      SELECT array_agg(g.user_id) AS users, array_agg(g.lane) AS lanes, array_agg(g.cost) AS costs, array_agg(g.n) AS counts
      FROM (SELECT a.user_id, a.lane, max(a.cost) AS cost, count(*) AS n FROM asking a GROUP BY 1, 2) g),
    places AS MATERIALIZED (
      SELECT p.* FROM wanted w CROSS JOIN LATERAL analysis.take_places(p_shard, 0::smallint, w.users, w.lanes, w.costs, w.counts) p)
    SELECT array_agg(coalesce(p.o_first + a.place * a.cost, -1) ORDER BY n) INTO v_vt
    FROM generate_series(1, v_count) n
    LEFT JOIN asking a ON a.i = n
    LEFT JOIN places p ON p.o_user = a.user_id AND p.o_lane = a.lane;

    -- 10. Images. One that the user has in this month already is used again, also within the call. The bytes
    --    are fetched from the array as each row is written, so no sort carries them.
    IF p_image IS NOT NULL THEN
      WITH given AS (
        SELECT s.i, s.user_id, s.period, s.sha256 FROM unnest(v_items) s
        WHERE v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL AND p_image[s.i] IS NOT NULL),
      stored AS (
        INSERT INTO analysis.image AS k (
          shard, period, user_id, sha256, bytes, byte_count, width, height, raw, created_at, used_at)
        SELECT p_shard, o.period, o.user_id, o.sha256, p_image[o.i], octet_length(p_image[o.i]), p_width[o.i], p_height[o.i],
               coalesce(p_raw[o.i], false), v_now, v_now
        FROM (SELECT DISTINCT ON (g.period, g.user_id, g.sha256) g.* FROM given g ORDER BY g.period, g.user_id, g.sha256, g.i) o
        ON CONFLICT (shard, period, user_id, sha256) DO UPDATE SET used_at = EXCLUDED.used_at
        RETURNING k.id, k.period, k.user_id, k.sha256, k.byte_count, k.raw)
      SELECT array_agg(coalesce(k.id, v_image[n]) ORDER BY n), array_agg(coalesce(k.period, v_image_period[n]) ORDER BY n),
             array_agg(coalesce(k.byte_count, v_image_bytes[n]) ORDER BY n), array_agg(coalesce(k.raw, v_image_raw[n]) ORDER BY n)
      INTO v_image, v_image_period, v_image_bytes, v_image_raw
      FROM generate_series(1, v_count) n
      LEFT JOIN given g ON g.i = n
      LEFT JOIN stored k ON k.period = g.period AND k.user_id = g.user_id AND k.sha256 = g.sha256;
    END IF;

    -- 11. The jobs, and their rows in the queue.
    WITH accepted AS MATERIALIZED (
      SELECT s.* FROM unnest(v_items) s WHERE v_reason[s.i] IS NULL AND v_twin[s.i] IS NULL ORDER BY s.i),
    born AS (
      INSERT INTO analysis.job (
        shard, period, kind, lane, id, user_id, image_id, vt, created_at, run_at, expires_at, image_bytes, image_period,
        max_attempts, image_raw, key_hash, source_name)
      SELECT p_shard, s.period, s.kind, s.lane, s.job_id, s.user_id, v_image[s.i], v_vt[s.i], v_now, s.run_at, s.expires_at,
             v_image_bytes[s.i], v_image_period[s.i], p_max_attempts, v_image_raw[s.i], s.key_hash, s.source_name
      FROM accepted s),
    later AS (
      INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id)
      SELECT p_shard, s.lane, 0, s.period, s.run_at, s.job_id FROM accepted s WHERE s.run_at IS NOT NULL)
    INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
    SELECT p_shard, s.lane, 0, s.period, v_vt[s.i], s.job_id FROM accepted s WHERE s.run_at IS NULL;
  END IF;

  RETURN QUERY
  SELECT s.i, CASE WHEN v_reason[s.i] IS NOT NULL THEN 'refused' WHEN v_twin[s.i] IS NOT NULL THEN 'duplicate' ELSE 'created' END,
         v_reason[s.i],
         CASE WHEN v_reason[s.i] IS NULL THEN coalesce(v_twin[s.i], s.job_id) END,
         CASE WHEN v_reason[s.i] IS NULL THEN CASE WHEN v_twin[s.i] IS NULL THEN s.period ELSE v_twin_period[s.i] END END,
         CASE WHEN s.user_id IS NOT NULL THEN s.quota END, v_used[s.i]
  FROM unnest(v_items) s ORDER BY s.i;
END $$;
