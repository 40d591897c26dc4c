-- Jobs and images: written once at submit, read by key, partitioned by the month they count in.
--
-- `period` is year times twelve plus the month counted from nought (2026-11 is 24322): a label that a
-- job gets at submit and keeps.

CREATE SEQUENCE analysis.job_id AS bigint CACHE 64;
CREATE SEQUENCE analysis.image_id AS bigint CACHE 64;

-- The months that have partitions. A submit into any other is refused, and who looks for a job by its
-- number alone goes through these.
CREATE TABLE analysis.partition_made (
  period     smallint PRIMARY KEY CHECK (period BETWEEN 24000 AND 32399),
  created_at timestamptz NOT NULL DEFAULT now());

CREATE TABLE analysis.job (
  shard        smallint NOT NULL,
  period       smallint NOT NULL,
  kind         smallint NOT NULL CHECK (kind IN (1, 2)),                  -- 1 throat, 2 ear
  lane         smallint NOT NULL CHECK (lane / 4 = kind AND lane % 4 < 3), -- home lane: kind * 4 + priority
  id           bigint NOT NULL DEFAULT nextval('analysis.job_id'),
  user_id      bigint NOT NULL,
  image_id     bigint NOT NULL,
  vt           bigint NOT NULL,          -- virtual time where first queued; -1: scheduled at submit
  created_at   timestamptz NOT NULL,
  run_at       timestamptz,              -- not before
  expires_at   timestamptz,              -- not after
  image_bytes  int NOT NULL CHECK (image_bytes > 0),    -- with the next two, what a claim tells of the image
  image_period smallint NOT NULL,
  max_attempts smallint NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
  image_raw    boolean NOT NULL,
  closed       boolean NOT NULL DEFAULT false,          -- cancelled: whoever holds or finds it drops it
  key_hash     bytea CHECK (octet_length(key_hash) = 32),
  source_name  text CHECK (length(source_name) <= 500),
  PRIMARY KEY (shard, period, id))
  PARTITION BY RANGE (period);

CREATE TABLE analysis.image (
  shard      smallint NOT NULL,
  period     smallint NOT NULL,
  raw        boolean NOT NULL,           -- not cleaned yet: the worker does it before the image leaves
  id         bigint NOT NULL DEFAULT nextval('analysis.image_id'),
  user_id    bigint NOT NULL,
  created_at timestamptz NOT NULL,
  used_at    timestamptz NOT NULL,       -- last submit that named it
  byte_count int NOT NULL CHECK (byte_count = octet_length(bytes)),
  width      int CHECK (width BETWEEN 1 AND 100000),
  height     int CHECK (height BETWEEN 1 AND 100000),
  sha256     bytea NOT NULL CHECK (octet_length(sha256) = 32),
  -- 10 MB, and a little for encryption.
  bytes      bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 10490000),
  PRIMARY KEY (shard, period, id),
  UNIQUE (shard, period, user_id, sha256))
  PARTITION BY RANGE (period);

-- Images are compressed already, and 20 to 30 % of an insert's work goes into trying again.
ALTER TABLE analysis.image ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- One submit, one idempotency key: who inserts the row has the job. Never a lock, so that a winner that
-- rolls back leaves the next one to win.
CREATE TABLE analysis.idem (
  shard        smallint NOT NULL,
  period       smallint NOT NULL,
  user_id      bigint NOT NULL,
  job_id       bigint NOT NULL,
  at           timestamptz NOT NULL,
  key_hash     bytea NOT NULL CHECK (octet_length(key_hash) = 32),       -- sha256(the account's salt, key)
  content_hash bytea NOT NULL CHECK (octet_length(content_hash) = 32),   -- sha256(image's sha256, kind)
  PRIMARY KEY (shard, user_id, key_hash))
  WITH (vacuum_truncate = false);
