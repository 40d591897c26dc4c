-- What a call is refused for before it does anything: arguments that nobody can mean, and a transaction in
-- which it would not see what it relies on. Hot functions test for themselves and come here only to
-- refuse.

-- Whether an array is a plain list of so many elements, the first of which is number 1: the functions
-- reach elements by their index.
CREATE OR REPLACE FUNCTION analysis.is_list(p_list anyarray, p_count int) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT cardinality(p_list) = p_count
    AND coalesce(array_ndims(p_list) = 1 AND array_lower(p_list, 1) = 1, p_count = 0)
$$;

-- Names in their composed form (NFC), as users are kept.
CREATE OR REPLACE FUNCTION analysis.composed(p_names text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF array_to_string(p_names, '') IS NFC NORMALIZED THEN
    RETURN p_names;
  END IF;
  RETURN ARRAY(SELECT normalize(t.name) FROM unnest(p_names) WITH ORDINALITY t(name, i) ORDER BY t.i);
END $$;

-- Refuses a call unless what it was given is as it has to be.
CREATE OR REPLACE FUNCTION analysis.require_argument(p_is_sound boolean, p_rule text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF p_is_sound IS NOT TRUE THEN
    RAISE EXCEPTION '%', p_rule USING ERRCODE = '22023';
  END IF;
END $$;

-- Refuses a list that names too much for one call; NULL is an empty one.
CREATE OR REPLACE FUNCTION analysis.require_at_most(p_most int, p_list anyarray, p_what text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(p_list) > p_most THEN
    RAISE EXCEPTION 'a call may name at most % %', p_most, p_what USING ERRCODE = '22023';
  END IF;
END $$;

-- Refuses a time outside the years 1900 to 2599; NULL is no time.
CREATE OR REPLACE FUNCTION analysis.require_date(p_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM analysis.require_argument(
    (p_at BETWEEN '1900-01-01 00:00:00+00' AND '2600-01-01 00:00:00+00') IS NOT FALSE,
    'a moment is of the years 1900 to 2599');
END $$;

-- What a function says in place of the server where a value breaks a rule of its table: the names of the
-- columns. The server shows the whole row, to the caller and in its log, with a person's name or what was
-- found in a picture. A month without a partition breaks a rule without a name.
CREATE OR REPLACE FUNCTION analysis.refuse_value(p_table text, p_rule text, p_column text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is missing, too long or invalid',
    coalesce(
      nullif(p_column, ''),
      (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum)
       FROM pg_constraint c
       JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
       WHERE c.conrelid = to_regclass(format('analysis.%I', p_table)) AND c.conname = p_rule),
      'period'),
    regexp_replace(p_table, '_p[0-9]+$', '')
    USING ERRCODE = '22023';
END $$;

-- What finds a character that nobody sees, or that changes how the text beside it is read: control and format
-- characters, private ones, separators of lines, every blank but the space, and what Unicode lets a
-- program leave out. The same list as `isPrintable` in Swift, but for characters that no version of
-- Unicode has assigned yet.
CREATE OR REPLACE FUNCTION analysis.hidden_characters() RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT '[\u0001-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2'
      || '\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800'
      || '\u3000\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
      || '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010fffd]'
$$;

-- The most bytes that an image may have: a file before it is cleaned, and what encryption may add to it.
-- The same as `ImageSize` in Swift.
CREATE OR REPLACE FUNCTION analysis.max_image_bytes(p_is_encrypted boolean) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
  SELECT 10000000 + CASE WHEN p_is_encrypted THEN 512 ELSE 0 END
$$;

-- How many attempts a job has that names no number.
CREATE OR REPLACE FUNCTION analysis.usual_attempts() RETURNS smallint
LANGUAGE sql IMMUTABLE AS $$
  SELECT 10::smallint
$$;

-- Refuses a call in a transaction that keeps the snapshot of its beginning: what another has committed
-- while this one waited for a lock would not be seen. A serializable one the server ends where that matters
-- (40001): what orders two calls is written by both.
CREATE OR REPLACE FUNCTION analysis.refuse_repeatable_read() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') = 'repeatable read' THEN
    RAISE EXCEPTION 'this does not work in REPEATABLE READ transactions' USING ERRCODE = '25001',
      HINT = 'Use BEGIN ISOLATION LEVEL READ COMMITTED, or see where default_transaction_isolation is set.';
  END IF;
END $$;

-- What a submit may say of a key, of when a job runs at the earliest, and of when it is not wanted any more;
-- NULL: it says nothing.
CREATE OR REPLACE FUNCTION analysis.is_key(p_key text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(length(p_key) BETWEEN 1 AND 200, true)
$$;

CREATE OR REPLACE FUNCTION analysis.is_start(p_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(p_at < timestamptz '2600-01-01 00:00:00+00' AND p_at > '-infinity', true)
$$;

CREATE OR REPLACE FUNCTION analysis.is_expiry(p_expires timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(p_expires < timestamptz '2600-01-01 00:00:00+00', true)
$$;

-- How many transactions ago a row was written, by the number that stands in it.
CREATE OR REPLACE FUNCTION analysis.transactions_ago(p_next bigint, p_xmin xid) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_next - p_xmin::text::bigint) & 4294967295
$$;
