-- Prices, and the segments of which bills are made.
--
-- The version before works beside this: it asks for none of it, and a month that it closes gets its segments
-- from the same function.

-- A plan cannot be given to anybody from a time before it was there.
ALTER TABLE analysis.plan ADD COLUMN created_at timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE analysis.plan ALTER COLUMN created_at SET DEFAULT now();

-- What one billable unit of a plan costs, from the midnight of a day on, by the clocks of each user's billing
-- zone: so a price of the first of a month cuts nobody's month in two. '-infinity': from the beginning.
CREATE TABLE analysis.plan_price (
  plan_id    smallint NOT NULL REFERENCES analysis.plan (id),
  valid_from date NOT NULL,
  price      numeric NOT NULL CHECK (price BETWEEN 0 AND 1000000 AND scale(price) <= 6),
  currency   text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),                -- by ISO 4217
  PRIMARY KEY (plan_id, valid_from));

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
  PRIMARY KEY (report, period, clinic_id),
  FOREIGN KEY (report, period) REFERENCES analysis.statement (report, period));

-- How many analyses of its users ended on a day by their clocks.
CREATE TABLE analysis.statement_day (
  report    text     NOT NULL,
  period    smallint NOT NULL,
  clinic_id int      NOT NULL,
  day       date     NOT NULL,
  analyses  bigint   NOT NULL,
  PRIMARY KEY (report, period, clinic_id, day),
  FOREIGN KEY (report, period, clinic_id) REFERENCES analysis.statement_clinic (report, period, clinic_id));

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

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON analysis.statement_clinic
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON analysis.statement_day
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON analysis.statement_condition
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
