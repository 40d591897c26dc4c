-- Settings, plans, clinics and accounts.
--
-- Every table but the few that hold the same for all shards leads with `shard`, and so does every key.

-- What an operator may set; the functions of the queue read it at each call.
CREATE TABLE analysis.setting (
  name  text PRIMARY KEY CHECK (name ~ '^[a-z_]{1,60}$'),
  value text NOT NULL CHECK (length(value) <= 200));

INSERT INTO analysis.setting (name, value) VALUES
  ('shards', '1'),                      -- fixed once there are accounts
  ('zone', 'UTC'),                      -- billing zone of an account that names none
  ('max_waiting_per_user', '100000'),   -- jobs of one user waiting in all lanes; empty: no limit
  ('max_waiting', '20000000'),          -- jobs waiting in all; empty: no limit
  ('max_database_bytes', ''),           -- no new job above this; empty: no limit
  ('lane_shares', '5,2,1'),             -- of 8 claims 5 begin with urgent jobs, 2 with normal, 1 with bulk
  ('statement_grace', '3 days'),        -- how long after its end a month stays open
  ('keep_images', '30 days'),           -- after the last job that shows the image has ended
  ('keep_results', '24 months'),        -- results and cancellations, with their jobs and attempts
  ('keep_dead', '24 months'),           -- jobs that died, with their attempts
  ('keep_audit', '6 years'),
  ('consult_from', '0.4'),              -- the confidence from which a condition's flags count: our choice
  ('image_bytes_throat', '5242879'),    -- most bytes of an image that is sent: the endpoint refuses more
  ('image_bytes_ear', '5242879'),
  ('png_as_is_throat', 'no'),           -- whether a PNG that needs nothing is sent as one
  ('png_as_is_ear', 'no'),
  ('require_encryption', 'no'),         -- whether an image is taken in plaintext
  ('keep_usage', '');                   -- the counters of months; closed statements always stay

-- The first refuses a wrong value when it is set, the second records a change. The triggers need the
-- functions; what they do is in sql/functions/20_values/settings.sql, which replaces them. (Triggers are
-- allowed here: this is no hot table.)
CREATE FUNCTION analysis.check_setting() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN NEW;
END $$;

CREATE FUNCTION analysis.record_setting() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN NEW;
END $$;

CREATE TRIGGER check_setting BEFORE INSERT OR UPDATE ON analysis.setting
FOR EACH ROW EXECUTE FUNCTION analysis.check_setting();

CREATE TRIGGER record_setting AFTER INSERT OR UPDATE OR DELETE ON analysis.setting
FOR EACH ROW EXECUTE FUNCTION analysis.record_setting();

CREATE TRIGGER record_all BEFORE TRUNCATE ON analysis.setting
FOR EACH STATEMENT EXECUTE FUNCTION analysis.record_setting();

-- Numbers that cost too much to find at each submit; maintenance refreshes them.
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

-- Whose patient a user is. A few rows; they belong to no shard.
CREATE TABLE analysis.clinic (
  id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100 AND name !~ '[[:cntrl:]]'),
  created_at timestamptz NOT NULL DEFAULT now());

CREATE SEQUENCE analysis.user_id AS bigint CACHE 16;

CREATE TABLE analysis.account (
  shard      smallint NOT NULL CHECK (shard >= 0),
  clinic_id  int REFERENCES analysis.clinic (id),                        -- NULL: of none
  user_id    bigint NOT NULL DEFAULT nextval('analysis.user_id'),
  created_at timestamptz NOT NULL DEFAULT now(),
  erased_at  timestamptz,                                                -- NULL: not erased
  user_ref   text NOT NULL CHECK (length(user_ref) BETWEEN 1 AND 200),   -- the operator's name of the user
  -- Names of the IANA database only: an abbreviation or a POSIX rule would hide summer time.
  zone       text NOT NULL CHECK (
               length(zone) <= 60 AND zone ~ '^(UTC|GMT|[A-Za-z_]+(/[A-Za-z0-9_+-]+)+)$'),
  key_salt   bytea NOT NULL CHECK (octet_length(key_salt) = 32),         -- of the user's idempotency keys
  PRIMARY KEY (shard, user_id),
  UNIQUE (shard, user_ref));

-- Which plan an account had, and since when.
CREATE TABLE analysis.account_plan (
  shard      smallint NOT NULL,
  user_id    bigint NOT NULL,
  valid_from timestamptz NOT NULL,
  plan_id    smallint NOT NULL REFERENCES analysis.plan (id),
  PRIMARY KEY (shard, user_id, valid_from));

-- Who a user is. It is not in the account, so that most roles cannot read it.
CREATE TABLE analysis.profile (
  shard                smallint NOT NULL,
  backend_count        int,
  user_id              bigint NOT NULL,
  last_reset           timestamptz,
  updated_at           timestamptz NOT NULL DEFAULT now(),
  name                 text CHECK (length(name) <= 200),
  email                text CHECK (length(email) <= 320),
  backend_subscription text CHECK (length(backend_subscription) <= 60),
  photo_url            text CHECK (length(photo_url) <= 2000),           -- all of it may be a secret
  PRIMARY KEY (shard, user_id));

-- The planner's statistics would keep copies of what tells who somebody is, and an erasure does not find them
-- there. These columns are looked up by unique keys only, for which the planner needs no statistics.
ALTER TABLE analysis.account ALTER COLUMN user_ref SET STATISTICS 0;
ALTER TABLE analysis.profile
  ALTER COLUMN name SET STATISTICS 0,
  ALTER COLUMN email SET STATISTICS 0,
  ALTER COLUMN photo_url SET STATISTICS 0;
