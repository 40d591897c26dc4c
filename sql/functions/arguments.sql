-- What a call is refused for before it does anything: arguments that nobody can mean, and a transaction in which it
-- would not see what it relies on. Hot functions test for themselves and come here only to refuse.

-- Whether an array is a plain list of so many elements, the first of which is number 1: the functions reach elements by
-- their place.
CREATE OR REPLACE FUNCTION analysis.is_list(p_list anyarray, p_count int) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT cardinality(p_list) = p_count AND coalesce(array_ndims(p_list) = 1 AND array_lower(p_list, 1) = 1, p_count = 0)
$$;

-- Refuses a call unless what it was given is as it has to be.
CREATE OR REPLACE FUNCTION analysis.require_argument(p_is_sound boolean, p_rule text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF p_is_sound IS NOT TRUE THEN
    RAISE EXCEPTION '%', p_rule USING ERRCODE = '22023';
  END IF;
END $$;

-- Refuses a call in a transaction that keeps the snapshot of its beginning: what another has committed while this one
-- waited for a lock would not be seen. A serializable one the server itself ends where that matters (40001).
CREATE OR REPLACE FUNCTION analysis.refuse_repeatable_read() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') = 'repeatable read' THEN
    RAISE EXCEPTION 'this does not work in REPEATABLE READ transactions' USING ERRCODE = '25001',
      HINT = 'Use BEGIN ISOLATION LEVEL READ COMMITTED, or see where default_transaction_isolation is set.';
  END IF;
END $$;
