-- How long a statement may take until the transaction's end, and no compiling of plans, which takes longer than
-- all of a usual month does. $1 the milliseconds.
SELECT set_config('statement_timeout', $1::text, true), set_config('jit', 'off', true)
