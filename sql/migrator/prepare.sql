-- The migrator's own tables. Run inside the transaction that holds the migrator's lock.
CREATE TABLE IF NOT EXISTS analysis.schema_migration (
  number     integer PRIMARY KEY,
  name       text NOT NULL,
  checksum   text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);
CREATE TABLE IF NOT EXISTS analysis.schema_function (
  name       text PRIMARY KEY,
  checksum   text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);
