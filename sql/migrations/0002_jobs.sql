-- Jobs: written once at submit, read by key, partitioned by the month in which they count.
--
-- `period` is year times twelve plus the month counted from zero (2026-11 is 24322): a label that a job gets
-- at submit and keeps.

CREATE SEQUENCE analysis.job_id AS bigint CACHE 64;

-- The months that have partitions. A submit into any other month is refused, and a search for a job by its
-- number alone goes through these.
CREATE TABLE analysis.partition_made (
  period     smallint PRIMARY KEY CHECK (period BETWEEN 24000 AND 32399),
  created_at timestamptz NOT NULL DEFAULT now());

-- The logins that have submitted, with the number by which their jobs know them.
CREATE TABLE analysis.submitter (
  id    smallint PRIMARY KEY CHECK (id > 0),
  login name NOT NULL UNIQUE);

CREATE TABLE analysis.job (
  shard        smallint NOT NULL,
  period       smallint NOT NULL,
  kind         smallint NOT NULL CHECK (kind IN (1, 2)),                  -- 1 throat, 2 ear
  lane         smallint NOT NULL CHECK (lane / 4 = kind AND lane % 4 < 3), -- home lane: kind * 4 + priority
  id           bigint NOT NULL DEFAULT nextval('analysis.job_id'),
  user_id      bigint NOT NULL,
  image_id     bigint NOT NULL,
  vt           bigint NOT NULL,          -- virtual time where it waits or waited; -1: only scheduled so far
  created_at   timestamptz NOT NULL,
  run_at       timestamptz,              -- not before
  expires_at   timestamptz,              -- not after
  -- a claim answers this, image_period, image_unsanitized
  image_bytes  int NOT NULL CHECK (image_bytes > 0),
  image_period smallint NOT NULL,
  max_attempts smallint NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
  -- How it took its place, so that a cancellation can give the place up: 0 submitted, 1 promoted, 2 came back
  -- without taking a place (a retry at once, a release, a rescue).
  source       smallint NOT NULL DEFAULT 0,
  submitter    smallint,                 -- the login that submitted it: no other back-end reads or cancels it
  image_unsanitized    boolean NOT NULL,
  closed       boolean NOT NULL DEFAULT false,          -- cancelled: whoever holds or finds it drops it
  -- The first 16 bytes of its image's hash: a worker sends no other image for it. Empty once the person is
  -- erased.
  image_mark   bytea NOT NULL,
  key_hash     bytea CHECK (octet_length(key_hash) = 32),
  source_name  text CHECK (length(source_name) <= 500),
  PRIMARY KEY (shard, period, id))
  PARTITION BY RANGE (period);

-- The jobs of a user, by number.
CREATE INDEX job_user ON analysis.job (shard, user_id, period, id);

-- Jobs that show an image of another month: few, and looked up when that image is to be removed. Jobs that
-- show an image of their own month are found by an index that a month gets when its images are old enough
-- (analysis.index_images): kept from the submit on, it was a sixteenth of the cost of a bulk submit.
CREATE INDEX job_borrowed ON analysis.job (shard, image_id) WHERE image_period <> period;

-- File names may tell who somebody is (see 0001_accounts.sql), and a hash which picture was theirs;
-- ensure_partitions does the same for each month.
ALTER TABLE analysis.job
  ALTER COLUMN source_name SET STATISTICS 0,
  ALTER COLUMN image_mark SET STATISTICS 0;

-- One submit, one idempotency key: whoever inserts the row has the job. There is never a lock, so that the
-- next one wins when a winner rolls back.
CREATE TABLE analysis.idem (
  shard        smallint NOT NULL,
  period       smallint NOT NULL,
  user_id      bigint NOT NULL,
  job_id       bigint NOT NULL,
  at           timestamptz NOT NULL,
  key_hash     bytea NOT NULL CHECK (octet_length(key_hash) = 32),       -- sha256(the account's salt, key)
  content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),   -- sha256(image's hash, kind)
  PRIMARY KEY (shard, user_id, key_hash))
  WITH (vacuum_truncate = false);
