-- What the version after 1.0 adds to the schema.
--
-- Programs of version 1.0 work beside this: they neither read nor write what is new, and functions that are
-- replaced answer their calls as before.
--
-- The order is that of locks. First comes what reads whole tables: whoever writes them waits. Then come the
-- new tables, and then the changes of tables of 1.0. Those that every submit and claim needs are the last
-- ones, and are locked for a moment only.

-- The results that were cancelled, or took another number of calls than one: few. With them reports count all
-- others by their keys, without reading what was found. To make it the server reads all results once, and
-- none is stored meanwhile. It is the first step, so that nothing else waits.
CREATE INDEX result_uncommon ON analysis.result (shard, period, user_id) INCLUDE (outcome, calls)
  WHERE outcome = 2 OR calls <> 1;

-- Dead jobs by the time of their end, for whoever looks for the last failures.
CREATE INDEX dead_ended ON analysis.dead (shard, failed_at, job_id);

-- Entries of the audit by what and whom they concern: by their object, or by the numbers in their detail; and
-- by what was done and by whom, so that a search for what never happened does not read all of them.
-- Entries are added to it in the background, from those that every action only drafts.
CREATE INDEX audit_object ON analysis.audit (object, id);
CREATE INDEX audit_action ON analysis.audit (action, id);
CREATE INDEX audit_role ON analysis.audit (role, id);
CREATE INDEX audit_os_user ON analysis.audit (os_user, id);
CREATE INDEX audit_users ON analysis.audit USING gin ((detail -> 'users') jsonb_path_ops);
CREATE INDEX audit_jobs ON analysis.audit USING gin ((detail -> 'jobs') jsonb_path_ops);

-- The users of a clinic, for whoever sees those of some clinics alone.
CREATE INDEX account_clinic ON analysis.account (shard, clinic_id, user_id) WHERE clinic_id IS NOT NULL;
-- Users by their references, in the order in which lists and pages go on.
CREATE INDEX account_reference ON analysis.account (shard, user_ref COLLATE "C");

-- Counts of the queue, kept so that whoever looks counts nothing. Workers bring them up to date every two
-- seconds; a row is written only where it changes.

-- What waits, runs and is scheduled in each lane. A lane of up to 10,000 jobs is counted each time. A larger
-- one is counted wholly now and then, and moved on in between by what the server says was written to `ready`.
CREATE TABLE analysis.lane_count (
  shard          smallint NOT NULL,
  lane           smallint NOT NULL CHECK (lane BETWEEN 4 AND 11),
  is_exact       boolean NOT NULL,         -- false: more than 10,000 wait, and `waiting` is about right
  in_flight      int NOT NULL,
  waiting        bigint NOT NULL,
  scheduled      int NOT NULL,             -- 10,001 stands for more than 10,000
  whole_ms       int,                      -- how long the last whole count took
  waiting_since  timestamptz,              -- of the job that has waited longest, as far as is known
  next_run       timestamptz,              -- of the scheduled jobs
  whole_at       timestamptz,              -- when the lane was last counted wholly; NULL: never
  whole          bigint,                   -- what that came to
  -- The rows that were inserted into `ready` until then, and those of them that were not deleted, as the
  -- server counts them for all lanes together.
  whole_inserted bigint,
  whole_left     bigint,
  PRIMARY KEY (shard, lane))
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- When a shard was counted, and what there is in it beside lanes; 10,001 stands for more than 10,000.
CREATE TABLE analysis.shard_count (
  shard      smallint PRIMARY KEY,
  dead       int NOT NULL DEFAULT 0,
  refunds    int NOT NULL DEFAULT 0,
  counted_at timestamptz NOT NULL)
  WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100);

-- How the whole queue was at the end of each step of 10 seconds (kept for an hour) and each minute (kept for
-- two days), and what workers brought to an end in it.
CREATE TABLE analysis.queue_history (
  step      smallint NOT NULL CHECK (step IN (10, 60)),         -- seconds
  in_flight int NOT NULL,
  rate      real NOT NULL,                 -- results a second, by the workers' own clocks
  at        timestamptz NOT NULL,          -- the end of the step
  waiting   bigint NOT NULL,
  scheduled bigint NOT NULL,
  done      bigint NOT NULL,               -- results that were stored
  dead      bigint NOT NULL,
  retried   bigint NOT NULL,               -- attempts that are to be made again
  -- What each worker had counted, from which the next step counts on: {number: [seconds since 1970, done,
  -- dead, retried]}. Only the newest row has it.
  counted   jsonb,
  PRIMARY KEY (step, at))
  WITH (fillfactor = 90);

-- Batches: the jobs that a person submits together. And what a submitter calls a job.
--
-- Both stand in a table beside the jobs. A submit without them writes what it wrote before, a worker never
-- looks here, and no completion changes a row: how far a batch is gets counted, by its index.

-- The batches. One row for each, whatever shards its jobs are in: like the plans, they belong to no shard.
CREATE TABLE analysis.batch (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  created_at timestamptz NOT NULL,
  submitter  smallint NOT NULL,                              -- the login that made it, and adds to it
  salt       uuid NOT NULL DEFAULT gen_random_uuid(),        -- of the marks of what was refused
  key_hash   bytea CHECK (octet_length(key_hash) = 32),      -- of the run's key: a repeat goes on with it
  name       text CHECK (length(name) BETWEEN 1 AND 100),
  login      name);                                          -- whose key it is
CREATE UNIQUE INDEX batch_key ON analysis.batch (submitter, key_hash) WHERE key_hash IS NOT NULL;
-- A login may have several numbers, and makes one batch for a key all the same.
CREATE UNIQUE INDEX batch_login_key ON analysis.batch (login, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX batch_submitter ON analysis.batch (submitter, id);

-- What was refused in a batch and has no job: a row for each key of a user, so that a repeat counts once, and
-- for each submit without a key. Rows are added and never changed, so that no submit waits for another's.
CREATE TABLE analysis.batch_refusal (
  batch_id bigint NOT NULL,
  mark     bytea NOT NULL CHECK (octet_length(mark) = 32),   -- sha256(the batch's salt, user, key), or random
  PRIMARY KEY (batch_id, mark));

-- Of a job what the queue does not need: its batch, and what the submitter calls it, such as the number of
-- a visit. Only jobs that have one of them have a row.
CREATE TABLE analysis.job_label (
  shard     smallint NOT NULL,
  period    smallint NOT NULL,       -- the job's: it moves with a retry
  job_id    bigint NOT NULL,
  user_id   bigint NOT NULL,
  batch_id  bigint,
  reference text CHECK (length(reference) BETWEEN 1 AND 200),
  PRIMARY KEY (shard, period, job_id),
  CHECK (batch_id IS NOT NULL OR reference IS NOT NULL));
CREATE INDEX job_label_batch ON analysis.job_label (shard, batch_id, period, job_id)
  WHERE batch_id IS NOT NULL;
-- Whose a batch is.
CREATE INDEX job_label_user ON analysis.job_label (shard, batch_id, user_id) WHERE batch_id IS NOT NULL;
CREATE INDEX job_label_reference ON analysis.job_label (shard, reference, period, job_id)
  WHERE reference IS NOT NULL;

-- A reference may tell who somebody is, as a file's name may; the planner keeps no copy of it.
ALTER TABLE analysis.job_label ALTER COLUMN reference SET STATISTICS 0;
ALTER TABLE analysis.batch ALTER COLUMN name SET STATISTICS 0;

ALTER TABLE analysis.job_label ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.job_label FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- Webhooks: addresses that receive how the jobs of a clinic or of a user end. Few, and of all shards:
-- like the clinics they belong to none. No role reads this table; functions give each what it needs.
CREATE TABLE analysis.webhook (
  id              int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  clinic_id       int REFERENCES analysis.clinic (id),          -- whose: a clinic's,
  shard           smallint,                                     -- or a user's
  has_findings    boolean NOT NULL,           -- whether what was found is sent too
  user_id         bigint,
  failures        int NOT NULL DEFAULT 0,     -- since the last delivery that succeeded, as far as they count
  created_at      timestamptz NOT NULL,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  retry_at        timestamptz,                -- after failures: nothing is sent before
  off_at          timestamptz,                -- since when nothing is sent; NULL: it is on
  off_reason      text CHECK (off_reason IN ('failed', 'gone')),
  last_failure    text CHECK (length(last_failure) <= 200),
  host            text NOT NULL CHECK (length(host) BETWEEN 1 AND 300),
  url             text NOT NULL CHECK (length(url) BETWEEN 9 AND 2000),   -- all of it may be a secret
  -- For signing, encrypted under a key of the key file, with whose number it begins.
  secret          bytea NOT NULL CHECK (octet_length(secret) BETWEEN 121 AND 400),
  CHECK ((clinic_id IS NULL) <> (user_id IS NULL) AND (shard IS NULL) = (user_id IS NULL)),
  CHECK ((off_at IS NULL) = (off_reason IS NULL)));
CREATE INDEX webhook_clinic ON analysis.webhook (clinic_id) WHERE clinic_id IS NOT NULL;
CREATE INDEX webhook_user ON analysis.webhook (shard, user_id) WHERE user_id IS NOT NULL;

-- What is sent to them: a row for each job that ended while there was a webhook for it, in the job's shard,
-- and for each time that a user reached 80 % or all of a month's limit.
CREATE SEQUENCE analysis.webhook_event_id AS bigint CACHE 16;
CREATE TABLE analysis.webhook_event (
  shard        smallint NOT NULL,
  -- test, succeeded, cancelled, dead; 80 % of the limit, all of it
  state        smallint NOT NULL CHECK (state BETWEEN 0 AND 5),
  period       smallint,                      -- the job's, or the limit's; NULL: a test
  attempts     smallint NOT NULL DEFAULT 0,
  webhook_id   int NOT NULL,
  id           bigint NOT NULL DEFAULT nextval('analysis.webhook_event_id'),
  job_id       bigint,
  user_id      bigint,
  worker_id    bigint,                        -- who delivers it now
  at           timestamptz NOT NULL,          -- when the job ended, or the limit was reached
  due_at       timestamptz,                   -- NULL: it was delivered or given up
  tried_at     timestamptz,                   -- first
  delivered_at timestamptz,
  failed_at    timestamptz,                   -- given up
  failure      text CHECK (length(failure) <= 200),   -- why it was not taken last
  PRIMARY KEY (shard, id),
  CHECK ((due_at IS NOT NULL)::int + (delivered_at IS NOT NULL)::int + (failed_at IS NOT NULL)::int = 1))
  WITH (fillfactor = 80, autovacuum_vacuum_threshold = 100);
CREATE INDEX webhook_event_due ON analysis.webhook_event (shard, webhook_id, due_at);
CREATE INDEX webhook_event_user ON analysis.webhook_event (shard, user_id);
CREATE INDEX webhook_event_at ON analysis.webhook_event (shard, at);

ALTER TABLE analysis.webhook ALTER COLUMN url SET STATISTICS 0, ALTER COLUMN secret SET STATISTICS 0;

ALTER TABLE analysis.webhook ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.webhook FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL
  OR clinic_id IN (SELECT unnest(analysis.clinics_seen(current_user)))
  OR (shard, user_id) IN (SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
ALTER TABLE analysis.webhook_event ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.webhook_event FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- What one billable unit of a plan costs, from the midnight of a day on, by the clocks of each user's billing
-- zone: so a price of the first of a month cuts nobody's month in two. '-infinity': from the beginning.
CREATE TABLE analysis.plan_price (
  plan_id    smallint NOT NULL REFERENCES analysis.plan (id),
  valid_from date NOT NULL,
  price      numeric NOT NULL CHECK (price BETWEEN 0 AND 1000000 AND scale(price) <= 6),
  currency   text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),                -- by ISO 4217
  PRIMARY KEY (plan_id, valid_from));

-- Logos of clinics: cleaned JPEG pictures, each once, by its hash. They are in the database so that every
-- machine has them that makes a statement, and a closed month keeps those that it was closed with.
CREATE TABLE analysis.logo (
  sha256 bytea PRIMARY KEY CHECK (octet_length(sha256) = 32),
  width  int   NOT NULL CHECK (width > 0),
  height int   NOT NULL CHECK (height > 0),
  bytes  bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 262144));
-- A JPEG is compressed already.
ALTER TABLE analysis.logo ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- The segments of a user's line in a statement: the parts of the month with one plan, limit and price. Their
-- units add up to those of the line. A line without units has none, and neither has one that was stated
-- before there were prices.
CREATE TABLE analysis.statement_segment (
  report        text        NOT NULL,
  period        smallint    NOT NULL,    -- of the statement
  line          bigint      NOT NULL,
  segment       smallint    NOT NULL,    -- its number in the line, from 1
  clinic_id     int         NULL,        -- whose patient the user was when the month was closed
  plan          text        NULL,        -- NULL: the user had none
  plan_name     text        NULL,
  monthly_limit bigint      NULL,        -- NULL: none
  units         bigint      NOT NULL,    -- in an adjustment: so many more than were stated
  over          bigint      NOT NULL,
  price         numeric     NULL,        -- of a unit; NULL: there was none
  amount        numeric     NULL,        -- units times price, rounded to the currency's minor unit
  starts        timestamptz NOT NULL,
  ends          timestamptz NOT NULL,    -- the first moment after it
  starts_local  timestamp   NOT NULL,    -- by the zone's rules when the month was closed
  ends_local    timestamp   NOT NULL,
  currency      text        NULL,
  reason        text        NULL,        -- of an adjustment: why it is one
  PRIMARY KEY (report, period, line, segment),
  FOREIGN KEY (report, period, line) REFERENCES analysis.statement_line (report, period, line),
  CHECK (starts < ends),
  CHECK (num_nulls(price, currency, amount) IN (0, 3)));

CREATE INDEX statement_segment_clinic ON analysis.statement_segment (report, period, clinic_id, line);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON analysis.statement_segment
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();

-- What else a clinic's statement shows, as it was when the month was closed: results are removed after their
-- time, and jobs that were open then end later.
CREATE TABLE analysis.statement_clinic (
  report    text     NOT NULL,
  period    smallint NOT NULL,
  clinic_id int      NOT NULL,
  name      text     NOT NULL,
  kind      text     NOT NULL DEFAULT 'clinic',
  address   text,
  product   text,
  logo      bytea REFERENCES analysis.logo,
  pharmacy_logo bytea REFERENCES analysis.logo,
  PRIMARY KEY (report, period, clinic_id),
  FOREIGN KEY (report, period) REFERENCES analysis.statement (report, period));

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON analysis.statement_clinic
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();

-- How many analyses of its users ended on a day by their clocks.
CREATE TABLE analysis.statement_day (
  report    text     NOT NULL,
  period    smallint NOT NULL,
  clinic_id int      NOT NULL,
  day       date     NOT NULL,
  analyses  bigint   NOT NULL,
  PRIMARY KEY (report, period, clinic_id, day),
  FOREIGN KEY (report, period, clinic_id) REFERENCES analysis.statement_clinic (report, period, clinic_id));

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON analysis.statement_day
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();

-- How often a condition was found, by band.
CREATE TABLE analysis.statement_condition (
  report    text     NOT NULL,
  period    smallint NOT NULL,
  clinic_id int      NOT NULL,
  id        text     NOT NULL,
  normal    boolean  NOT NULL,
  name      text     NULL,
  green     bigint   NOT NULL,
  yellow    bigint   NOT NULL,
  orange    bigint   NOT NULL,
  red       bigint   NOT NULL,
  PRIMARY KEY (report, period, clinic_id, id, normal),
  FOREIGN KEY (report, period, clinic_id) REFERENCES analysis.statement_clinic (report, period, clinic_id));

-- From closed months goes what an erasure takes, and nothing else: what was found in fewer persons than
-- report_threshold, of a clinic of which somebody of that month was erased. All that one statement removes is
-- looked at once, and as that statement saw it.
CREATE FUNCTION analysis.refuse_condition_change() RETURNS trigger
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (
    WITH touched AS MATERIALIZED (SELECT DISTINCT g.report, g.period, g.clinic_id FROM gone g),
    counted AS MATERIALIZED (
      SELECT t.report, t.period, t.clinic_id, f.o_id, f.o_normal
      FROM touched t CROSS JOIN LATERAL analysis.persons_found(t.report, t.period, t.clinic_id) f
      WHERE f.o_persons >= coalesce(
        (SELECT s.value::int FROM analysis.setting s WHERE s.name = 'report_threshold'), 5)),
    erased AS MATERIALIZED (
      SELECT t.report, t.period, t.clinic_id FROM touched t
      WHERE EXISTS (
        SELECT FROM analysis.statement_segment s
        JOIN analysis.statement_line l ON l.report = s.report AND l.period = s.period AND l.line = s.line
        JOIN analysis.account a ON a.shard = l.shard AND a.user_id = l.user_id
        WHERE s.report = t.report AND s.period = t.period AND s.clinic_id = t.clinic_id
          AND a.erased_at IS NOT NULL))
    SELECT FROM gone g
    WHERE (g.report, g.period, g.clinic_id) NOT IN (SELECT e.report, e.period, e.clinic_id FROM erased e)
      OR (g.report, g.period, g.clinic_id, g.id, g.normal) IN (
        SELECT c.report, c.period, c.clinic_id, c.o_id, c.o_normal FROM counted c)) THEN
    RAISE EXCEPTION 'closed statements are never changed or removed'
      USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
        HINT = 'What changed since a month was closed is stated as an adjustment when a later month closes.';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON analysis.statement_condition
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
CREATE TRIGGER keep AFTER DELETE ON analysis.statement_condition
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_condition_change();

-- Every name that a renamed user has or had, as its SHA-256, with the shard where the user has been from the
-- beginning: a name's own hash may point to another. A name that a user had before stays theirs until they
-- are erased, so that nobody else is taken for them. There are a few rows, or none.
CREATE TABLE analysis.renamed (
  name_sha256 bytea PRIMARY KEY CHECK (octet_length(name_sha256) = 32),
  shard       smallint NOT NULL,
  user_id     bigint NOT NULL,
  since       timestamptz NOT NULL);

CREATE INDEX renamed_user ON analysis.renamed (shard, user_id);
ALTER TABLE analysis.renamed ALTER COLUMN name_sha256 SET STATISTICS 0;

ALTER TABLE analysis.renamed ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.renamed FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- The verdicts, each with the finding that it is about: the result's first condition, if it has any. That
-- never changes, and so reports need not look up a result for each. A clinician has one of a job; a change
-- is a new version, and the one before is kept. Erasing the person removes them, and they go with the job's
-- result.
CREATE TABLE analysis.review (
  shard              smallint NOT NULL,
  period             smallint NOT NULL,   -- the job's: it has a result and stays there
  version            smallint NOT NULL CHECK (version BETWEEN 1 AND 1000),
  verdict            smallint NOT NULL CHECK (verdict BETWEEN 1 AND 3), -- agree, disagree, unsure
  job_id             bigint NOT NULL,
  user_id            bigint NOT NULL,
  at                 timestamptz NOT NULL,
  replaced_at        timestamptz,         -- NULL: it is the present one
  primary_band       smallint,
  primary_normal     boolean,
  primary_confidence numeric,             -- to add them up exactly
  primary_id         text,
  primary_name       text,
  reviewer           text NOT NULL CHECK (length(reviewer) BETWEEN 1 AND 63),  -- the database login
  instead            text CHECK (length(instead) BETWEEN 1 AND 200), -- of disagree: the condition that it is
  PRIMARY KEY (shard, period, job_id, reviewer, version),
  CHECK (instead IS NULL OR verdict = 2));
CREATE UNIQUE INDEX review_present ON analysis.review (shard, period, job_id, reviewer)
  WHERE replaced_at IS NULL;
CREATE INDEX review_user ON analysis.review (shard, user_id);
-- The present ones in the order of a list.
CREATE INDEX review_at ON analysis.review (shard, at, job_id) WHERE replaced_at IS NULL;

-- The comments of a job, which its readers see below each other. They may tell who somebody is: the planner
-- keeps no copy of them, and neither the audit nor an error has any of their words.
CREATE TABLE analysis.review_comment (
  shard   smallint NOT NULL,
  period  smallint NOT NULL,                                     -- the job's
  number  smallint NOT NULL CHECK (number BETWEEN 1 AND 1000),   -- of the job's comments
  job_id  bigint NOT NULL,
  user_id bigint NOT NULL,
  at      timestamptz NOT NULL,
  author  text NOT NULL CHECK (length(author) BETWEEN 1 AND 63),
  body    text NOT NULL CHECK (length(body) BETWEEN 1 AND 4000),
  PRIMARY KEY (shard, period, job_id, number));
CREATE INDEX review_comment_user ON analysis.review_comment (shard, user_id);
ALTER TABLE analysis.review_comment ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE analysis.review ALTER COLUMN instead SET STATISTICS 0;

ALTER TABLE analysis.review ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.review FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));
ALTER TABLE analysis.review_comment ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.review_comment FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- Tokens by which the app of a user reaches analysis-gateway. The gateway knows a user by the token alone;
-- here is its hash, from which nobody makes the token.
CREATE TABLE analysis.user_token (
  shard        smallint NOT NULL,
  number       int NOT NULL CHECK (number > 0),            -- of the user's tokens; none is given twice
  last_used_on date,                                       -- by UTC, written once a day; NULL: never
  user_id      bigint NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,                                -- NULL: never
  revoked_at   timestamptz,
  created_by   name NOT NULL,                              -- the login that added it
  label        text CHECK (length(label) BETWEEN 1 AND 100),
  hash         bytea NOT NULL CHECK (octet_length(hash) = 32),      -- the SHA-256 of the token's whole text
  -- Of an app's session: its access token is the hash above, until expires_at. It gets the next one by a
  -- refresh token: the family is the SHA-256 of the part that stays, the turn that of the part that changes.
  renewable_until timestamptz,
  family          bytea CHECK (octet_length(family) = 32),
  turn            bytea CHECK (octet_length(turn) = 32),
  PRIMARY KEY (shard, user_id, number),
  CHECK (num_nulls(renewable_until, family, turn) IN (0, 3)))
  WITH (fillfactor = 80);
CREATE UNIQUE INDEX user_token_hash ON analysis.user_token (shard, hash);
CREATE UNIQUE INDEX user_token_family ON analysis.user_token (shard, family) WHERE family IS NOT NULL;
-- A label may tell who somebody is; the planner keeps no copy of it.
ALTER TABLE analysis.user_token
  ALTER COLUMN label SET STATISTICS 0,
  ALTER COLUMN hash SET STATISTICS 0,
  ALTER COLUMN family SET STATISTICS 0,
  ALTER COLUMN turn SET STATISTICS 0;

ALTER TABLE analysis.user_token ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.user_token FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- The code by which a user's app begins a session: one of a user at most, which counts once.
CREATE TABLE analysis.login_code (
  shard      smallint NOT NULL,
  user_id    bigint NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  created_by name NOT NULL,                                -- the login that made it
  hash       bytea NOT NULL CHECK (octet_length(hash) = 32),        -- the SHA-256 of its text
  PRIMARY KEY (shard, user_id));
CREATE UNIQUE INDEX login_code_hash ON analysis.login_code (shard, hash);
ALTER TABLE analysis.login_code ALTER COLUMN hash SET STATISTICS 0;

ALTER TABLE analysis.login_code ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.login_code FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- Shares: users who let a clinician (a login) or a carer (another user) read their analyses.
CREATE SEQUENCE analysis.share_id AS bigint;
CREATE TABLE analysis.share (
  shard        smallint NOT NULL,                          -- of the owner
  carer_shard  smallint,
  login_id     oid,                                        -- of the clinician's role
  id           bigint NOT NULL DEFAULT nextval('analysis.share_id'),
  user_id      bigint NOT NULL,                            -- the owner: whose analyses they are
  carer_id     bigint,
  requested_at timestamptz NOT NULL,
  accepted_at  timestamptz,                                -- NULL: nobody reads by it yet
  expires_at   timestamptz,                                -- NULL: never
  revoked_at   timestamptz,
  -- The clinician's login. Name and number both have to be those of a role: one that was renamed, or dropped
  -- and made again, is somebody else.
  login        name,
  requested_by name NOT NULL,                              -- the login
  -- What an app called the carer: it is shown that, whoever is there by the name. A carer or login that is
  -- not there has the number 0.
  carer_named  text,
  PRIMARY KEY (shard, id),
  CHECK ((login IS NULL) <> (carer_id IS NULL)),
  CHECK ((login IS NULL) = (login_id IS NULL) AND (carer_id IS NULL) = (carer_shard IS NULL)),
  CHECK ((carer_shard, carer_id) IS DISTINCT FROM (shard, user_id)),
  CHECK (accepted_at >= requested_at));
CREATE INDEX share_user ON analysis.share (shard, user_id);
CREATE INDEX share_login ON analysis.share (shard, login) WHERE login IS NOT NULL;
CREATE INDEX share_carer ON analysis.share (shard, carer_shard, carer_id) WHERE carer_id IS NOT NULL;

ALTER TABLE analysis.share ENABLE ROW LEVEL SECURITY;
CREATE POLICY clinic ON analysis.share FOR SELECT USING (
  (SELECT analysis.clinics_seen(current_user)) IS NULL OR (shard, user_id) IN (
    SELECT u.o_shard, u.o_user FROM analysis.users_seen(current_user) u));

-- When a submit last had workers woken by its own transaction, in milliseconds since 1970. It is a sequence
-- since what is written to one is seen at once, and keeps nobody waiting. Programs of 1.0 know nothing of
-- it, and wake workers after their commits.
CREATE SEQUENCE analysis.woken_at AS bigint;

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

-- Which jobs a list, or who watches, means: the members of the document that is given; what is not there
-- means all. Of the code, the status and the message '' and 0 mean that there is none.
CREATE TYPE analysis.job_filter AS (
  "user"    text,
  state     text,
  kind      smallint,
  month     smallint,
  batch     bigint,
  reference text,
  class     text,            -- of the failure, as the next three
  code      text,
  status    smallint,
  message   text);           -- how it begins

-- A job as lists of jobs have it.
CREATE TYPE analysis.listed_job AS (
  o_job         bigint,
  o_period      smallint,
  o_user        text,
  o_kind        smallint,
  o_lane        smallint,
  o_state       text,
  o_created_at  timestamptz,
  o_run_at      timestamptz,
  o_expires_at  timestamptz,
  o_finished_at timestamptz,
  o_attempts    int,
  o_source_name text);

-- What a look of `watch` passes on: what it is to find; where jobs are; those that are new; and its rows,
-- which are events, counts of what was refused, and the position.
CREATE TYPE analysis.look AS (
  at          timestamptz,       -- when it is made
  since       timestamptz,       -- from when on it answers what the tables still show
  failed_from timestamptz,       -- from when on failures are looked for
  is_first    boolean,
  clinics     int[],             -- whose users the caller sees; NULL: all
  shards      smallint[],        -- those that are looked at
  user_id     bigint,            -- NULL: of all, as the next two
  kind        smallint,
  batch       bigint,
  next        bigint,            -- the number of the next transaction, and of the oldest that is open
  oldest      bigint,
  ago         bigint,            -- how many transactions ago the look before was
  audit       bigint,            -- the last entry that it has seen
  ahead       int,               -- how many jobs of each lane it looks ahead
  most        int);              -- how much of one kind it answers
CREATE TYPE analysis.places AS (
  shards  smallint[],
  periods smallint[],
  jobs    bigint[],
  places  smallint[]);
CREATE TYPE analysis.born_jobs AS (
  shards  smallint[],
  periods smallint[],
  jobs    bigint[],
  at      timestamptz[],
  last    bigint,                -- the newest that was seen
  is_cut  boolean);              -- there may be more
CREATE TYPE analysis.watched AS (
  o_event     text,
  o_at        timestamptz,
  o_shard     smallint,
  o_period    smallint,
  o_job       bigint,
  o_user      text,
  o_kind      smallint,
  o_lane      smallint,
  o_batch     bigint,
  o_reference text,
  o_file      text,
  o_attempt   int,
  o_call_ms   int,
  o_class     text,
  o_code      text,
  o_message   text,
  o_by        text,
  o_count     bigint,
  o_audit     bigint,
  o_horizon   bigint,
  o_is_cut    boolean,
  o_outrun    int,
  o_shards    smallint[],
  o_periods   smallint[],
  o_jobs      bigint[],
  o_places    smallint[]);

-- What every submit asks of the settings, in one row that it reads at once: `keep_admission`, which
-- sql/functions/20_values/settings.sql replaces, writes it where settings, plans or limits change. Until then
-- nothing in plaintext is taken.
CREATE TABLE analysis.admission (
  is_only        boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  only_encrypted boolean NOT NULL DEFAULT true,
  photos_once    boolean NOT NULL DEFAULT false,
  has_old_keys   boolean NOT NULL,        -- there are keys as version 1.0 kept them
  max_bytes      bigint,                  -- of the database; NULL: no limit, as in the next two
  max_all        bigint,                  -- jobs waiting, of all users
  max_waiting    bigint,                  -- of one user
  waiting        bigint,                  -- how many there were, of all users, when that was last counted
  counted_at     timestamptz NOT NULL DEFAULT '-infinity',
  version        bigint NOT NULL DEFAULT 0)  -- one more with each change of settings, plans and limits
  WITH (fillfactor = 50);

CREATE FUNCTION analysis.keep_admission() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN NULL;
END $$;

CREATE TRIGGER keep_admission AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON analysis.setting
FOR EACH STATEMENT EXECUTE FUNCTION analysis.keep_admission();
CREATE TRIGGER keep_admission AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON analysis.plan
FOR EACH STATEMENT EXECUTE FUNCTION analysis.keep_admission();
CREATE TRIGGER keep_admission AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON analysis.plan_limit
FOR EACH STATEMENT EXECUTE FUNCTION analysis.keep_admission();
CREATE TRIGGER keep_admission AFTER TRUNCATE ON analysis.account_plan
FOR EACH STATEMENT EXECUTE FUNCTION analysis.keep_admission();

-- How much waits is written there with the gauge of it.
CREATE FUNCTION analysis.keep_waiting() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN NULL;
END $$;

CREATE TRIGGER keep_waiting AFTER INSERT OR UPDATE ON analysis.gauge
FOR EACH ROW EXECUTE FUNCTION analysis.keep_waiting();

-- The terms on which a user's next jobs are submitted: see sql/functions/40_users/terms.sql. They follow from
-- the account, its plan and the settings, and may be removed at any time.
CREATE TABLE analysis.terms (
  shard       smallint NOT NULL,
  period      smallint NOT NULL,          -- where a job counts that may run at once
  quota       int,                        -- the limit in force; NULL: none
  most        int NOT NULL,               -- below so many used units they hold
  user_id     bigint NOT NULL,
  cost        bigint NOT NULL,            -- in virtual time
  version     bigint NOT NULL,            -- of `admission`, when they were made
  made_at     timestamptz NOT NULL,       -- they hold from then on,
  valid_until timestamptz NOT NULL,       -- and until then no more
  key_salt    bytea NOT NULL,
  user_ref    text NOT NULL,
  PRIMARY KEY (shard, user_ref));          -- the only index: another would be taken while the table is small
-- When the terms of the user's month that hold were made.
ALTER TABLE analysis.usage ADD COLUMN terms_at timestamptz;

CREATE FUNCTION analysis.forget_terms() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN NULL;
END $$;

CREATE TRIGGER forget_terms AFTER UPDATE ON analysis.account
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analysis.forget_terms();
CREATE TRIGGER forget_terms_of_old AFTER DELETE ON analysis.account
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analysis.forget_terms();
CREATE TRIGGER forget_terms_of_new AFTER INSERT ON analysis.account_plan
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analysis.forget_terms();
CREATE TRIGGER forget_terms AFTER UPDATE ON analysis.account_plan
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analysis.forget_terms();
CREATE TRIGGER forget_terms_of_old AFTER DELETE ON analysis.account_plan
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION analysis.forget_terms();

-- What submit passes on of one job, but for its image; and what holds for all jobs of a call.
CREATE TYPE analysis.submission AS (
  "user"       text,
  kind         smallint,
  priority     smallint,
  sha256       bytea,
  width        int,
  height       int,
  unsanitized  boolean,
  key          text,
  at           timestamptz,
  expires      timestamptz,
  source       text,
  encrypted_by bigint,
  wrapped_key  bytea);

-- The jobs of a submit with labels, but for their images: an array has an element for each, or is NULL as a
-- whole. And what submit answers of one of them.
CREATE TYPE analysis.submissions AS (
  "user"       text[],
  kind         smallint[],
  priority     smallint[],
  sha256       bytea[],
  width        int[],
  height       int[],
  unsanitized  boolean[],
  key          text[],
  at           timestamptz[],
  expires      timestamptz[],
  source       text[],
  encrypted_by bigint[],
  wrapped_key  bytea[],
  reference    text[],
  object_bytes int[]);           -- how long objects are; the images of the call are their keys then
CREATE TYPE analysis.submit_answer AS (
  index   int,
  outcome text,
  reason  text,
  job_id  bigint,
  period  smallint,
  quota   int,
  used    int);
CREATE TYPE analysis.submit_rules AS (
  max_attempts smallint,
  max_waiting  bigint,          -- jobs of a user; NULL: no limit
  now          timestamptz,
  submitter    smallint,        -- who submits
  has_old_keys boolean,         -- there are keys of version 1.0
  only_encrypted boolean,       -- no image in plaintext is taken
  once         boolean,         -- a photo without a key is one job a day
  "full"       text);           -- why nothing at all is taken at present

-- What is known of a job that is submitted alone.
CREATE TYPE analysis.single_job AS (
  id           bigint,
  user_id      bigint,
  period       smallint,
  quota        int,           -- the limit in force; NULL: none
  used         int,           -- with this job
  cost         bigint,
  key_salt     bytea,
  key_hash     bytea,
  has_old_keys boolean,       -- as the next two in `admission`
  once         boolean,
  max_waiting  bigint,
  submitter    smallint,
  now          timestamptz,
  most         int,           -- as the next two in `terms`; NULL: the user is another by now
  terms_at     timestamptz,   -- when they were made; NULL: they were not kept
  version      bigint);

-- What is known of the jobs of a submit, step by step: an array has an element for each.
CREATE TYPE analysis.submit_state AS (
  user_id           bigint[],
  lane              smallint[],
  period            smallint[],
  quota             int[],            -- the limit in force when it may run; NULL: none
  cost              bigint[],
  job               bigint[],
  run_at            timestamptz[],    -- NULL: at once
  key_hash          bytea[],
  old_hash          bytea[],          -- as version 1.0 kept the key
  content_hash      bytea[],
  reason            text[],           -- why it is refused
  twin              bigint[],         -- the job of which it is a duplicate
  twin_period       smallint[],
  leader            int[],            -- the index of that job, if it is of this call
  used              int[],
  image             bigint[],
  image_period      smallint[],
  image_bytes       int[],
  image_unsanitized boolean[]);

-- What is said of a user in an import: members `user`, `plan` and so on, the last reset in seconds since
-- 1970; what the user has; and what is thought of it.
CREATE TYPE analysis.user_given AS (
  "user"       text,
  plan         text,
  zone         text,
  anchor       int,
  clinic       text,
  name         text,
  email        text,
  birthday     text,
  address      text,
  gender       text,
  photo        text,
  subscription text,
  count        int,
  last_reset   double precision);
CREATE TYPE analysis.user_state AS (
  plan_id      smallint,
  zone         text,
  anchor       int,
  clinic_id    int,
  name         text,
  email        text,
  birthday     date,
  address      text,
  gender       text,
  photo_url    text,
  subscription text,
  count        int,
  last_reset   timestamptz);
CREATE TYPE analysis.judged_user AS (
  i        int,
  user_ref text,
  user_id  bigint,
  reason   text,             -- why it is refused; NULL: it is not
  state    analysis.user_state,
  changes  jsonb);

-- What a worker gives of analysed jobs: each array has an element for each, or is NULL.
CREATE TYPE analysis.given_results AS (
  leases               bigint[],
  jobs                 bigint[],
  analysis_id          text[],
  answered_at          timestamptz[],
  conditions           text[],
  condition_count      smallint[],
  primary_id           text[],
  primary_name         text[],
  primary_confidence   double precision[],
  primary_band         smallint[],
  primary_normal       boolean[],
  secondary_id         text[],
  secondary_name       text[],
  secondary_confidence double precision[],
  secondary_band       smallint[],
  secondary_normal     boolean[],
  serious              double precision[],
  consult              double precision[],
  endpoint_serious     boolean[],
  endpoint_consult     boolean[],
  calls                smallint[],
  call_ms              int[],
  model                text[],
  endpoint             text[]);

-- What the functions pass to each other about a failure that a worker reports.
CREATE TYPE analysis.failure AS (
  lease_id      bigint,          -- under which the job ran
  job_id        bigint,
  delay_ms      bigint,          -- 0: at once; NULL: the job is dead
  consume       boolean,         -- it counts as an attempt
  class         text,
  code          text,
  message       text,
  error_id      text,
  status        smallint,
  calls         smallint,
  maybe_counted boolean,
  endpoint      text);

-- What the functions pass to each other about a job that is cancelled.
CREATE TYPE analysis.job_place AS (
  id      bigint,
  period  smallint,
  user_id bigint,
  kind    smallint,
  source  smallint);       -- as in `job`

-- What the functions pass to each other about jobs that are queued again: a user's present month, and a job
-- with it.
CREATE TYPE analysis.present_month AS (
  user_id bigint,
  period  smallint,
  quota   int,             -- the limit in force; NULL: none
  cost    bigint);         -- of a place in a lane
CREATE TYPE analysis.job_again AS (
  id      bigint,
  old     smallint,        -- the month where it is
  user_id bigint,
  period  smallint,        -- the present month of the user, as the next two
  quota   int,
  cost    bigint,
  outcome text);           -- what speaks against it; NULL: nothing

-- The functions of 1.0, which are there until this version's have been made, know no such setting and would
-- refuse it; and that it is there is nobody's change.
ALTER TABLE analysis.setting DISABLE TRIGGER USER;
INSERT INTO analysis.setting (name, value) VALUES ('report_threshold', '5');

-- Whether a photo that is submitted by SQL without a key is one job a day. In 1.0 each call was a job. And
-- where new images go.
INSERT INTO analysis.setting (name, value) VALUES ('photos_once', 'no'), ('image_store', 'database');
ALTER TABLE analysis.setting ENABLE TRIGGER USER;

-- Who wakes the workers locks this row until the commit.
INSERT INTO analysis.gauge (name, value, at) VALUES ('wake', 0, '-infinity');

-- The HTTP status of the last failure, by which causes are told apart. NULL: there was no answer, or it died
-- under version 1.0.
ALTER TABLE analysis.dead ADD COLUMN status smallint;

-- A plan cannot be given to anybody from a time before it was there.
ALTER TABLE analysis.plan ADD COLUMN created_at timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE analysis.plan ALTER COLUMN created_at SET DEFAULT now();

-- What else is known of a clinic: its kind, where it is, its product and its logos.
ALTER TABLE analysis.clinic
  ADD COLUMN kind text NOT NULL DEFAULT 'clinic' CHECK (kind IN ('clinic', 'pharmacy', 'both')),
  ADD COLUMN address text CHECK (length(address) BETWEEN 1 AND 1000),                -- in lines
  ADD COLUMN product text CHECK (product ~ '^[a-z0-9][a-z0-9_-]{0,59}$'),            -- NULL: of none
  ADD COLUMN logo bytea REFERENCES analysis.logo,                                    -- as a clinic
  ADD COLUMN pharmacy_logo bytea REFERENCES analysis.logo;                           -- as a pharmacy

-- What each product has switched off, of what is refused here and not by the programs alone.
CREATE TABLE analysis.product (
  name text   PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,59}$'),
  off  text[] NOT NULL);

-- What an office keeps of a person. The gender is a word of the person's own choosing; nothing is computed
-- from it, and NULL says that it is not stated.
ALTER TABLE analysis.profile
  ADD COLUMN birthday date CHECK (birthday >= '1850-01-01'),
  ADD COLUMN address  text CHECK (length(address) BETWEEN 1 AND 500),
  ADD COLUMN gender   text CHECK (length(gender) BETWEEN 1 AND 60);
ALTER TABLE analysis.profile
  ALTER COLUMN birthday SET STATISTICS 0,                                -- see 0001_accounts.sql
  ALTER COLUMN address SET STATISTICS 0,
  ALTER COLUMN gender SET STATISTICS 0;

-- A login may have several numbers: those of its sessions whose first submits were open at the same time.
ALTER TABLE analysis.submitter DROP CONSTRAINT submitter_login_key;
CREATE INDEX submitter_login ON analysis.submitter (login);

ALTER TABLE analysis.freed_place ADD COLUMN at timestamptz NOT NULL DEFAULT now();
ALTER TABLE analysis.freed_place ALTER COLUMN at SET DEFAULT clock_timestamp();

-- In the order in which they were written. `shard + 0` keeps them apart from the indexes by user: to a
-- planner that thinks a table empty all indexes cost the same, and it takes any that begins with what is
-- asked for.
CREATE INDEX freed_place_at ON analysis.freed_place ((shard + 0), at);
CREATE INDEX refund_at ON analysis.refund ((shard + 0), at);

-- What a change of a row is known by beside a publication of all tables: these two have no key, and are
-- known by the whole row.
ALTER TABLE analysis.freed_place REPLICA IDENTITY FULL;
ALTER TABLE ONLY analysis.attempt_error REPLICA IDENTITY FULL;
DO $$
DECLARE
  v_partition regclass;
BEGIN
  FOR v_partition IN
    SELECT i.inhrelid::regclass FROM pg_inherits i WHERE i.inhparent = 'analysis.attempt_error'::regclass
  LOOP
    EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', v_partition);
  END LOOP;
END $$;

-- An encrypted image is bound to the SHA-256 of its user's name. Here it is where the user has had another
-- name since; NULL: it is that of the name in the account.
ALTER TABLE analysis.image ADD COLUMN user_sha256 bytea;

-- An image is here or in an object store: then `bytes` is NULL, and here is the key of the object, which
-- has the same bytes. By the index it is found whether an object is an image's. To make it the server reads
-- the rows, not the bytes.
ALTER TABLE analysis.image ADD COLUMN object_key text, ALTER COLUMN bytes DROP NOT NULL;
CREATE INDEX image_object ON analysis.image (object_key COLLATE "C") WHERE object_key IS NOT NULL;

-- Objects whose images are gone, until they have gone too.
CREATE TABLE analysis.lost_object (
  object_key text COLLATE "C" PRIMARY KEY,
  at         timestamptz NOT NULL DEFAULT clock_timestamp());

-- Names of users and clinics in their composed form (NFC): one name in two forms was two users. A name that
-- is in the other form is composed; where another has the composed one, or it is too long, the number is put
-- behind it. Images under a key stay bound to the name that they were encrypted under, as after a rename.
DO $$
DECLARE
  v record;
BEGIN
  FOR v IN
    SELECT d.shard, d.user_id, d.user_ref, d.shards,
      CASE WHEN d.n = 1 AND length(d.name) <= 200
          AND NOT EXISTS (
            SELECT FROM analysis.account k WHERE k.shard = ANY (d.shards) AND k.user_ref = d.name)
          AND NOT EXISTS (
            SELECT FROM analysis.renamed r
            WHERE r.name_sha256 = sha256(convert_to(d.name, 'UTF8')) AND r.user_id <> d.user_id)
        THEN d.name ELSE left(d.name, 170) || ' #' || d.user_id END AS name
    FROM (
      SELECT a.*, normalize(a.user_ref) AS name,
        row_number() OVER (PARTITION BY normalize(a.user_ref) ORDER BY a.shard, a.user_id) AS n,
        ARRAY(
          SELECT s::smallint FROM analysis.setting t, generate_series(0, t.value::int - 1) s
          WHERE t.name = 'shards') AS shards
      FROM analysis.account a WHERE a.user_ref IS NOT NFC NORMALIZED) d
    ORDER BY d.shard, d.user_id
  LOOP
    WHILE EXISTS (
        SELECT FROM analysis.account a
        WHERE a.shard = ANY (v.shards) AND a.user_ref = v.name AND a.user_id <> v.user_id)
      OR EXISTS (
        SELECT FROM analysis.renamed r
        WHERE r.name_sha256 = sha256(convert_to(v.name, 'UTF8')) AND r.user_id <> v.user_id)
    LOOP
      v.name := v.name || '-';
    END LOOP;
    UPDATE analysis.image i SET user_sha256 = sha256(convert_to(v.user_ref, 'UTF8'))
    WHERE i.shard = v.shard AND i.user_id = v.user_id AND i.encrypted_by IS NOT NULL
      AND i.user_sha256 IS NULL;
    UPDATE analysis.account a SET user_ref = v.name WHERE a.shard = v.shard AND a.user_id = v.user_id;
    INSERT INTO analysis.renamed (name_sha256, shard, user_id, since)
    VALUES (sha256(convert_to(v.name, 'UTF8')), v.shard, v.user_id, clock_timestamp())
    ON CONFLICT (name_sha256) DO NOTHING;
  END LOOP;
  FOR v IN
    SELECT c.id, normalize(c.name) AS name FROM analysis.clinic c
    WHERE c.name IS NOT NFC NORMALIZED ORDER BY c.id
  LOOP
    IF length(v.name) > 100 OR EXISTS (SELECT FROM analysis.clinic k WHERE k.name = v.name) THEN
      v.name := left(v.name, 85) || ' #' || v.id;
    END IF;
    WHILE EXISTS (SELECT FROM analysis.clinic k WHERE k.name = v.name) LOOP
      v.name := v.name || '-';
    END LOOP;
    UPDATE analysis.clinic c SET name = v.name WHERE c.id = v.id;
  END LOOP;
END $$;

-- Months of users that begin on another day than the first: anniversary periods.
--
-- The days of the month on which the user's periods end, and the months from which on they do: each is the
-- month's number times 32 plus the day, in order. NULL: the user's periods are calendar months, as before. It
-- is here and in no table of its own since every submit reads this row anyway, and needs nothing else of it.
ALTER TABLE analysis.account
  ADD COLUMN anchors int[] CHECK (
    array_ndims(anchors) = 1 AND array_lower(anchors, 1) = 1 AND array_position(anchors, NULL) IS NULL
    AND cardinality(anchors) <= 1000 AND 0 < ALL (anchors));

-- Fewer checks of what a submit writes. The server reads and prepares every check anew for every statement:
-- the fifteen of one submitted job were a seventh of its cost. What they demand of images is the same, in one
-- check. Jobs, keys, counters, `ready` and `fair_share` have none: only the functions write them, of values
-- that they have judged (is_sound), and broken_records looks whether they are so.
--
-- NOT VALID: what is there was held to the same, and to read all months again would keep the queue waiting.
-- The months that are made from now on have the checks as valid ones. Checks that somebody has added stay,
-- unless their names end as those that the server gives.
DO $$
DECLARE
  v_table regclass;
  v_drops text;
BEGIN
  FOR v_table, v_drops IN
    SELECT c.conrelid::regclass, string_agg(format('DROP CONSTRAINT %I', c.conname), ', ')
    FROM pg_constraint c
    WHERE c.contype = 'c' AND (c.conname ~ '_check[0-9]*$' OR c.conname = 'image_encrypted_whole')
      AND c.conrelid IN (
        'analysis.job'::regclass, 'analysis.idem'::regclass, 'analysis.image'::regclass,
        'analysis.ready'::regclass, 'analysis.fair_share'::regclass, 'analysis.usage'::regclass)
    GROUP BY c.conrelid
  LOOP
    EXECUTE format('ALTER TABLE %s %s', v_table, v_drops);
  END LOOP;
END $$;

ALTER TABLE analysis.image ADD CONSTRAINT image_whole CHECK (
  byte_count BETWEEN 1 AND 10000512 AND (bytes IS NULL) = (object_key IS NOT NULL)
  AND coalesce(byte_count = octet_length(bytes), length(object_key) BETWEEN 1 AND 200)
  AND octet_length(sha256) = 32 AND coalesce(octet_length(user_sha256) = 32, true)
  AND coalesce(width BETWEEN 1 AND 100000, true) AND coalesce(height BETWEEN 1 AND 100000, true)
  AND CASE WHEN encrypted_by IS NULL THEN wrapped_key IS NULL
           ELSE encrypted_by > 0 AND octet_length(wrapped_key) = 72 AND byte_count > 40 END IS TRUE)
  NOT VALID;

-- Keys that are there are kept without the login that submitted, and are looked for as they are.
INSERT INTO analysis.admission (has_old_keys) SELECT EXISTS (SELECT FROM analysis.idem);
