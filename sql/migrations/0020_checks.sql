-- Fewer checks of what a submit writes. The server reads and prepares every check anew for every statement:
-- the fifteen of one submitted job were a seventh of its cost. What they demand of jobs, keys, images and
-- counts is the same, in one check for each table. `ready` and `fair_share` have none: the functions make
-- their rows, of lanes that the check of `job` has seen. The version before works beside this.
--
-- NOT VALID: what is there was held to the same, and to read all months again would keep the queue waiting.
-- The months that are made from now on have the checks as valid ones. Checks that somebody has added stay,
-- unless their names end as those that the server gives.
DO $$
DECLARE
  v_table regclass;
  v_drops text;
BEGIN
  FOR v_table, v_drops IN
    SELECT c.conrelid::regclass, string_agg(format('DROP CONSTRAINT %I', c.conname), ', ')
    FROM pg_constraint c
    WHERE c.contype = 'c' AND (c.conname ~ '_check[0-9]*$' OR c.conname = 'image_encrypted_whole')
      AND c.conrelid IN (
        'analysis.job'::regclass, 'analysis.idem'::regclass, 'analysis.image'::regclass,
        'analysis.ready'::regclass, 'analysis.fair_share'::regclass, 'analysis.usage'::regclass)
    GROUP BY c.conrelid
  LOOP
    EXECUTE format('ALTER TABLE %s %s', v_table, v_drops);
  END LOOP;
END $$;

ALTER TABLE analysis.job ADD CONSTRAINT job_whole CHECK (
  kind IN (1, 2) AND lane / 4 = kind AND lane % 4 < 3 AND image_bytes > 0 AND max_attempts BETWEEN 1 AND 100
  AND coalesce(octet_length(key_hash) = 32, true) AND coalesce(length(source_name) <= 500, true)) NOT VALID;
ALTER TABLE analysis.idem ADD CONSTRAINT idem_whole CHECK (
  octet_length(key_hash) = 32 AND octet_length(content_hash) = 32) NOT VALID;
ALTER TABLE analysis.image ADD CONSTRAINT image_whole CHECK (
  octet_length(bytes) BETWEEN 1 AND 10000512 AND byte_count = octet_length(bytes)
  AND octet_length(sha256) = 32 AND coalesce(octet_length(user_sha256) = 32, true)
  AND coalesce(width BETWEEN 1 AND 100000, true) AND coalesce(height BETWEEN 1 AND 100000, true)
  AND CASE WHEN encrypted_by IS NULL THEN wrapped_key IS NULL
           ELSE encrypted_by > 0 AND octet_length(wrapped_key) = 72 AND octet_length(bytes) > 40 END IS TRUE)
  NOT VALID;
ALTER TABLE analysis.usage ADD CONSTRAINT usage_whole CHECK (
  used >= 0 AND refunded >= 0 AND refused >= 0) NOT VALID;
