-- How the jobs ended.

-- Results and cancellations. The primary key is the second guard that a job ends once.
--
-- The server reads and prepares every check anew for every statement: one check for each column was three
-- quarters of the cost of storing a single result. So there are few, for what a result means; the worker
-- limits the length of its texts when it reads the answer. The result of an erased person stays as a row
-- without a number of conditions.
CREATE TABLE analysis.result (
  shard                smallint NOT NULL,
  period               smallint NOT NULL,
  kind                 smallint NOT NULL CHECK (kind IN (1, 2)),
  outcome              smallint NOT NULL,            -- 1 analysed, 2 cancelled
  job_id               bigint NOT NULL,
  user_id              bigint NOT NULL,
  finished_at          timestamptz NOT NULL,
  answered_at          timestamptz,                  -- the backend's own time, if it gave one
  primary_confidence   double precision,
  secondary_confidence double precision,
  call_ms              int,
  attempt              smallint NOT NULL,
  calls                smallint NOT NULL,            -- of this attempt alone
  condition_count      smallint,
  primary_band         smallint,                     -- 1 green to 4 red
  secondary_band       smallint,
  primary_normal       boolean,
  secondary_normal     boolean,
  -- Ours: whether a condition with the flag, that is not normal, has a confidence of at least consult_from.
  -- Then the answer's own: whether any condition has the flag. NULL: no condition says.
  serious              boolean,
  consult              boolean,
  endpoint_serious     boolean,
  endpoint_consult     boolean,
  analysis_id          text,
  primary_id           text,
  primary_name         text,
  secondary_id         text,
  secondary_name       text,
  endpoint             text,
  model                text,
  version              text,
  -- {id, name, confidence, band, normal, description?, symptoms?, serious?, consult?, treatment?,
  -- recommendation?} each
  conditions           jsonb,
  PRIMARY KEY (shard, period, job_id),
  CONSTRAINT result_analysis_whole CHECK (
    CASE outcome
      WHEN 1 THEN
        CASE WHEN condition_count IS NULL
          THEN analysis_id = 'erased' AND conditions = '[]' AND primary_id IS NULL
          ELSE analysis_id IS NOT NULL AND condition_count = jsonb_array_length(conditions) END
        AND attempt BETWEEN 1 AND 255 AND calls > 0
      WHEN 2 THEN num_nonnulls(analysis_id, conditions, condition_count, primary_id, secondary_id) = 0
      ELSE false END IS TRUE),
  CONSTRAINT result_primary_whole CHECK (
    CASE WHEN condition_count > 0
      THEN num_nulls(primary_id, primary_name, primary_normal) = 0
           AND primary_confidence BETWEEN 0 AND 1 AND primary_band BETWEEN 1 AND 4
      ELSE num_nonnulls(primary_id, primary_name, primary_confidence, primary_band, primary_normal) = 0
      END IS TRUE),
  CONSTRAINT result_secondary_whole CHECK (
    CASE WHEN condition_count > 1
      THEN num_nulls(secondary_id, secondary_name, secondary_normal) = 0
           AND secondary_confidence BETWEEN 0 AND 1 AND secondary_band BETWEEN 1 AND 4
      ELSE num_nonnulls(
        secondary_id, secondary_name, secondary_confidence, secondary_band, secondary_normal) = 0
      END IS TRUE))
  PARTITION BY RANGE (period);
-- The user stands first: behind the shard, a planner without statistics takes this index, which is small
-- where few users have many results, for the look-up of a job's result, which then reads the shard's whole
-- month.
CREATE INDEX result_user ON analysis.result (user_id, shard, period);
-- Few of the results are cancellations, and only those are in this index.
CREATE INDEX result_cancelled ON analysis.result (shard, period, job_id) WHERE outcome = 2;

-- Jobs that died, apart from results: a dead job can be retried, and its later success needs the
-- key of the result.
CREATE TABLE analysis.dead (
  shard     smallint NOT NULL,
  period    smallint NOT NULL,
  kind      smallint NOT NULL CHECK (kind IN (1, 2)),
  attempts  smallint NOT NULL CHECK (attempts >= 0),           -- consumed
  job_id    bigint NOT NULL,
  user_id   bigint NOT NULL,
  failed_at timestamptz NOT NULL,
  calls     int NOT NULL CHECK (calls >= 0),                   -- of all its attempts
  class     text NOT NULL CHECK (length(class) BETWEEN 1 AND 60),
  code      text CHECK (length(code) <= 200),
  message   text NOT NULL CHECK (length(message) BETWEEN 1 AND 2000));
CREATE INDEX dead_month ON analysis.dead (shard, period, job_id);
CREATE INDEX dead_user ON analysis.dead (shard, user_id, period, job_id);
-- The last one, as in `scheduled`.
ALTER TABLE analysis.dead ADD PRIMARY KEY (shard, job_id);

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
  consumed         boolean NOT NULL,                              -- it counts as one of the job's attempts
  class         text NOT NULL CHECK (length(class) BETWEEN 1 AND 60),
  code          text CHECK (length(code) <= 200),
  message       text NOT NULL CHECK (length(message) BETWEEN 1 AND 2000),
  error_id      text CHECK (length(error_id) <= 200),
  endpoint      text CHECK (length(endpoint) <= 200))
  PARTITION BY RANGE (period);
CREATE INDEX attempt_error_job ON analysis.attempt_error (shard, period, job_id);

-- What the functions pass to each other about attempts that end without a result.
CREATE TYPE analysis.ended AS (
  job_id        bigint,
  period        smallint,
  user_id       bigint,
  kind          smallint,
  worker_id     bigint,
  attempt       smallint,        -- number of the attempt that ended
  attempts      smallint,        -- consumed, this one included if it is
  outcome       text,            -- retried, dead or stale
  lane          smallint,        -- where it goes next
  tries         smallint,        -- with what
  vt            bigint,          -- not before this virtual time
  delay_ms      bigint,          -- 0: at once
  consumed         boolean,
  class         text,            -- NULL: no error to record
  code          text,
  message       text,
  error_id      text,
  status        smallint,
  calls         smallint,
  maybe_counted boolean,
  endpoint      text);
