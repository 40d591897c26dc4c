-- What workers and operators tell each other through the database.

-- What a worker says of itself beside that it lives: what it has counted, how it finds its endpoints, how far
-- its clock goes from the server's. A few seconds old at most while it lives; NULL until it has said something.
ALTER TABLE analysis.worker
  ADD COLUMN reported_at timestamptz,
  ADD COLUMN report      jsonb
    CHECK (jsonb_typeof(report) = 'object' AND octet_length(report::text) <= 20000);

-- What operators have paused: everything, a type of analysis, or an endpoint by the name that workers call it.
-- A pause that has ended stays, for who asks later what happened. A few rows a year: they belong to no shard.
CREATE TABLE analysis.pause (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope      text NOT NULL CHECK (scope IN ('all', 'type', 'endpoint')),
  name       text NOT NULL CHECK (CASE scope WHEN 'all' THEN name = '' WHEN 'type' THEN name IN ('throat', 'ear')
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
