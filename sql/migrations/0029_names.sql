-- Names of users and clinics in their composed form (NFC): one name in two forms was two users. A name that
-- is in the other form is composed; where another has the composed one, the number is put behind it. Images
-- under a key stay bound to the name that they were encrypted under, as after a rename.
DO $$
DECLARE
  v record;
BEGIN
  FOR v IN
    SELECT a.shard, a.user_id, a.user_ref, normalize(a.user_ref) AS name
    FROM analysis.account a WHERE a.user_ref IS NOT NFC NORMALIZED ORDER BY a.shard, a.user_id
  LOOP
    IF EXISTS (SELECT FROM analysis.account a WHERE a.user_ref = v.name) THEN
      v.name := left(v.name, 170) || ' #' || v.user_id;
    END IF;
    UPDATE analysis.image i SET user_sha256 = sha256(convert_to(v.user_ref, 'UTF8'))
    WHERE i.shard = v.shard AND i.user_id = v.user_id AND i.encrypted_by IS NOT NULL
      AND i.user_sha256 IS NULL;
    UPDATE analysis.account a SET user_ref = v.name WHERE a.shard = v.shard AND a.user_id = v.user_id;
    INSERT INTO analysis.renamed (name_sha256, shard, user_id, since)
    VALUES (sha256(convert_to(v.name, 'UTF8')), v.shard, v.user_id, clock_timestamp())
    ON CONFLICT (name_sha256) DO NOTHING;
  END LOOP;
  UPDATE analysis.clinic c SET name = normalize(c.name)
  WHERE c.name IS NOT NFC NORMALIZED
    AND NOT EXISTS (SELECT FROM analysis.clinic k WHERE k.name = normalize(c.name));
END $$;
