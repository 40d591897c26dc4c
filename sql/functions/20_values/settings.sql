-- What the settings may be.

-- A wrong value is refused when it is set, not at every submit after it. (No hot table: a trigger may be here.) It runs
-- as the owner, whoever sets it.
CREATE OR REPLACE FUNCTION analysis.check_setting() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
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
    WHEN 'lane_shares' THEN
      -- None may be 0: whoever has no share at all waits for as long as the others have jobs.
      IF NEW.value !~ '^[1-9][0-9]?,[1-9][0-9]?,[1-9][0-9]?$' THEN
        RAISE EXCEPTION 'lane_shares is how many claims begin with urgent, normal and bulk jobs, each 1 to 99: 5,2,1'
          USING ERRCODE = '22023';
      END IF;
    WHEN 'statement_grace' THEN
      IF NEW.value::interval NOT BETWEEN interval '0' AND interval '100 years' THEN
        RAISE EXCEPTION 'statement_grace is a time from 0 to 100 years, for instance 3 days' USING ERRCODE = '22023';
      END IF;
    WHEN 'keep_audit' THEN
      -- By the calendar: as an interval a year is as long as 360 days.
      IF NEW.value <> '' AND v_now + NEW.value::interval
           NOT BETWEEN v_now + interval '1 year' AND v_now + interval '100 years' THEN
        RAISE EXCEPTION 'keep_audit is a time from 1 year to 100 years, for instance 6 years, or empty for ever'
          USING ERRCODE = '22023';
      END IF;
    WHEN 'keep_images', 'keep_results', 'keep_dead', 'keep_usage' THEN
      -- An hour at least: what is removed is gone, and a slip of the hand should not be all it takes.
      IF NEW.value <> '' AND NEW.value::interval NOT BETWEEN interval '1 hour' AND interval '100 years' THEN
        RAISE EXCEPTION '% is a time from 1 hour to 100 years, for instance 30 days, or empty for ever', NEW.name
          USING ERRCODE = '22023';
      END IF;
    ELSE
      RAISE EXCEPTION 'there is no setting %', NEW.name USING ERRCODE = '22023';
  END CASE;
  RETURN NEW;
END $$;
