-- What the queue knows of a user's waiting jobs, and how it finds a job wherever it waits.

-- `vt` is from here on the virtual time at which a job waits, or waited last; -1 while it was only ever scheduled.
-- `line` says in which line it took that place, so that a cancellation can give it up: 0 when submitted, 1 when
-- promoted, 2 when it came back without taking a place (a retry at once, a release, a rescue).
ALTER TABLE analysis.job ADD COLUMN line smallint NOT NULL DEFAULT 0;

-- `later` counts a user's jobs that were submitted for later and still wait in `scheduled`. The tail is the job
-- furthest behind: while it waits in `ready`, what the line says of the user is true.
ALTER TABLE analysis.fair_share
  ADD COLUMN later    int NOT NULL DEFAULT 0,
  ADD COLUMN tail_vt  bigint NOT NULL DEFAULT 0,
  ADD COLUMN tail_job bigint NOT NULL DEFAULT 0;

-- Places given up by cancelled jobs, and scheduled jobs that wait no more. Rows are only added by those who cancel or
-- promote, and applied to `fair_share` by whoever holds its row: so nobody waits for a user's open submit.
CREATE TABLE analysis.freed_place (
  shard   smallint NOT NULL,
  lane    smallint NOT NULL,
  line    smallint NOT NULL,
  later   int NOT NULL,                    -- so many scheduled jobs less
  user_id bigint NOT NULL,
  vt      bigint NOT NULL)                 -- so much virtual time less
  WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, vacuum_truncate = false);
CREATE INDEX freed_place_user ON analysis.freed_place (shard, user_id, line);

-- Promotion goes by lane and, where masses are due at once, by user in turn. `is_counted` marks a job that was
-- submitted for later and is counted in `fair_share.later`; one that waits for a retry is not.
ALTER TABLE analysis.scheduled
  ADD COLUMN is_counted boolean NOT NULL DEFAULT false,
  ADD COLUMN user_id bigint;
UPDATE analysis.scheduled s
SET user_id = j.user_id, is_counted = s.tries = 0 AND j.vt = -1
FROM analysis.job j
WHERE j.shard = s.shard AND j.period = s.period AND j.id = s.job_id;
-- One without a job has no user and was never to run.
DELETE FROM analysis.scheduled s WHERE s.user_id IS NULL;
ALTER TABLE analysis.scheduled
  ALTER COLUMN user_id SET NOT NULL,
  DROP CONSTRAINT scheduled_pkey,
  ADD PRIMARY KEY (shard, lane, run_at, job_id);
CREATE INDEX scheduled_user ON analysis.scheduled (shard, lane, user_id, run_at, job_id);
INSERT INTO analysis.fair_share (shard, lane, line, user_id, last_vt, step, later)
SELECT s.shard, s.lane, 0, s.user_id, 0, 0, count(*) FROM analysis.scheduled s WHERE s.is_counted GROUP BY 1, 2, 4
ON CONFLICT (shard, user_id, lane, line) DO UPDATE SET later = EXCLUDED.later;

-- The user after whom the next turn begins when many users' jobs of a lane are due at once.
ALTER TABLE analysis.lane_clock ADD COLUMN turn_user bigint NOT NULL DEFAULT 0;

-- What waits now: cancelled jobs leave, the others' places become known.
DELETE FROM analysis.ready r
USING analysis.job j
WHERE j.shard = r.shard AND j.period = r.period AND j.id = r.job_id AND j.closed;
UPDATE analysis.job j SET vt = r.vt, line = 2
FROM analysis.ready r
WHERE j.shard = r.shard AND j.period = r.period AND j.id = r.job_id AND j.vt <> r.vt;
UPDATE analysis.fair_share f SET tail_vt = w.vt, tail_job = w.job_id
FROM (SELECT DISTINCT ON (r.shard, r.lane, j.user_id) r.shard, r.lane, j.user_id, r.vt, r.job_id
      FROM analysis.ready r
      JOIN analysis.job j ON j.shard = r.shard AND j.period = r.period AND j.id = r.job_id
      ORDER BY r.shard, r.lane, j.user_id, r.vt DESC, r.job_id DESC) w
WHERE f.shard = w.shard AND f.lane = w.lane AND f.user_id = w.user_id;

-- How long a worker holds a lease: a deadline that is further ahead is from before the server's clock was set back.
ALTER TABLE analysis.batch ADD COLUMN lease_ms int NOT NULL DEFAULT 15000;

-- The timeline on which the server writes, by which a promotion is seen: there was none before.
INSERT INTO analysis.gauge (name, value, at)
VALUES ('timeline', ('x' || lpad(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), 16, '0'))::bit(64)::bigint, '-infinity');
