-- A login may have several numbers, and makes one batch for a key all the same. Batches of before, and of
-- the version before, have no login here: they are found by the number of their submitter.
ALTER TABLE analysis.batch ADD COLUMN login name;
CREATE UNIQUE INDEX batch_login_key ON analysis.batch (login, key_hash) WHERE key_hash IS NOT NULL;
