-- Batches: the jobs that a person submits together. And what a submitter calls a job.
--
-- Both stand in a table beside the jobs. A submit without them writes what it wrote before, a worker never
-- looks here, and no completion changes a row: how far a batch is gets counted, by its index.

-- The batches. One row for each, whatever shards its jobs are in: like the plans, they belong to no shard.
CREATE TABLE analysis.batch (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at timestamptz NOT NULL,
  submitter  smallint NOT NULL,                              -- the login that made it, and adds to it
  refused    int NOT NULL DEFAULT 0 CHECK (refused >= 0),    -- what was refused has no job
  key_hash   bytea CHECK (octet_length(key_hash) = 32),      -- of the run's key: a repeat goes on with it
  name       text CHECK (length(name) BETWEEN 1 AND 100));
CREATE UNIQUE INDEX batch_key ON analysis.batch (submitter, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX batch_submitter ON analysis.batch (submitter, id);

-- Of a job what the queue does not need: its batch, and what the submitter calls it, such as the number of
-- a visit. Only jobs that have one of them have a row.
CREATE TABLE analysis.job_label (
  shard     smallint NOT NULL,
  period    smallint NOT NULL,       -- the job's: it moves with a retry
  job_id    bigint NOT NULL,
  user_id   bigint NOT NULL,
  batch_id  bigint,
  reference text CHECK (length(reference) BETWEEN 1 AND 200),
  PRIMARY KEY (shard, period, job_id),
  CHECK (batch_id IS NOT NULL OR reference IS NOT NULL));
CREATE INDEX job_label_batch ON analysis.job_label (shard, batch_id, period, job_id)
  WHERE batch_id IS NOT NULL;
CREATE INDEX job_label_reference ON analysis.job_label (shard, reference, period, job_id)
  WHERE reference IS NOT NULL;

-- A reference may tell who somebody is, as a file's name may; the planner keeps no copy of it.
ALTER TABLE analysis.job_label ALTER COLUMN reference SET STATISTICS 0;
ALTER TABLE analysis.batch ALTER COLUMN name SET STATISTICS 0;

ALTER TABLE analysis.job_label ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.job_label FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
