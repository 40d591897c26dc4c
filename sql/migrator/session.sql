-- A migration means the same whatever the database or the role has set, and takes the time that it takes.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL standard_conforming_strings = on;
SET LOCAL array_nulls = on;
SET LOCAL transform_null_equals = off;
SET LOCAL quote_all_identifiers = off;
SET LOCAL DateStyle = 'ISO, MDY';
SET LOCAL IntervalStyle = postgres;
SET LOCAL TimeZone = 'UTC';
SET LOCAL client_min_messages = notice;
SET LOCAL check_function_bodies = on;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SELECT pg_catalog.set_config(s.name, '0', true)
  FROM pg_catalog.pg_settings s
 WHERE s.name = 'transaction_timeout';
