-- The queue itself: narrow tables with one index, inserted into and deleted from all the time.
--
-- vacuum_truncate is off on them: giving pages back would need a lock that stops every claim.

-- `tries` holds the attempts burnt in its low byte and the number of lost batches (0 to 2) times 256.
-- Four smallints fill one word of 8 bytes.
CREATE TABLE analysis.ready (
  shard  smallint NOT NULL,
  lane   smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  tries  smallint NOT NULL CHECK (tries BETWEEN 0 AND 767),
  period smallint NOT NULL,
  vt     bigint NOT NULL,
  job_id bigint NOT NULL,
  PRIMARY KEY (shard, lane, vt, job_id))
  WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- What runs later: submitted so, or to be tried again.
CREATE TABLE analysis.scheduled (
  shard  smallint NOT NULL,
  lane   smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  tries  smallint NOT NULL CHECK (tries BETWEEN 0 AND 767),
  period smallint NOT NULL,
  run_at timestamptz NOT NULL,
  job_id bigint NOT NULL,
  PRIMARY KEY (shard, run_at, job_id))
  WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
CREATE INDEX scheduled_job ON analysis.scheduled (shard, job_id);

-- A lease: the jobs that a worker took together and has not settled yet. The arrays go in step.
CREATE TABLE analysis.batch (
  shard     smallint NOT NULL,
  lane      smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  id        bigint NOT NULL,               -- chosen by the worker, so that a lost answer can be looked up
  worker_id bigint NOT NULL,
  deadline  timestamptz NOT NULL,          -- pushed on by the worker's heartbeat
  job_ids   bigint[] NOT NULL,
  periods   smallint[] NOT NULL,
  tries     smallint[] NOT NULL,
  PRIMARY KEY (shard, id),
  CHECK (cardinality(job_ids) > 0 AND cardinality(periods) = cardinality(job_ids)
         AND cardinality(tries) = cardinality(job_ids)))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);

-- How far each lane has come. Written at most once a second.
CREATE TABLE analysis.lane_clock (
  shard     smallint NOT NULL,
  lane      smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  now_vt    bigint NOT NULL DEFAULT 0,     -- furthest virtual time claimed: where newcomers queue
  scan_from bigint NOT NULL DEFAULT 0,     -- nothing that was committed in time waits below this
  staged    bigint NOT NULL DEFAULT 0,     -- a now_vt published at staged_at, the next scan_from
  staged_at timestamptz NOT NULL,
  at        timestamptz NOT NULL,
  PRIMARY KEY (shard, lane))
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- Where a user's next job goes in a lane. Jobs that are submitted and jobs that are promoted stand in two
-- lines, so that a promotion never waits for a submit's open transaction. `step` is what the last call took:
-- with it one upsert can take any number of places and say where they begin.
CREATE TABLE analysis.fair_share (
  shard   smallint NOT NULL,
  lane    smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  line    smallint NOT NULL CHECK (line IN (0, 1)),        -- 0 submitted, 1 promoted
  user_id bigint NOT NULL,
  last_vt bigint NOT NULL,                 -- where the next job goes, if the lane has not come further
  step    bigint NOT NULL,
  PRIMARY KEY (shard, user_id, lane, line))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE analysis.usage (
  shard    smallint NOT NULL,
  period   smallint NOT NULL,
  used     int NOT NULL DEFAULT 0 CHECK (used >= 0),       -- units taken and not given back
  user_id  bigint NOT NULL,
  refunded int NOT NULL DEFAULT 0 CHECK (refunded >= 0),
  refused  int NOT NULL DEFAULT 0 CHECK (refused >= 0),    -- submits refused by the limit
  PRIMARY KEY (shard, user_id, period))
  WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);

-- Units to be given back. A row goes in with the death or cancellation that causes it and is settled
-- into `usage` apart, by whoever holds that row's lock: so no completion waits for a user's open submit.
CREATE SEQUENCE analysis.refund_id AS bigint CACHE 64;
CREATE TABLE analysis.refund (
  shard   smallint NOT NULL,
  period  smallint NOT NULL,
  id      bigint NOT NULL DEFAULT nextval('analysis.refund_id'),
  user_id bigint NOT NULL,
  job_id  bigint NOT NULL,
  reason  text NOT NULL CHECK (length(reason) BETWEEN 1 AND 60),
  at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, user_id, period, id))
  WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, vacuum_truncate = false);

CREATE TABLE analysis.worker (
  shard        smallint NOT NULL,
  id           bigint NOT NULL,
  host         text NOT NULL CHECK (length(host) <= 255),
  pid          int NOT NULL,
  version      text NOT NULL CHECK (length(version) <= 60),
  started_at   timestamptz NOT NULL,
  heartbeat_at timestamptz NOT NULL,
  in_flight    int NOT NULL,
  PRIMARY KEY (shard, id))
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- When each task of maintenance is due next.
CREATE TABLE analysis.maintenance (
  shard   smallint NOT NULL,
  task    text NOT NULL CHECK (task ~ '^[a-z_]{1,60}$'),
  next_at timestamptz NOT NULL,
  PRIMARY KEY (shard, task))
  WITH (fillfactor = 50);
