-- Another name for a user: number, jobs, results and statements stay, and the audit knows users by number.
--
-- The former name is refused from then on wherever a user is named, and stays reserved until the person is
-- erased: it would otherwise become a second user of the same person. Only its hash is kept. The same user
-- may take it again.

-- Whether a user had this name before and has another now: in its composed form, or, unless that is the name
-- of somebody, in the decomposed one, in which names were kept once.
CREATE OR REPLACE FUNCTION analysis.is_former_name(p_user text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM analysis.renamed r
    JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id
    WHERE r.name_sha256 IN (
        sha256(convert_to(normalize(p_user), 'UTF8')), sha256(convert_to(normalize(p_user, NFD), 'UTF8')))
      AND a.user_ref <> normalize(p_user)
      AND (r.name_sha256 = sha256(convert_to(normalize(p_user), 'UTF8'))
        OR NOT EXISTS (
          SELECT FROM analysis.account k
          WHERE k.shard = analysis.shard_of(p_user) AND k.user_ref = normalize(p_user))))
$$;

-- Gives a user another name; answers the user's number, NULL if there is no such user. Images that are there
-- stay bound to the name under which they were encrypted. Refused to who sees some clinics only.
--
-- Locks: the table of names, so that nobody is added or renamed meanwhile; then as an erasure does.
CREATE OR REPLACE FUNCTION analysis.rename_user(p_shard smallint, p_user text, p_name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET lock_timeout = '5s' AS $$
DECLARE
  v_was bytea := sha256(convert_to(normalize(p_user), 'UTF8'));
  v_is bytea := sha256(convert_to(normalize(p_name), 'UTF8'));
  v_now timestamptz := clock_timestamp();
  v_user bigint;
BEGIN
  p_name := normalize(p_name);
  PERFORM analysis.require_argument(
    length(p_name) BETWEEN 1 AND 200 AND p_name !~ analysis.hidden_characters(),
    'a user''s reference has 1 to 200 characters, and none that cannot be seen');
  PERFORM analysis.require_argument(
    p_name !~ '^erased-[0-9]+-*$', 'such a name is that of a user who was erased');
  PERFORM analysis.require_unrestricted();
  PERFORM analysis.refuse_repeatable_read();
  IF NOT EXISTS (
    SELECT FROM analysis.account a
    WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL) THEN
    RETURN NULL;
  END IF;
  LOCK TABLE analysis.renamed IN SHARE ROW EXCLUSIVE MODE;
  SELECT a.user_id INTO v_user FROM analysis.account a
  WHERE a.shard = p_shard AND a.user_ref = normalize(p_user) AND a.erased_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  PERFORM analysis.require_argument(
    NOT EXISTS (
      SELECT FROM analysis.all_shards() s
      CROSS JOIN LATERAL (
        SELECT FROM analysis.account a WHERE a.shard = s.o_shard AND a.user_ref = p_name OFFSET 0) a),
    'a user has the new name already');
  PERFORM analysis.require_argument(
    NOT EXISTS (
      SELECT FROM analysis.renamed r
      WHERE r.name_sha256 IN (v_is, sha256(convert_to(normalize(p_name, NFD), 'UTF8')))
        AND (r.shard, r.user_id) <> (p_shard, v_user)),
    'another user had the new name before, and it stays theirs');

  PERFORM analysis.lock_months(p_shard, v_user);
  UPDATE analysis.account a SET user_ref = p_name WHERE a.shard = p_shard AND a.user_id = v_user;
  -- By the index of those that a submit may use again; others are found by the jobs that show them.
  UPDATE analysis.image i SET user_sha256 = v_was
  WHERE i.shard = p_shard AND i.user_id = v_user AND i.reusable AND i.encrypted_by IS NOT NULL
    AND i.user_sha256 IS NULL AND i.period = ANY (ARRAY(SELECT m.period FROM analysis.partition_made m));
  UPDATE analysis.image i SET user_sha256 = v_was
  WHERE (i.shard, i.period, i.id) IN (
      SELECT j.shard, j.image_period, j.image_id FROM analysis.job j
      WHERE j.shard = p_shard AND j.user_id = v_user)
    AND i.user_id = v_user AND NOT i.reusable AND i.encrypted_by IS NOT NULL AND i.user_sha256 IS NULL;
  INSERT INTO analysis.renamed (name_sha256, shard, user_id, since)
  VALUES (v_was, p_shard, v_user, v_now), (v_is, p_shard, v_user, v_now)
  ON CONFLICT (name_sha256) DO NOTHING;
  PERFORM analysis.audit_add('rename', 'user:' || v_user);
  RETURN v_user;
END $$;
COMMENT ON FUNCTION analysis.rename_user IS
  'Gives a user another name; answers the user''s number.';
