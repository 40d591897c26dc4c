-- How long a statement may take until the transaction's end, and no compiling of plans, which takes longer
-- than all of a usual month does. $1 the milliseconds.
SELECT pg_catalog.set_config('statement_timeout', $1::text, true), pg_catalog.set_config('jit', 'off', true)
