-- The queue itself: narrow tables with few indexes, inserted into and deleted from all the time.
--
-- vacuum_truncate is off on them: to give pages back takes a lock that stops every claim.

-- `tries` holds the consumed attempts in its low byte and the number of lost leases (0 to 2) times 256.
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

-- What runs later: submitted for later, or to be tried again. Promotion goes by lane and, where many jobs are
-- due at once, by user in turn. `is_counted` marks a job that was submitted for later and is counted in
-- `fair_share.later`; one that waits for a retry is not.
CREATE TABLE analysis.scheduled (
  shard      smallint NOT NULL,
  lane       smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  tries      smallint NOT NULL CHECK (tries BETWEEN 0 AND 767),
  period     smallint NOT NULL,
  run_at     timestamptz NOT NULL,
  job_id     bigint NOT NULL,
  user_id    bigint NOT NULL,
  is_counted boolean NOT NULL DEFAULT false,
  PRIMARY KEY (shard, lane, run_at, job_id))
  WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false);
CREATE INDEX scheduled_user ON analysis.scheduled (shard, lane, user_id, run_at, job_id);
-- The last one: of indexes that cost the same, as all do while a table is empty, the planner takes the
-- newest. A job is looked up by its number more often than anything else here.
CREATE INDEX scheduled_job ON analysis.scheduled (shard, period, job_id);

-- A lease: the jobs that a worker claimed together and has not completed yet. The arrays go in step.
-- `user_ids` is there so that a completion need not look the jobs up again.
CREATE TABLE analysis.lease (
  shard     smallint NOT NULL,
  lane      smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  -- How long it is held: a deadline that is further ahead is from before the server's clock was set back.
  lease_ms  int NOT NULL DEFAULT 15000,
  id        bigint NOT NULL,               -- chosen by the worker, so that a lost answer can be looked up
  worker_id bigint NOT NULL,
  deadline  timestamptz NOT NULL,          -- moved on by the worker's heartbeat
  job_ids   bigint[] NOT NULL,
  periods   smallint[] NOT NULL,
  tries     smallint[] NOT NULL,
  user_ids  bigint[] NOT NULL,
  PRIMARY KEY (shard, id),
  CONSTRAINT batch_whole CHECK (
    cardinality(job_ids) > 0 AND cardinality(periods) = cardinality(job_ids)
    AND cardinality(tries) = cardinality(job_ids) AND cardinality(user_ids) = cardinality(job_ids)))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false, toast_tuple_target = 8160);

-- The arrays of a few hundred jobs stay in the row as they are: the row lives for seconds, and to compress
-- them or move them out of it at every change would be wasted work.
ALTER TABLE analysis.lease
  ALTER COLUMN job_ids SET STORAGE EXTERNAL,
  ALTER COLUMN periods SET STORAGE EXTERNAL,
  ALTER COLUMN tries SET STORAGE EXTERNAL,
  ALTER COLUMN user_ids SET STORAGE EXTERNAL;

-- How far each lane has come. Written at most once a second.
CREATE TABLE analysis.lane_clock (
  shard     smallint NOT NULL,
  lane      smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  now_vt    bigint NOT NULL DEFAULT 0,     -- furthest virtual time claimed: where newcomers queue
  scan_from bigint NOT NULL DEFAULT 0,     -- nothing that was committed in time waits below this
  staged    bigint NOT NULL DEFAULT 0,     -- a now_vt published at staged_at, the next scan_from
  turn_user bigint NOT NULL DEFAULT 0,     -- after whom a turn begins when many users' jobs are due
  staged_at timestamptz NOT NULL,
  at        timestamptz NOT NULL,
  PRIMARY KEY (shard, lane))
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- Where a user's next job goes in a lane. Submitted and promoted jobs have a row each, so that a promotion
-- never waits for a submit's open transaction. `step` is what the last call took: with it one upsert can take
-- any number of places and say where they begin. The tail is the user's job that is furthest behind: while it
-- waits in `ready`, the row is true.
CREATE TABLE analysis.fair_share (
  shard    smallint NOT NULL,
  lane     smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  source   smallint NOT NULL CHECK (source IN (0, 1)),       -- 0 submitted, 1 promoted
  user_id  bigint NOT NULL,
  last_vt  bigint NOT NULL,                -- where the next job goes, if the lane has not come further
  step     bigint NOT NULL,
  tail_vt  bigint NOT NULL DEFAULT 0,
  tail_job bigint NOT NULL DEFAULT 0,
  later    int NOT NULL DEFAULT 0,         -- jobs that were submitted for later and still wait in `scheduled`
  PRIMARY KEY (shard, user_id, lane, source))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- Places given up by cancelled jobs, and scheduled jobs that wait no more. Cancellations and promotions only
-- add rows; whoever holds the row of `fair_share` applies them. So nobody waits for a user's open submit.
CREATE TABLE analysis.freed_place (
  shard   smallint NOT NULL,
  lane    smallint NOT NULL,
  source  smallint NOT NULL,
  user_id bigint NOT NULL,
  vt      bigint NOT NULL,                 -- so much virtual time less
  later   int NOT NULL)                    -- so many scheduled jobs less
  WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, vacuum_truncate = false);
CREATE INDEX freed_place_user ON analysis.freed_place (shard, user_id, source);

CREATE TABLE analysis.usage (
  shard    smallint NOT NULL,
  period   smallint NOT NULL,
  used     int NOT NULL DEFAULT 0 CHECK (used >= 0),       -- units taken and not given back
  user_id  bigint NOT NULL,
  refunded int NOT NULL DEFAULT 0 CHECK (refunded >= 0),
  refused  int NOT NULL DEFAULT 0 CHECK (refused >= 0),    -- submits refused by the limit
  PRIMARY KEY (shard, user_id, period))
  WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02);

-- Units to be given back. A row is added with the death or cancellation that causes it, and applied to
-- `usage` later by whoever holds that row's lock. So no completion waits for a user's open submit.
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

-- When each task of maintenance is due next.
CREATE TABLE analysis.maintenance (
  shard   smallint NOT NULL,
  task    text NOT NULL CHECK (task ~ '^[a-z_]{1,60}$'),
  next_at timestamptz NOT NULL,
  PRIMARY KEY (shard, task))
  WITH (fillfactor = 50);

-- The timeline on which the server writes; a change of it shows a promotion. There was none before.
INSERT INTO analysis.gauge (name, value, at)
SELECT 'timeline', ('x' || lpad(left(f.name, 8), 16, '0'))::bit(64)::bigint, '-infinity'
FROM pg_walfile_name(pg_current_wal_insert_lsn()) f(name);
