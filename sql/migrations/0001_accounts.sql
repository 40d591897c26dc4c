-- earlier text: 291e2b23283b440e47ba5256b81842fd99e5b83ea59f3773dc2b8e20176f2ced (which made the schema too; the migrator does now)
-- Settings, plans and accounts.
--
-- Every table but the few that hold the same for all shards leads with `shard`, every key too, so that
-- the schema can be distributed by shard without a change.

-- What an operator may set; the code of the queue reads it at each call.
CREATE TABLE analysis.setting (
  name  text PRIMARY KEY CHECK (name ~ '^[a-z_]{1,60}$'),
  value text NOT NULL CHECK (length(value) <= 200));

INSERT INTO analysis.setting (name, value) VALUES
  ('shards', '1'),                      -- logical shards; fixed once there are accounts
  ('zone', 'UTC'),                      -- billing zone of an account that names none
  ('max_waiting_per_user', '100000'),   -- jobs of one user waiting in all lanes; empty: no limit
  ('max_waiting', '20000000'),          -- jobs waiting in all; empty: no limit
  ('max_database_bytes', ''),           -- no new job above this; empty: no limit
  ('statement_grace', '3 days');        -- how long after its end a month stays open

-- A wrong value is refused when it is set, not at every submit after it. (No hot table: a trigger may be here.)
CREATE FUNCTION analysis.check_setting() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  CASE NEW.name
    WHEN 'shards' THEN
      IF NEW.value !~ '^[0-9]{1,4}$' OR NEW.value::int NOT BETWEEN 1 AND 1024 THEN
        RAISE EXCEPTION 'shards is a number from 1 to 1024' USING ERRCODE = '22023';
      ELSIF NEW.value IS DISTINCT FROM OLD.value AND EXISTS (SELECT 1 FROM analysis.account) THEN
        RAISE EXCEPTION 'the number of shards is fixed once there are users: each has its shard by it'
          USING ERRCODE = '22023';
      END IF;
    WHEN 'zone' THEN
      IF NOT EXISTS (SELECT 1 FROM pg_timezone_names z WHERE z.name = NEW.value) THEN
        RAISE EXCEPTION 'zone is an IANA time zone, for instance Asia/Jakarta' USING ERRCODE = '22023';
      END IF;
    WHEN 'max_waiting_per_user', 'max_waiting', 'max_database_bytes' THEN
      IF NEW.value !~ '^([0-9]{1,18})?$' THEN
        RAISE EXCEPTION '% is a whole number, or empty for no limit', NEW.name USING ERRCODE = '22023';
      END IF;
    WHEN 'statement_grace' THEN
      IF NEW.value::interval NOT BETWEEN interval '0' AND interval '100 years' THEN
        RAISE EXCEPTION 'statement_grace is a time from 0 to 100 years, for instance 3 days' USING ERRCODE = '22023';
      END IF;
    ELSE
      RAISE EXCEPTION 'there is no setting %', NEW.name USING ERRCODE = '22023';
  END CASE;
  RETURN NEW;
END $$;

CREATE TRIGGER check_setting BEFORE INSERT OR UPDATE ON analysis.setting
FOR EACH ROW EXECUTE FUNCTION analysis.check_setting();

-- Figures that would be too dear to find at each submit; maintenance refreshes them.
CREATE TABLE analysis.gauge (
  name  text PRIMARY KEY CHECK (name ~ '^[a-z_]{1,60}$'),
  value bigint NOT NULL,
  at    timestamptz NOT NULL DEFAULT now())
  WITH (fillfactor = 50);

CREATE TABLE analysis.plan (
  id           smallint PRIMARY KEY,
  name         text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9_-]{1,60}$'),
  display_name text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 100),
  cost         bigint NOT NULL DEFAULT 1000 CHECK (cost BETWEEN 1 AND 1000000));  -- virtual time of a job

-- A plan's monthly limit from a moment on; NULL is unlimited.
CREATE TABLE analysis.plan_limit (
  plan_id       smallint NOT NULL REFERENCES analysis.plan (id),
  valid_from    timestamptz NOT NULL,
  monthly_limit int CHECK (monthly_limit >= 0),
  PRIMARY KEY (plan_id, valid_from));

INSERT INTO analysis.plan (id, name, display_name) VALUES (1, 'free', 'Basic'), (2, 'premium', 'Premium');
INSERT INTO analysis.plan_limit (plan_id, valid_from, monthly_limit)
VALUES (1, '-infinity', 5), (2, '-infinity', NULL);

CREATE SEQUENCE analysis.user_id AS bigint CACHE 16;

CREATE TABLE analysis.account (
  shard      smallint NOT NULL CHECK (shard >= 0),
  user_id    bigint NOT NULL DEFAULT nextval('analysis.user_id'),
  user_ref   text NOT NULL CHECK (length(user_ref) BETWEEN 1 AND 200),   -- the operator's own name of the user
  -- Names of the IANA database only: an abbreviation or a POSIX rule would hide summer time.
  zone       text NOT NULL CHECK (length(zone) <= 60 AND zone ~ '^(UTC|GMT|[A-Za-z_]+(/[A-Za-z0-9_+-]+)+)$'),
  key_salt   bytea NOT NULL CHECK (octet_length(key_salt) = 32),         -- of the user's idempotency keys
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, user_id),
  UNIQUE (shard, user_ref));

-- Which plan an account had from when on.
CREATE TABLE analysis.account_plan (
  shard      smallint NOT NULL,
  user_id    bigint NOT NULL,
  valid_from timestamptz NOT NULL,
  plan_id    smallint NOT NULL REFERENCES analysis.plan (id),
  PRIMARY KEY (shard, user_id, valid_from));

-- What tells who a user is, apart from the account so that roles can be kept from it.
CREATE TABLE analysis.profile (
  shard                smallint NOT NULL,
  user_id              bigint NOT NULL,
  name                 text CHECK (length(name) <= 200),
  email                text CHECK (length(email) <= 320),
  backend_subscription text CHECK (length(backend_subscription) <= 60),
  backend_count        int,
  last_reset           timestamptz,
  updated_at           timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (shard, user_id));
