-- A closed month: what every user used, as it was stated once and for all, and by how much earlier months
-- changed since they were stated. Bills are made of these lines, so lines are only ever added.
--
-- These two tables get a few rows for each user and month, written once a month. They do not lead with the
-- shard.

CREATE TABLE analysis.statement (
  report    text        NOT NULL,           -- 'usage', the only report that is stated so far
  period    smallint    NOT NULL,
  closed_at timestamptz NOT NULL,
  PRIMARY KEY (report, period));

CREATE TABLE analysis.statement_line (
  report           text        NOT NULL,
  period           smallint    NOT NULL,    -- of the statement
  line             bigint      NOT NULL,    -- its number in the statement, from 1
  for_period       smallint    NOT NULL,    -- the month of the numbers: the same, or an earlier one
  shard            smallint    NOT NULL,
  user_id          bigint      NOT NULL,
  user_ref         text        NOT NULL,
  zone             text        NOT NULL,
  plan             text        NULL,        -- NULL on adjustments, as every number that is on no bill
  plan_name        text        NULL,
  monthly_limit    bigint      NULL,        -- NULL also for no limit
  used             bigint      NOT NULL,
  over             bigint      NOT NULL,
  analysed         bigint      NULL,
  failed           bigint      NULL,
  cancelled        bigint      NULL,
  refunded         bigint      NOT NULL,
  refused          bigint      NOT NULL,
  calls            bigint      NULL,
  last_reset       timestamptz NOT NULL,
  last_reset_local timestamp   NOT NULL,    -- by the zone's rules when the month was closed
  PRIMARY KEY (report, period, line),
  FOREIGN KEY (report, period) REFERENCES analysis.statement (report, period),
  CHECK (for_period <= period),
  CHECK (for_period = period OR plan IS NULL));

-- One line for each user and month in a statement, and the way to what was stated of a month so far.
CREATE UNIQUE INDEX statement_line_for_period
  ON analysis.statement_line (report, for_period, shard, user_id, period);

ALTER TABLE analysis.statement_line ALTER COLUMN user_ref SET STATISTICS 0;   -- see 0001_accounts.sql

CREATE FUNCTION analysis.refuse_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'closed statements are never changed or removed'
    USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
      HINT = 'What changed since a month was closed is stated as an adjustment when a later month closes.';
END $$;

-- A closed statement is never changed, but for the name of somebody who was erased: every number stays.
CREATE FUNCTION analysis.refuse_line_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_renamed analysis.statement_line := OLD;
BEGIN
  v_renamed.user_ref := NEW.user_ref;
  IF v_renamed IS NOT DISTINCT FROM NEW AND EXISTS (
    SELECT 1 FROM analysis.account a
    WHERE a.shard = OLD.shard AND a.user_id = OLD.user_id
      AND a.erased_at IS NOT NULL AND a.user_ref = NEW.user_ref) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'closed statements are never changed or removed'
    USING ERRCODE = 'object_not_in_prerequisite_state', TABLE = TG_TABLE_NAME,
      HINT = 'What changed since a month was closed is stated as an adjustment when a later month closes.';
END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON analysis.statement
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON analysis.statement_line
  FOR EACH STATEMENT EXECUTE FUNCTION analysis.refuse_change();
CREATE TRIGGER keep BEFORE UPDATE ON analysis.statement_line
  FOR EACH ROW EXECUTE FUNCTION analysis.refuse_line_change();
