-- The settings: what there is, what each may be, and how one is changed.

-- Each setting with the value that it has until somebody changes it (as migration 0001 puts it there), what
-- an empty value means (NULL: it may not be empty), and what it is for, in so few words that a terminal of 80
-- columns shows them.
CREATE OR REPLACE FUNCTION analysis.setting_definitions()
RETURNS TABLE (o_name text, o_default text, o_empty text, o_meaning text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  VALUES
    ('zone', 'UTC', NULL, 'billing zone of users without one'),
    ('shards', '1', NULL, 'fixed once there are users'),
    ('max_waiting_per_user', '100000', 'no limit', 'most waiting jobs of a user'),
    ('max_waiting', '20000000', 'no limit', 'most waiting jobs of all users'),
    ('max_database_bytes', '', 'no limit', 'largest database that takes jobs'),
    ('lane_shares', '5,2,1', NULL, 'claims of urgent, normal, bulk jobs'),
    ('statement_grace', '3 days', NULL, 'a month may be closed so long after it'),
    ('keep_images', '30 days', 'for ever', 'after the last job of an image'),
    ('keep_results', '24 months', 'for ever', 'results and cancelled jobs'),
    ('keep_dead', '24 months', 'for ever', 'dead jobs'),
    ('keep_audit', '6 years', 'for ever', 'the audit; a year at least'),
    ('keep_usage', '', 'for ever', 'counters of months'),
    ('consult_from', '0.4', NULL, 'confidence that makes a job serious'),
    ('report_threshold', '5', NULL, 'fewest persons of a count that is shown'),
    ('image_bytes_throat', '5242879', NULL, 'most bytes of a throat image sent'),
    ('image_bytes_ear', '5242879', NULL, 'most bytes of an ear image sent'),
    ('png_as_is_throat', 'no', NULL, 'yes: a throat PNG can stay a PNG'),
    ('png_as_is_ear', 'no', NULL, 'yes: an ear PNG can stay a PNG'),
    ('require_encryption', 'no', NULL, 'yes: no image in plaintext is taken'),
    ('photos_once', 'no', NULL, 'yes: by SQL a photo is one job a day'),
    ('image_store', 'database', NULL, 'database, s3: where new images go')
$$;

-- The settings as they are.
CREATE OR REPLACE FUNCTION analysis.list_settings()
RETURNS TABLE (o_name text, o_value text, o_default text, o_empty text, o_meaning text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT d.o_name, s.value, d.o_default, d.o_empty, d.o_meaning
  FROM analysis.setting_definitions() WITH ORDINALITY d(o_name, o_default, o_empty, o_meaning, position)
  JOIN analysis.setting s ON s.name = d.o_name
  ORDER BY d.position
$$;
COMMENT ON FUNCTION analysis.list_settings IS
  'Answers the settings with their values, and what each is for.';

-- A setting's value; NULL where there is none of that name.
CREATE OR REPLACE FUNCTION analysis.setting_value(p_name text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT s.value
  FROM analysis.setting s
  WHERE s.name = p_name
$$;
COMMENT ON FUNCTION analysis.setting_value IS
  'Answers a setting of the installation.';

-- What is sent of the images of each type: how many bytes at most, and whether a PNG that needs nothing stays
-- one. Who cleans images asks once in a while, and not for each.
CREATE OR REPLACE FUNCTION analysis.image_rules()
RETURNS TABLE (o_type text, o_max_bytes int, o_keeps_png boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT t.name, b.value::int, p.value = 'yes'
  FROM (VALUES ('throat'), ('ear')) t(name)
  JOIN analysis.setting b ON b.name = 'image_bytes_' || t.name
  JOIN analysis.setting p ON p.name = 'png_as_is_' || t.name
$$;
COMMENT ON FUNCTION analysis.image_rules IS
  'Answers what is sent of the images of each type.';

-- Refuses a value that a setting cannot have.
CREATE OR REPLACE FUNCTION analysis.check_setting_value(p_name text, p_value text, p_before text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_rule text := CASE
    WHEN p_name = 'shards' THEN 'shards is a number from 1 to 1024'
    WHEN p_name = 'zone' THEN 'zone is an IANA time zone, for instance Asia/Jakarta'
    WHEN p_name LIKE 'max\_%' THEN p_name || ' is a whole number, or empty for no limit'
    WHEN p_name = 'lane_shares' THEN
      'lane_shares is how many claims begin with urgent, normal and bulk jobs, each 1 to 99: 5,2,1'
    WHEN p_name = 'consult_from' THEN 'consult_from is a confidence from 0 to 1, for instance 0.4'
    WHEN p_name = 'report_threshold' THEN
      'report_threshold is a number of persons from 1, which hides nothing, to 1000'
    WHEN p_name LIKE 'image\_bytes\_%' THEN
      p_name || ' is a whole number from 10000 to ' || analysis.max_image_bytes(false)
    WHEN p_name ~ '^(png_as_is_.*|require_encryption|photos_once)$' THEN p_name || ' is yes or no'
    WHEN p_name = 'image_store' THEN 'image_store is database, s3 or s3-plaintext'
    WHEN p_name = 'statement_grace' THEN 'statement_grace is a time from 0 to 100 years, for instance 3 days'
    WHEN p_name = 'keep_audit' THEN
      'keep_audit is a time from 1 year to 100 years, for instance 6 years, or empty for ever'
    -- An hour at least: what is removed is gone, and a slip of the hand should not be all it takes.
    WHEN p_name LIKE 'keep\_%' THEN
      p_name || ' is a time from 1 hour to 100 years, for instance 30 days, or empty for ever' END;
  v_is_sound boolean;
BEGIN
  IF NOT EXISTS (SELECT FROM analysis.setting_definitions() d WHERE d.o_name = p_name) THEN
    RAISE EXCEPTION 'there is no setting %', left(p_name, 60) USING ERRCODE = '22023';
  END IF;
  BEGIN
    v_is_sound := CASE
      WHEN p_name = 'shards' THEN p_value ~ '^[0-9]{1,4}$' AND p_value::int BETWEEN 1 AND 1024
      WHEN p_name = 'zone' THEN EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = p_value)
      WHEN p_name LIKE 'max\_%' THEN p_value ~ '^([0-9]{1,18})?$'
      -- None may be 0: whoever has no share at all waits for as long as the others have jobs.
      WHEN p_name = 'lane_shares' THEN p_value ~ '^[1-9][0-9]?,[1-9][0-9]?,[1-9][0-9]?$'
      WHEN p_name = 'report_threshold' THEN p_value ~ '^([1-9][0-9]{0,2}|1000)$'
      WHEN p_name = 'consult_from' THEN p_value ~ '^(0(\.[0-9]{1,15})?|1(\.0{1,15})?)$'
      -- Any picture can be made as small as the least.
      WHEN p_name LIKE 'image\_bytes\_%' THEN
        p_value ~ '^[1-9][0-9]{4,7}$' AND p_value::int BETWEEN 10000 AND analysis.max_image_bytes(false)
      WHEN p_name ~ '^(png_as_is_.*|require_encryption|photos_once)$' THEN p_value IN ('yes', 'no')
      WHEN p_name = 'image_store' THEN p_value IN ('database', 's3', 's3-plaintext')
      WHEN p_name = 'statement_grace' THEN p_value::interval BETWEEN interval '0' AND interval '100 years'
      WHEN p_value = '' THEN true
      -- By the calendar: as an interval a year is as long as 360 days.
      WHEN p_name = 'keep_audit' THEN
        v_now + p_value::interval BETWEEN v_now + interval '1 year' AND v_now + interval '100 years'
      ELSE p_value::interval BETWEEN interval '1 hour' AND interval '100 years' END;
  EXCEPTION WHEN data_exception THEN
    v_is_sound := false;
  END;
  PERFORM analysis.require_argument(v_is_sound AND length(p_value) <= 200, v_rule);
  IF p_name = 'shards' AND p_value IS DISTINCT FROM p_before AND EXISTS (SELECT FROM analysis.account) THEN
    RAISE EXCEPTION 'the number of shards is fixed once there are users: each has its shard by it'
      USING ERRCODE = '22023';
  END IF;
END $$;

-- A wrong value is refused when it is set, not at every submit after it. (No hot table: a trigger may be
-- here.) It runs as the owner, whoever sets it.
CREATE OR REPLACE FUNCTION analysis.check_setting() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.check_setting_value(NEW.name, NEW.value, OLD.value);
  RETURN NEW;
END $$;

-- A change is recorded, whoever makes it and how, and holds for the next submit. One that is not there has
-- the value null.
CREATE OR REPLACE FUNCTION analysis.record_setting() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.name = OLD.name THEN
    IF NEW.value <> OLD.value THEN
      PERFORM analysis.record_setting_change(NEW.name, OLD.value, NEW.value);
    END IF;
  ELSIF TG_OP = 'TRUNCATE' THEN
    PERFORM analysis.record_setting_change(s.name, s.value, NULL) FROM analysis.setting s;
  ELSE
    IF TG_OP <> 'INSERT' THEN
      PERFORM analysis.record_setting_change(OLD.name, OLD.value, NULL);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      PERFORM analysis.record_setting_change(NEW.name, NULL, NEW.value);
    END IF;
  END IF;
  RETURN NULL;
END $$;

-- What the settings demand of every submit.
CREATE OR REPLACE FUNCTION analysis.admission_by_settings(
  OUT max_bytes bigint, OUT max_all bigint, OUT max_waiting bigint, OUT only_encrypted boolean,
  OUT photos_once boolean)
LANGUAGE sql STABLE AS $$
  SELECT max(nullif(t.value, '')::bigint) FILTER (WHERE t.name = 'max_database_bytes'),
    max(nullif(t.value, '')::bigint) FILTER (WHERE t.name = 'max_waiting'),
    max(nullif(t.value, '')::bigint) FILTER (WHERE t.name = 'max_waiting_per_user'),
    coalesce(bool_or(t.value <> 'no') FILTER (WHERE t.name = 'require_encryption'), true),
    coalesce(bool_or(t.value = 'yes') FILTER (WHERE t.name = 'photos_once'), false)
  FROM analysis.setting t
  WHERE t.name IN (
    'max_database_bytes', 'max_waiting', 'max_waiting_per_user', 'require_encryption', 'photos_once')
$$;

-- Writes it into the one row that submits read, after each statement that changes settings, plans or limits.
-- The row is locked first: what another has changed meanwhile is seen with the lock.
CREATE OR REPLACE FUNCTION analysis.keep_admission() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM FROM analysis.admission g FOR NO KEY UPDATE;
  UPDATE analysis.admission g SET
    max_bytes = s.max_bytes, max_all = s.max_all, max_waiting = s.max_waiting,
    only_encrypted = s.only_encrypted, photos_once = s.photos_once, version = g.version + 1
  FROM analysis.admission_by_settings() s;
  RETURN NULL;
END $$;

-- Writes how much waits into the row that submits read, unless somebody's open transaction has it.
CREATE OR REPLACE FUNCTION analysis.keep_waiting() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE analysis.admission g SET waiting = NEW.value, counted_at = NEW.at
  FROM (SELECT FROM analysis.admission k FOR NO KEY UPDATE SKIP LOCKED) k
  WHERE NEW.name = 'waiting';
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION analysis.record_setting_change(p_name text, p_before text, p_after text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM analysis.audit_add(
    'set_setting', 'setting:' || p_name, jsonb_build_object('before', p_before, 'after', p_after));
END $$;

-- What a setting is now, where it could be changed to a value; a value that it cannot have is refused. What
-- a login of some clinics is not shown such a login does not decide.
CREATE OR REPLACE FUNCTION analysis.preview_setting(p_name text, p_value text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_before text := (SELECT s.value FROM analysis.setting s WHERE s.name = p_name);
BEGIN
  IF p_name = 'report_threshold' THEN
    PERFORM analysis.require_unrestricted();
  END IF;
  PERFORM analysis.check_setting_value(p_name, p_value, v_before);
  RETURN v_before;
END $$;
COMMENT ON FUNCTION analysis.preview_setting IS
  'Answers what a setting is now, where it could be changed to a value.';

-- Changes a setting. False, and nothing is changed, where it is not any more what it was when somebody
-- decided on it.
CREATE OR REPLACE FUNCTION analysis.set_setting(p_name text, p_value text, p_before text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM analysis.preview_setting(p_name, p_value);
  UPDATE analysis.setting s SET value = p_value
  WHERE s.name = p_name AND s.value = p_before;
  RETURN FOUND;
END $$;
COMMENT ON FUNCTION analysis.set_setting IS
  'Changes a setting; answers whether it was still as expected.';

-- What was set before this version's functions were there: the trigger writes it down.
UPDATE analysis.setting SET value = value WHERE false;
