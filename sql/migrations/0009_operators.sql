-- What workers and operators tell each other through the database.

-- The workers, each with what it reports of itself: what it has counted, the state of its endpoints, how far
-- its clock is from the server's. A report is a few seconds old at most while the worker lives; NULL until
-- there is one.
CREATE TABLE analysis.worker (
  shard        smallint NOT NULL,
  pid          int NOT NULL,
  id           bigint NOT NULL,
  started_at   timestamptz NOT NULL,
  heartbeat_at timestamptz NOT NULL,
  ended_at     timestamptz,
  reported_at  timestamptz,
  in_flight    int NOT NULL,
  host         text NOT NULL CHECK (length(host) <= 255),
  version      text NOT NULL CHECK (length(version) <= 60),
  report       jsonb CHECK (jsonb_typeof(report) = 'object' AND octet_length(report::text) <= 20000),
  PRIMARY KEY (shard, id))
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- What operators have paused: everything, a type of analysis, or an endpoint by the name that workers call
-- it. A pause that has ended stays, for whoever asks later what happened. A few rows a year: they belong to
-- no shard.
CREATE TABLE analysis.pause (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope      text NOT NULL CHECK (scope IN ('all', 'type', 'endpoint')),
  name       text NOT NULL CHECK (
               CASE scope
                 WHEN 'all' THEN name = ''
                 WHEN 'type' THEN name IN ('throat', 'ear')
                 ELSE length(name) BETWEEN 1 AND 200 END),
  reason     text CHECK (length(reason) BETWEEN 1 AND 500),
  until_at   timestamptz,                             -- NULL: until somebody resumes
  paused_at  timestamptz NOT NULL DEFAULT now(),
  paused_by  text NOT NULL DEFAULT session_user,      -- the database role
  resumed_at timestamptz,
  resumed_by text,                                    -- NULL also when its time was over
  CHECK (resumed_at IS NOT NULL OR resumed_by IS NULL));

-- One pause of a thing at a time.
CREATE UNIQUE INDEX pause_open ON analysis.pause (scope, name) WHERE resumed_at IS NULL;
