-- From where scheduled jobs, refunds and given up places are looked for. Before these moments lie the dead
-- rows of what was taken, which an old snapshot keeps for as long as it is open.
CREATE TABLE analysis.scan_mark (
  shard     smallint PRIMARY KEY,
  -- No scheduled job is due before, and no refund or place is older, that was committed in time.
  run_from  timestamptz NOT NULL DEFAULT '-infinity',
  owed_from timestamptz NOT NULL DEFAULT '-infinity',
  -- Until when some were taken: the marks move up to it.
  taken_at  timestamptz NOT NULL DEFAULT '-infinity')
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

ALTER TABLE analysis.freed_place ADD COLUMN at timestamptz NOT NULL DEFAULT now();
ALTER TABLE analysis.freed_place ALTER COLUMN at SET DEFAULT clock_timestamp();

-- In the order in which they were written. `shard + 0` keeps them apart from the indexes by user: to a
-- planner that thinks a table empty all indexes cost the same, and it takes any that begins with what is
-- asked for.
CREATE INDEX freed_place_at ON analysis.freed_place ((shard + 0), at);
CREATE INDEX refund_at ON analysis.refund ((shard + 0), at);
