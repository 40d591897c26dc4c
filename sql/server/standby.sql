-- The time of the last change that this standby has; nothing of a primary.
SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_xact_replay_timestamp() END
  AS changed_at
