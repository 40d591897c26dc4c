-- How long a statement waits for a lock until the transaction's end: $1 milliseconds; 0: without a limit.
SELECT pg_catalog.set_config('lock_timeout', $1::text, true)
