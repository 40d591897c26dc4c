-- What operators see of the queue, and what submitters call their jobs: what the version
-- after 1.0 adds to the schema.

-- Counts of the queue, kept so that whoever looks counts nothing. Workers bring them up to date every two
-- seconds; a row is written only where it changes.

-- What waits, runs and is scheduled in each lane. A lane of up to 10,000 jobs is counted each time. A larger
-- one is counted wholly now and then, and moved on in between by what the server says was written to `ready`.
CREATE TABLE analysis.lane_count (
  shard          smallint NOT NULL,
  lane           smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  is_exact       boolean NOT NULL,         -- false: more than 10,000 wait, and `waiting` is about right
  in_flight      int NOT NULL,
  waiting        bigint NOT NULL,
  scheduled      int NOT NULL,             -- 10,001 stands for more than 10,000
  whole_ms       int,                      -- how long the last whole count took
  waiting_since  timestamptz,              -- of the job that has waited longest, as far as is known
  next_run       timestamptz,              -- of the scheduled jobs
  whole_at       timestamptz,              -- when the lane was last counted wholly; NULL: never
  whole          bigint,                   -- what that came to
  -- The rows that were inserted into `ready` until then, and those of them that were not deleted, as the
  -- server counts them for all lanes together.
  whole_inserted bigint,
  whole_left     bigint,
  PRIMARY KEY (shard, lane))
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- When a shard was counted, and what there is in it beside lanes; 10,001 stands for more than 10,000.
CREATE TABLE analysis.shard_count (
  shard      smallint PRIMARY KEY,
  dead       int NOT NULL DEFAULT 0,
  refunds    int NOT NULL DEFAULT 0,
  counted_at timestamptz NOT NULL)
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- How the whole queue was at the end of each step of 10 seconds (kept for an hour) and each minute (kept for
-- two days), and what workers brought to an end in it.
CREATE TABLE analysis.queue_history (
  step      smallint NOT NULL CHECK (step IN (10, 60)),         -- seconds
  in_flight int NOT NULL,
  rate      real NOT NULL,                 -- results a second, by the workers' own clocks
  at        timestamptz NOT NULL,          -- the end of the step
  waiting   bigint NOT NULL,
  scheduled bigint NOT NULL,
  done      bigint NOT NULL,               -- results that were stored
  dead      bigint NOT NULL,
  retried   bigint NOT NULL,               -- attempts that are to be made again
  -- What each worker had counted, from which the next step counts on: {number: [seconds since 1970, done,
  -- dead, retried]}. Only the newest row has it.
  counted   jsonb,
  PRIMARY KEY (step, at))
  WITH (fillfactor = 90);

-- Dead jobs by the time of their end, for whoever looks for the last failures.
CREATE INDEX dead_ended ON analysis.dead (shard, failed_at, job_id);

-- The HTTP status of the last failure, by which causes are told apart. NULL: there was no answer, or it died
-- under version 1.0.
ALTER TABLE analysis.dead ADD COLUMN status smallint;

-- Entries of the audit by what and whom they concern: by their object, or by the numbers in their detail; and
-- by what was done and by whom, so that a search for what never happened does not read all of them.
-- Entries are added to it in the background, from those that every action only drafts.
CREATE INDEX audit_object ON analysis.audit (object, id);
CREATE INDEX audit_action ON analysis.audit (action, id);
CREATE INDEX audit_role ON analysis.audit (role, id);
CREATE INDEX audit_os_user ON analysis.audit (os_user, id);
CREATE INDEX audit_users ON analysis.audit USING gin ((detail -> 'users') jsonb_path_ops);
CREATE INDEX audit_jobs ON analysis.audit USING gin ((detail -> 'jobs') jsonb_path_ops);

-- The users of a clinic, for whoever sees those of some clinics alone.
CREATE INDEX account_clinic ON analysis.account (shard, clinic_id, user_id) WHERE clinic_id IS NOT NULL;
-- Users by their references, in the order in which lists and pages go on.
CREATE INDEX account_reference ON analysis.account (shard, user_ref COLLATE "C");

-- Batches: the jobs that a person submits together. And what a submitter calls a job.
--
-- Both stand in a table beside the jobs. A submit without them writes what it wrote before, a worker never
-- looks here, and no completion changes a row: how far a batch is gets counted, by its index.

-- The batches. One row for each, whatever shards its jobs are in: like the plans, they belong to no shard.
CREATE TABLE analysis.batch (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at timestamptz NOT NULL,
  submitter  smallint NOT NULL,                              -- the login that made it, and adds to it
  salt       uuid NOT NULL DEFAULT gen_random_uuid(),        -- of the marks of what was refused
  key_hash   bytea CHECK (octet_length(key_hash) = 32),      -- of the run's key: a repeat goes on with it
  name       text CHECK (length(name) BETWEEN 1 AND 100));
CREATE UNIQUE INDEX batch_key ON analysis.batch (submitter, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX batch_submitter ON analysis.batch (submitter, id);

-- What was refused in a batch and has no job: a row for each key of a user, so that a repeat counts once, and
-- for each submit without a key. Rows are added and never changed, so that no submit waits for another's.
CREATE TABLE analysis.batch_refusal (
  batch_id bigint NOT NULL,
  mark     bytea NOT NULL CHECK (octet_length(mark) = 32),   -- sha256(the batch's salt, user, key), or random
  PRIMARY KEY (batch_id, mark));

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
-- Whose a batch is.
CREATE INDEX job_label_user ON analysis.job_label (shard, batch_id, user_id) WHERE batch_id IS NOT NULL;
CREATE INDEX job_label_reference ON analysis.job_label (shard, reference, period, job_id)
  WHERE reference IS NOT NULL;

-- A reference may tell who somebody is, as a file's name may; the planner keeps no copy of it.
ALTER TABLE analysis.job_label ALTER COLUMN reference SET STATISTICS 0;
ALTER TABLE analysis.batch ALTER COLUMN name SET STATISTICS 0;

ALTER TABLE analysis.job_label ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.job_label FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- Webhooks: addresses that receive how the jobs of a clinic or of a user end. Few, and of all shards:
-- like the clinics they belong to none. No role reads this table; functions give each what it needs.
CREATE TABLE analysis.webhook (
  id              int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  clinic_id       int REFERENCES analysis.clinic (id),          -- whose: a clinic's,
  shard           smallint,                                     -- or a user's
  has_findings    boolean NOT NULL,           -- whether what was found is sent too
  user_id         bigint,
  failures        int NOT NULL DEFAULT 0,     -- since the last delivery that succeeded, as far as they count
  created_at      timestamptz NOT NULL,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  retry_at        timestamptz,                -- after failures: nothing is sent before
  off_at          timestamptz,                -- since when nothing is sent; NULL: it is on
  off_reason      text CHECK (off_reason IN ('failed', 'gone')),
  last_failure    text CHECK (length(last_failure) <= 200),
  host            text NOT NULL CHECK (length(host) BETWEEN 1 AND 300),
  url             text NOT NULL CHECK (length(url) BETWEEN 9 AND 2000),   -- all of it may be a secret
  -- For signing, encrypted under a key of the key file, with whose number it begins.
  secret          bytea NOT NULL CHECK (octet_length(secret) BETWEEN 121 AND 400),
  CHECK ((clinic_id IS NULL) <> (user_id IS NULL) AND (shard IS NULL) = (user_id IS NULL)),
  CHECK ((off_at IS NULL) = (off_reason IS NULL)));
CREATE INDEX webhook_clinic ON analysis.webhook (clinic_id) WHERE clinic_id IS NOT NULL;
CREATE INDEX webhook_user ON analysis.webhook (shard, user_id) WHERE user_id IS NOT NULL;

-- What is sent to them: a row for each job that ended while there was a webhook for it, in the job's shard.
CREATE SEQUENCE analysis.webhook_event_id AS bigint CACHE 16;
CREATE TABLE analysis.webhook_event (
  shard        smallint NOT NULL,
  state        smallint NOT NULL CHECK (state BETWEEN 0 AND 3),  -- test, succeeded, cancelled, dead
  period       smallint,                      -- the job's; NULL: a test
  attempts     smallint NOT NULL DEFAULT 0,
  webhook_id   int NOT NULL,
  id           bigint NOT NULL DEFAULT nextval('analysis.webhook_event_id'),
  job_id       bigint,
  user_id      bigint,
  worker_id    bigint,                        -- who delivers it now
  at           timestamptz NOT NULL,          -- when the job ended
  due_at       timestamptz,                   -- NULL: it was delivered or given up
  tried_at     timestamptz,                   -- first
  delivered_at timestamptz,
  failed_at    timestamptz,                   -- given up
  failure      text CHECK (length(failure) <= 200),   -- why it was not taken last
  PRIMARY KEY (shard, id),
  CHECK ((due_at IS NOT NULL)::int + (delivered_at IS NOT NULL)::int + (failed_at IS NOT NULL)::int = 1))
  WITH (fillfactor = 80, autovacuum_vacuum_threshold = 100);
CREATE INDEX webhook_event_due ON analysis.webhook_event (shard, webhook_id, due_at);
CREATE INDEX webhook_event_user ON analysis.webhook_event (shard, user_id);
CREATE INDEX webhook_event_at ON analysis.webhook_event (shard, at);

ALTER TABLE analysis.webhook ALTER COLUMN url SET STATISTICS 0, ALTER COLUMN secret SET STATISTICS 0;

ALTER TABLE analysis.webhook ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.webhook FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL
  OR clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user)))
  OR (shard, user_id) IN (SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
ALTER TABLE analysis.webhook_event ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.webhook_event FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
