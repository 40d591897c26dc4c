-- Names of users and clinics in their composed form (NFC): one name in two forms was two users. A name that
-- is in the other form is composed; where another has the composed one, or it is too long, the number is put
-- behind it. Images under a key stay bound to the name that they were encrypted under, as after a rename.
DO $$
DECLARE
  v record;
BEGIN
  FOR v IN
    SELECT d.shard, d.user_id, d.user_ref, d.shards,
      CASE WHEN d.n = 1 AND length(d.name) <= 200
          AND NOT EXISTS (
            SELECT FROM analysis.account k WHERE k.shard = ANY (d.shards) AND k.user_ref = d.name)
          AND NOT EXISTS (
            SELECT FROM analysis.renamed r
            WHERE r.name_sha256 = sha256(convert_to(d.name, 'UTF8')) AND r.user_id <> d.user_id)
        THEN d.name ELSE left(d.name, 170) || ' #' || d.user_id END AS name
    FROM (
      SELECT a.*, normalize(a.user_ref) AS name,
        row_number() OVER (PARTITION BY normalize(a.user_ref) ORDER BY a.shard, a.user_id) AS n,
        ARRAY(
          SELECT s::smallint FROM analysis.setting t, generate_series(0, t.value::int - 1) s
          WHERE t.name = 'shards') AS shards
      FROM analysis.account a WHERE a.user_ref IS NOT NFC NORMALIZED) d
    ORDER BY d.shard, d.user_id
  LOOP
    WHILE EXISTS (
        SELECT FROM analysis.account a
        WHERE a.shard = ANY (v.shards) AND a.user_ref = v.name AND a.user_id <> v.user_id)
      OR EXISTS (
        SELECT FROM analysis.renamed r
        WHERE r.name_sha256 = sha256(convert_to(v.name, 'UTF8')) AND r.user_id <> v.user_id)
    LOOP
      v.name := v.name || '-';
    END LOOP;
    UPDATE analysis.image i SET user_sha256 = sha256(convert_to(v.user_ref, 'UTF8'))
    WHERE i.shard = v.shard AND i.user_id = v.user_id AND i.encrypted_by IS NOT NULL
      AND i.user_sha256 IS NULL;
    UPDATE analysis.account a SET user_ref = v.name WHERE a.shard = v.shard AND a.user_id = v.user_id;
    INSERT INTO analysis.renamed (name_sha256, shard, user_id, since)
    VALUES (sha256(convert_to(v.name, 'UTF8')), v.shard, v.user_id, clock_timestamp())
    ON CONFLICT (name_sha256) DO NOTHING;
  END LOOP;
  FOR v IN
    SELECT c.id, normalize(c.name) AS name FROM analysis.clinic c
    WHERE c.name IS NOT NFC NORMALIZED ORDER BY c.id
  LOOP
    IF length(v.name) > 100 OR EXISTS (SELECT FROM analysis.clinic k WHERE k.name = v.name) THEN
      v.name := left(v.name, 85) || ' #' || v.id;
    END IF;
    WHILE EXISTS (SELECT FROM analysis.clinic k WHERE k.name = v.name) LOOP
      v.name := v.name || '-';
    END LOOP;
    UPDATE analysis.clinic c SET name = v.name WHERE c.id = v.id;
  END LOOP;
END $$;
