-- What came of the jobs.

-- Results and cancellations. The primary key is the second guard that a job ends once.
CREATE TABLE analysis.result (
  shard                smallint NOT NULL,
  period               smallint NOT NULL,
  kind                 smallint NOT NULL CHECK (kind IN (1, 2)),
  outcome              smallint NOT NULL CHECK (outcome IN (1, 2)),        -- 1 analysed, 2 cancelled
  job_id               bigint NOT NULL,
  user_id              bigint NOT NULL,
  finished_at          timestamptz NOT NULL,
  answered_at          timestamptz,                  -- the backend's own time, if it gave one
  primary_confidence   double precision CHECK (primary_confidence BETWEEN 0 AND 1),
  secondary_confidence double precision CHECK (secondary_confidence BETWEEN 0 AND 1),
  call_ms              int CHECK (call_ms >= 0),
  attempt              smallint NOT NULL CHECK (attempt BETWEEN 0 AND 255),
  calls                smallint NOT NULL CHECK (calls >= 0),               -- of this attempt alone
  condition_count      smallint CHECK (condition_count >= 0),
  primary_band         smallint CHECK (primary_band BETWEEN 1 AND 4),      -- 1 green to 4 red
  secondary_band       smallint CHECK (secondary_band BETWEEN 1 AND 4),
  primary_normal       boolean,
  secondary_normal     boolean,
  serious              boolean,
  consult              boolean,
  analysis_id          text CHECK (length(analysis_id) BETWEEN 1 AND 200),
  primary_id           text CHECK (length(primary_id) BETWEEN 1 AND 200),
  primary_name         text CHECK (length(primary_name) BETWEEN 1 AND 500),
  secondary_id         text CHECK (length(secondary_id) BETWEEN 1 AND 200),
  secondary_name       text CHECK (length(secondary_name) BETWEEN 1 AND 500),
  endpoint             text CHECK (length(endpoint) <= 200),
  model                text CHECK (length(model) <= 200),
  version              text CHECK (length(version) <= 60),
  -- {id, name, confidence, band, normal, description?, symptoms?, serious?, consult?, treatment?} each
  conditions           jsonb CHECK (jsonb_typeof(conditions) = 'array'),
  PRIMARY KEY (shard, period, job_id),
  CONSTRAINT result_analysis_whole CHECK (
    outcome = 2 AND analysis_id IS NULL AND conditions IS NULL AND primary_id IS NULL
    OR outcome = 1 AND analysis_id IS NOT NULL AND conditions IS NOT NULL
       AND condition_count = jsonb_array_length(conditions) AND attempt > 0 AND calls > 0),
  CONSTRAINT result_primary_whole CHECK (
    num_nulls(primary_id, primary_name, primary_confidence, primary_band, primary_normal)
      = CASE WHEN condition_count > 0 THEN 0 ELSE 5 END),
  CONSTRAINT result_secondary_whole CHECK (
    num_nulls(secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal)
      = CASE WHEN condition_count > 1 THEN 0 ELSE 5 END))
  PARTITION BY RANGE (period);
CREATE INDEX result_user ON analysis.result (shard, user_id, period);

-- Jobs that failed for good, apart from results: a dead job can be retried, and its later success must
-- find the place free.
CREATE TABLE analysis.dead (
  shard     smallint NOT NULL,
  period    smallint NOT NULL,
  kind      smallint NOT NULL CHECK (kind IN (1, 2)),
  attempts  smallint NOT NULL CHECK (attempts >= 0),           -- burnt
  job_id    bigint NOT NULL,
  user_id   bigint NOT NULL,
  failed_at timestamptz NOT NULL,
  calls     int NOT NULL CHECK (calls >= 0),                   -- of all its attempts
  class     text NOT NULL CHECK (length(class) BETWEEN 1 AND 60),
  code      text CHECK (length(code) <= 200),
  message   text NOT NULL CHECK (length(message) BETWEEN 1 AND 2000),
  PRIMARY KEY (shard, job_id));

-- Every attempt that did not end in a result.
CREATE TABLE analysis.attempt_error (
  shard         smallint NOT NULL,
  period        smallint NOT NULL,
  attempt       smallint NOT NULL CHECK (attempt BETWEEN 1 AND 255),
  calls         smallint NOT NULL CHECK (calls >= 0),
  job_id        bigint NOT NULL,
  user_id       bigint NOT NULL,
  worker_id     bigint NOT NULL,
  at            timestamptz NOT NULL,
  status        smallint,                                      -- HTTP
  maybe_counted boolean NOT NULL,                              -- the backend may have counted the call
  burnt         boolean NOT NULL,                              -- it counts as one of the job's attempts
  class         text NOT NULL CHECK (length(class) BETWEEN 1 AND 60),
  code          text CHECK (length(code) <= 200),
  message       text NOT NULL CHECK (length(message) BETWEEN 1 AND 2000),
  error_id      text CHECK (length(error_id) <= 200),
  endpoint      text CHECK (length(endpoint) <= 200))
  PARTITION BY RANGE (period);
CREATE INDEX attempt_error_job ON analysis.attempt_error (shard, period, job_id);

-- What the functions hand each other about attempts that end without a result.
CREATE TYPE analysis.ended AS (
  job_id        bigint,
  period        smallint,
  user_id       bigint,
  kind          smallint,
  worker_id     bigint,
  attempt       smallint,        -- number of the attempt that ended
  attempts      smallint,        -- burnt, this one included if it is
  outcome       text,            -- retried, dead or stale
  lane          smallint,        -- where it goes next
  tries         smallint,        -- with what
  vt            bigint,          -- not before this virtual time
  delay_ms      bigint,          -- 0: at once
  burnt         boolean,
  class         text,            -- NULL: no error to record
  code          text,
  message       text,
  error_id      text,
  status        smallint,
  calls         smallint,
  maybe_counted boolean,
  endpoint      text);

-- What `submit` knows of each of the jobs it is given once it has looked them up.
CREATE TYPE analysis.submission AS (
  i            int,              -- place in the call, from 1
  user_id      bigint,
  kind         smallint,
  lane         smallint,
  period       smallint,
  quota        int,              -- the limit in force when it may run; NULL: none
  cost         bigint,
  job_id       bigint,
  run_at       timestamptz,      -- NULL: at once
  expires_at   timestamptz,
  sha256       bytea,
  key_hash     bytea,
  content_hash bytea,
  source_name  text);
